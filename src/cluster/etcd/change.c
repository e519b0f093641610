/* SPDX-License-Identifier: MIT */
/* Reading the semaphore, and changing it by compare-and-set on its state. */
#include <errno.h>
#include <string.h>

#include "cluster/etcd/etcd.h"

enum result weir_cl_etcd_read_(struct engine *e, enum lane lane,
			       const char *id, struct model *model,
			       int64_t deadline, struct fault *fault)
{
	struct txn txn;
	json_t *answer;
	enum result result;
	int code;

	weir_cl_txn_begin_(&txn);
	weir_cl_model_read_(&txn, e->session.url.name, id);
	result = weir_cl_http_post_(&e->lanes[lane], "kv/txn",
				    weir_cl_txn_end_(&txn), &answer, &code,
				    deadline, fault);
	/* A read that was not answered has changed nothing. */
	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	if (code || !weir_cl_model_view_(answer, id, model))
		result = weir_cl_fault_(fault, RES_REFUSED, EBADMSG,
					"the data is damaged or foreign");
	else if (!model->mod)
		result = weir_cl_fault_(fault, RES_REFUSED, ENOENT,
					"the semaphore does not exist");
	json_decref(answer);
	return result;
}

enum result weir_cl_etcd_commit_(struct engine *e, enum lane lane,
				 const struct model *model, struct txn *txn,
				 bool *done, int64_t deadline,
				 struct fault *fault)
{
	char key[ETCD_KEY];
	json_t *answer;
	enum result result;
	int64_t revision;
	int code;

	*done = false;
	weir_cl_model_key_(key, e->session.url.name, "s", "");
	weir_cl_txn_if_(txn, key, model->mod);
	weir_cl_txn_put_(txn, key, weir_cl_model_format_(model), 0);
	result = weir_cl_http_post_(&e->lanes[lane], "kv/txn",
				    weir_cl_txn_end_(txn), &answer, &code,
				    deadline, fault);
	if (result)
		return result;
	/* The etcd lease of a head has ended meanwhile: the caller retries. */
	if (code)
		return RES_OK;
	*done = json_is_true(json_object_get(answer, "succeeded"));
	revision = weir_cl_etcd_number_(json_object_get(answer, "header"),
					"revision");
	pthread_mutex_lock(&e->lock);
	if (!e->known_revision)
		e->known_revision = revision - 1;
	pthread_mutex_unlock(&e->lock);
	json_decref(answer);
	return RES_OK;
}

enum result weir_cl_etcd_settle_(struct engine *e, enum lane lane,
				 int64_t deadline, struct fault *fault)
{
	struct model model;
	enum result result;

	do {
		struct txn txn;
		bool done;

		result = weir_cl_etcd_read_(e, lane, NULL, &model, deadline,
					    fault);
		if (result)
			return result;
		weir_cl_txn_begin_(&txn);
		weir_cl_model_grant_(&model, e->session.url.name, &txn);
		if (!txn.operations) {
			weir_cl_txn_drop_(&txn);
			return RES_OK;
		}
		result = weir_cl_etcd_commit_(e, lane, &model, &txn, &done,
					      deadline, fault);
	} while (!result);
	return result;
}
