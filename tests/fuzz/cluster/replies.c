/* SPDX-License-Identifier: MIT */
/*
 * Everything that libweir-cluster parses before it is trusted.  The first byte
 * of an input chooses the parser: replies of Redis, wake-ups, values of etcd,
 * URLs, answers and errors of PostgreSQL.  No input crashes a parser, and what a
 * parser accepts is in its range.
 */
#include <stdlib.h>
#include <string.h>

#include "../sequence.h"
#include "check.h"
#include "cluster/etcd/model.h"
#include "cluster/postgres/answer.h"
#include "cluster/postgres/conn.h"
#include "cluster/redis/reply.h"

#define NUMBER_MAX (INT64_C(1) << 53)

static void check_answer(const struct answer *answer)
{
	CHECK(answer->state <= S_BUSY);
	CHECK(answer->weight >= 0 && answer->weight <= NUMBER_MAX);
	CHECK(answer->next_us >= 0);
	/* A lease has permits and a token. */
	if (answer->state == S_HELD && answer->weight)
		CHECK(answer->fence > 0);
}

static void check_info(const weir_cluster_info *info)
{
	CHECK(info->capacity >= 0 && info->held >= 0);
	CHECK_EQ(info->capacity, info->free + info->held - info->debt);
}

static void check_entry(const weir_cluster_entry *entry)
{
	CHECK(entry->role <= WEIR_CLUSTER_IDLE);
	CHECK(strlen(entry->id) < sizeof(entry->id));
	CHECK(strlen(entry->host) < sizeof(entry->host));
	CHECK(strlen(entry->label) < sizeof(entry->label));
	CHECK(entry->lease_ms >= 0);
}

static void redis_replies(const char *text, size_t size)
{
	struct reader *reader = weir_cl_reader_new_();
	struct reply *reply;

	if (!reader)
		return;
	/* Two halves, so that values are incomplete at first. */
	for (int half = 0; half < 2; half++) {
		size_t from = half ? size / 2 : 0;
		size_t to = half ? size : size / 2;

		if (!weir_cl_reader_feed_(reader, text + from, to - from))
			break;
		while (weir_cl_reader_next_(reader, &reply) && reply) {
			weir_cluster_entry entries[4];
			weir_cluster_info info;
			struct renewal list[2];
			struct answer answer;

			if (weir_cl_reply_answer_(reply, &answer))
				check_answer(&answer);
			if (weir_cl_reply_renewals_(reply, list, 2))
				for (int i = 0; i < 2; i++)
					check_answer(&list[i].answer);
			if (weir_cl_reply_info_(reply, &info))
				check_info(&info);
			if (weir_cl_reply_stat_(reply, "abcd", &info, entries,
						4)) {
				check_info(&info);
				for (uint32_t i = 0; i < info.entries && i < 4;
				     i++)
					check_entry(&entries[i]);
			}
			weir_cl_reply_free_(reply);
		}
	}
	weir_cl_reader_free_(reader);
}

static void etcd_values(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);
	struct model model;
	struct entry entry;
	struct kv kv;

	if (json_is_object(value)) {
		(void)weir_cl_model_parse_(value, &model);
		(void)weir_cl_entry_parse_(value, &entry);
		(void)weir_cl_model_view_(value, true, &model);
		(void)weir_cl_etcd_kv_(value, &kv);
		json_decref(kv.value);
	}
	json_decref(value);
}

static void postgres_answers(const char *text)
{
	weir_cluster_entry entry;
	weir_cluster_info info;
	struct answer answer;
	char id[ID_SIZE];
	const char *rest;

	if (weir_cl_pg_answer_(text, &answer))
		check_answer(&answer);
	if (weir_cl_pg_wake_(text, id, &answer)) {
		check_answer(&answer);
		CHECK(strlen(id) < sizeof(id));
	}
	if (weir_cl_pg_info_(text, &info, &rest))
		check_info(&info);
	if (weir_cl_pg_stat_(text, &info))
		check_info(&info);
	if (weir_cl_pg_entry_(text, "abcd", 0, &entry))
		check_entry(&entry);
}

static void postgres_errors(const char *text)
{
	struct fault fault = { 0 };

	CHECK(weir_cl_pg_error_(text, text, &fault) != RES_OK);
	CHECK(fault.errnum && strlen(fault.why) < sizeof(fault.why));
	CHECK(weir_cl_pg_connect_error_(text, &fault) != RES_OK);
	CHECK(fault.errnum && strlen(fault.why) < sizeof(fault.why));
}

static void urls(const char *text)
{
	struct url url;

	for (int named = 0; named < 2; named++) {
		if (weir_cl_url_parse_(text, named, &url))
			continue;
		CHECK(url.host_count > 0 && url.host_count <= URL_HOSTS);
		CHECK_EQ(url.name[0] != 0, named);
		CHECK(!strpbrk(url.name, "{}/"));
	}
}

static int64_t inputs;

void sequence_start(int64_t patience_ns)
{
	(void)patience_ns;
}

void sequence_stop(void)
{
}

int64_t sequence_steps(void)
{
	return inputs;
}

void sequence_run(const uint8_t *data, size_t size)
{
	char id[ID_SIZE], *text;
	struct answer answer;

	if (!size)
		return;
	inputs++;
	/* An exact size, so that a sanitizer sees every access behind it. */
	text = malloc(size);
	CHECK(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0] % 6) {
	case 0:
		redis_replies(text, size - 1);
		break;
	case 1:
		if (weir_cl_reply_wake_(text, id, &answer))
			check_answer(&answer);
		break;
	case 2:
		etcd_values(text);
		break;
	case 3:
		urls(text);
		break;
	case 4:
		postgres_answers(text);
		break;
	default:
		postgres_errors(text);
	}
	free(text);
}
