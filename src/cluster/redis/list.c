/* SPDX-License-Identifier: MIT */
/* The names of the semaphores: a scan for their keys. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/redis/redis.h"

#define PREFIX "weir:{"
#define SUFFIX "}:e"

static enum result strange(struct fault *fault)
{
	return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
			      "the answer to SCAN is not understood");
}

/* Run one command.  An error of the server is a failure. */
static enum result call(struct engine *e, const struct command *command,
			struct reply **reply, int64_t deadline,
			struct fault *fault)
{
	bool reload;
	enum result result = weir_cl_conn_call_(&e->lanes[LANE_CALL], command,
						1, reply, deadline, fault);

	if (!result && (*reply)->type == REPLY_ERROR) {
		result = weir_cl_conn_error_(&e->lanes[LANE_CALL],
					     (*reply)->text, &reload, fault);
		weir_cl_reply_free_(*reply);
	}
	return result;
}

/* Refuse a Redis Cluster: a scan sees the keys of one server only. */
static enum result refuse_cluster(struct engine *e, int64_t deadline,
				  struct fault *fault)
{
	static const struct command info = { .args = { "INFO", "cluster" },
					     .count = 2 };
	struct reply *reply;
	enum result result = call(e, &info, &reply, deadline, fault);

	if (result)
		return result;
	if (reply->type == REPLY_TEXT &&
	    strstr(reply->text, "cluster_enabled:1"))
		result = weir_cl_fault_(fault, RES_REFUSED, ENOTSUP,
					"a Redis Cluster cannot list its "
					"semaphores");
	weir_cl_reply_free_(reply);
	return result;
}

/*
 * Add the name of the semaphore that the key belongs to.  Returns false if memory is
 * exhausted.
 */
static bool add_key(struct names *names, const char *key)
{
	size_t length = strlen(key), ends = sizeof(SUFFIX) - 1;
	size_t begins = sizeof(PREFIX) - 1;
	char name[WEIR_CLUSTER_NAME_MAX + 1];

	if (length <= begins + ends || strncmp(key, PREFIX, begins) ||
	    strcmp(key + length - ends, SUFFIX) ||
	    length - begins - ends >= sizeof(name))
		return true;
	memcpy(name, key + begins, length - begins - ends);
	name[length - begins - ends] = 0;
	return weir_cl_names_add_(names, name);
}

/* Add the keys of one reply and copy the cursor of the next call. */
static enum result add_keys(struct names *names, const struct reply *reply,
			    char cursor[24], struct fault *fault)
{
	const char *next = weir_cl_reply_text_(reply, 0);
	const struct reply *keys = next && reply->count == 2 ?
				   reply->items[1] : NULL;

	if (!keys || keys->type != REPLY_LIST || strlen(next) >= 24)
		return strange(fault);
	for (size_t i = 0; i < keys->count; i++) {
		const char *key = weir_cl_reply_text_(keys, i);

		if (!key)
			return strange(fault);
		if (!add_key(names, key))
			return weir_cl_fault_(fault, RES_REFUSED, ENOMEM,
					      "out of memory");
	}
	(void)snprintf(cursor, 24, "%s", next);
	return RES_OK;
}

enum result weir_cl_redis_list_(struct engine *e, struct names *names,
				int64_t deadline, struct fault *fault)
{
	enum result result = refuse_cluster(e, deadline, fault);
	char cursor[24] = "0";

	while (!result) {
		struct command scan = {
			.args = { "SCAN", cursor, "MATCH", PREFIX "*" SUFFIX,
				  "COUNT", "1000" },
			.count = 6,
		};
		struct reply *reply;

		result = call(e, &scan, &reply, deadline, fault);
		if (result)
			break;
		result = add_keys(names, reply, cursor, fault);
		weir_cl_reply_free_(reply);
		if (!strcmp(cursor, "0"))
			break;
	}
	return result;
}
