/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: everything that is parsed before it is trusted.  The first byte
 * chooses the parser: replies of Redis, wake-ups, values of etcd, URLs, answers
 * of PostgreSQL.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/etcd/model.h"
#include "cluster/postgres/answer.h"
#include "cluster/redis/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

			(void)weir_cl_reply_answer_(reply, &answer);
			(void)weir_cl_reply_renewals_(reply, list, 2);
			(void)weir_cl_reply_info_(reply, &info);
			(void)weir_cl_reply_stat_(reply, "abcd", &info, entries,
						  4);
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

	(void)weir_cl_pg_answer_(text, &answer);
	(void)weir_cl_pg_wake_(text, id, &answer);
	(void)weir_cl_pg_info_(text, &info, &rest);
	(void)weir_cl_pg_stat_(text, &info);
	(void)weir_cl_pg_entry_(text, "abcd", 0, &entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char id[ID_SIZE], *text;
	struct answer answer;
	struct url url;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0] % 5) {
	case 0:
		redis_replies(text, size - 1);
		break;
	case 1:
		(void)weir_cl_reply_wake_(text, id, &answer);
		break;
	case 2:
		etcd_values(text);
		break;
	case 3:
		(void)weir_cl_url_parse_(text, true, &url);
		(void)weir_cl_url_parse_(text, false, &url);
		break;
	default:
		postgres_answers(text);
	}
	free(text);
	return 0;
}
