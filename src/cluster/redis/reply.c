/* SPDX-License-Identifier: MIT */
/* The tree of a reply, built by hiredis through these functions. */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/redis/reply.h"

struct reader {
	redisReader *parser;
	size_t fed;		/* bytes since the last complete reply */
};

static struct reply *new_reply(const redisReadTask *task, enum reply_type type)
{
	struct reply *reply = calloc(1, sizeof(*reply));

	if (!reply)
		return NULL;
	reply->type = type;
	if (task->parent) {
		struct reply *parent = task->parent->obj;

		parent->items[task->idx] = reply;
	}
	return reply;
}

static void *new_text(const redisReadTask *task, char *text, size_t size)
{
	struct reply *reply;
	char *copy = malloc(size + 1);

	if (!copy)
		return NULL;
	reply = new_reply(task, task->type == REDIS_REPLY_ERROR ? REPLY_ERROR :
			  REPLY_TEXT);
	if (!reply) {
		free(copy);
		return NULL;
	}
	memcpy(copy, text, size);
	copy[size] = 0;
	reply->text = copy;
	return reply;
}

/* hiredis 1.0 changed the type of the count. */
#if HIREDIS_MAJOR >= 1
typedef size_t item_count;
#else
typedef int item_count;
#endif

static void *new_list(const redisReadTask *task, item_count count)
{
	struct reply *reply;
	struct reply **items = NULL;

	if (count > REPLY_ITEMS_MAX)
		return NULL;
	if (count > 0) {
		items = calloc((size_t)count, sizeof(struct reply *));
		if (!items)
			return NULL;
	}
	reply = new_reply(task, REPLY_LIST);
	if (!reply) {
		free(items);
		return NULL;
	}
	reply->items = items;
	reply->count = count > 0 ? (size_t)count : 0;
	return reply;
}

static void *new_number(const redisReadTask *task, long long number)
{
	struct reply *reply = new_reply(task, REPLY_NUMBER);

	if (reply)
		reply->number = number;
	return reply;
}

static void *new_nil(const redisReadTask *task)
{
	return new_reply(task, REPLY_NIL);
}

#if HIREDIS_MAJOR >= 1
/* Types of RESP3, which is never requested. */
static void *refuse_double(const redisReadTask *task, double value, char *text,
			   size_t size)
{
	(void)task;
	(void)value;
	(void)text;
	(void)size;
	return NULL;
}

static void *refuse_bool(const redisReadTask *task, int value)
{
	(void)task;
	(void)value;
	return NULL;
}
#endif

void weir_cl_reply_free_(struct reply *reply)
{
	if (!reply)
		return;
	for (size_t i = 0; i < reply->count; i++)
		weir_cl_reply_free_(reply->items[i]);
	free(reply->items);
	free(reply->text);
	free(reply);
}

static void free_object(void *reply)
{
	weir_cl_reply_free_(reply);
}

static redisReplyObjectFunctions functions = {
	.createString = new_text,
	.createArray = new_list,
	.createInteger = new_number,
	.createNil = new_nil,
	.freeObject = free_object,
#if HIREDIS_MAJOR >= 1
	.createDouble = refuse_double,
	.createBool = refuse_bool,
#endif
};

struct reader *weir_cl_reader_new_(void)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->parser = redisReaderCreateWithFunctions(&functions);
	if (!reader->parser) {
		free(reader);
		return NULL;
	}
	return reader;
}

void weir_cl_reader_free_(struct reader *reader)
{
	if (!reader)
		return;
	redisReaderFree(reader->parser);
	free(reader);
}

bool weir_cl_reader_feed_(struct reader *reader, const char *data, size_t size)
{
	reader->fed += size;
	return reader->fed <= REPLY_BYTES_MAX &&
	       redisReaderFeed(reader->parser, data, size) == REDIS_OK;
}

bool weir_cl_reader_next_(struct reader *reader, struct reply **reply)
{
	void *object = NULL;

	*reply = NULL;
	if (redisReaderGetReply(reader->parser, &object) != REDIS_OK)
		return false;
	if (object)
		reader->fed = 0;
	*reply = object;
	return true;
}
