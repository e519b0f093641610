/* SPDX-License-Identifier: MIT */
/* Renewing: the etcd lease of the handle, and the state of its requests. */
#include <errno.h>
#include <string.h>

#include "cluster/etcd/etcd.h"

/* etcd limits the operations of one transaction. */
#define AT_ONCE 50

/* Set the answer about one request from the ranges of g/ID and w/ID. */
static bool parse(const json_t *answer, size_t at, struct answer *out)
{
	const json_t *outcome = weir_cl_etcd_kvs_(answer, at);
	const json_t *waits = weir_cl_etcd_kvs_(answer, at + 1);
	struct entry entry;
	struct kv kv;
	bool good;

	memset(out, 0, sizeof(*out));
	out->state = json_array_size(waits) ? S_WAITS : S_GONE;
	if (!json_array_size(outcome))
		return true;
	good = weir_cl_etcd_kv_(json_array_get(outcome, 0), &kv) &&
	       weir_cl_entry_parse_(kv.value, &entry);
	json_decref(kv.value);
	if (good)
		weir_cl_etcd_answer_(&entry, out);
	return good;
}

static enum result look(struct engine *e, struct renewal *list, int count,
			int64_t deadline, struct fault *fault)
{
	const char *name = e->session.url.name;
	char key[ETCD_KEY];
	struct txn txn;
	json_t *answer;
	enum result result;
	int code;

	weir_cl_txn_begin_(&txn);
	for (int i = 0; i < count; i++) {
		weir_cl_model_key_(key, name, "g/", list[i].id);
		weir_cl_txn_range_(&txn, key, false, 0);
		weir_cl_model_key_(key, name, "w/", list[i].id);
		weir_cl_txn_range_(&txn, key, false, 0);
	}
	result = weir_cl_http_post_(&e->lanes[LANE_THREAD], "kv/txn",
				    weir_cl_txn_end_(&txn), &answer, &code,
				    deadline, fault);
	if (result)
		return result;
	for (int i = 0; i < count && !result; i++)
		if (code || !parse(answer, (size_t)i * 2, &list[i].answer))
			result = weir_cl_fault_(fault, RES_REFUSED, EBADMSG,
						"the data is damaged or foreign");
	json_decref(answer);
	return result;
}

/* Grant to the requests that fit, and find the places of those that wait. */
static enum result places(struct engine *e, struct renewal *list, int count,
			  int64_t deadline, struct fault *fault)
{
	struct model model;
	enum result result = weir_cl_etcd_settle_(e, LANE_THREAD, deadline,
						  fault);
	bool frontier = false;

	if (!result)
		result = weir_cl_etcd_read_(e, LANE_THREAD, NULL, &model,
					    deadline, fault);
	if (result)
		return result;
	for (int i = 0; i < count; i++) {
		list[i].answer.place = VIEW_HEADS + 1;
		for (int k = 0; k < model.head_count; k++)
			if (!strcmp(model.heads[k].id, list[i].id)) {
				list[i].answer.place = (uint32_t)k + 1;
				frontier = frontier || k < 4;
			}
	}
	pthread_mutex_lock(&e->lock);
	e->frontier = e->frontier || frontier;
	pthread_mutex_unlock(&e->lock);
	return RES_OK;
}

enum result weir_cl_etcd_renew_(struct engine *e, struct renewal *list,
				int count, int64_t deadline,
				struct fault *fault)
{
	bool lost, waits = false;
	enum result result = weir_cl_etcd_keep_alive_(e, LANE_THREAD, &lost,
						      deadline, fault);

	for (int i = 0; i < count && !result; i += AT_ONCE)
		result = look(e, list + i, count - i < AT_ONCE ? count - i :
			      AT_ONCE, deadline, fault);
	for (int i = 0; i < count && !result; i++)
		waits = waits || list[i].answer.state == S_WAITS;
	if (!result && waits)
		result = places(e, list, count, deadline, fault);
	return result;
}
