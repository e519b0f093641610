/* SPDX-License-Identifier: MIT */
/* Administration and stat in etcd. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/etcd/etcd.h"
#include "cluster/text.h"

static void fill(const struct model *m, weir_cluster_info *info)
{
	memset(info, 0, sizeof(*info));
	info->capacity = m->cap;
	info->held = m->used;
	info->free = m->cap > m->used ? m->cap - m->used : 0;
	info->debt = m->used > m->cap ? m->used - m->cap : 0;
	info->fence = m->fence;
	info->closed = m->closed;
	info->paused = m->paused;
}

/* Apply the change to the model.  Returns the error for the caller. */
static weir_err apply(struct model *m, enum admin what, int64_t value)
{
	switch (what) {
	case ADMIN_RESIZE:
		m->cap = value;
		return WEIR_OK;
	case ADMIN_CLOSE:
		if (m->closed != 1)
			m->closed = value == WEIR_CLOSE_DRAIN ? 2 : 1;
		m->paused = false;
		return WEIR_OK;
	case ADMIN_PAUSE:
		if (m->closed)
			return WEIR_ECLOSED;
		m->paused = value;
		return WEIR_OK;
	default:
		return m->used || m->nq || m->no ? WEIR_EBUSY : WEIR_OK;
	}
}

static enum result unlink_keys(struct engine *e, const struct model *m,
			       bool *done, int64_t deadline,
			       struct fault *fault)
{
	char key[ETCD_KEY];
	struct txn txn;
	json_t *answer;
	enum result result;
	int code;

	weir_cl_model_key_(key, e->session.url.name, "s", "");
	weir_cl_txn_begin_(&txn);
	weir_cl_txn_if_(&txn, key, m->mod);
	weir_cl_txn_delete_(&txn, key);
	result = weir_cl_http_post_(&e->lanes[LANE_CALL], "kv/txn",
				    weir_cl_txn_end_(&txn), &answer, &code,
				    deadline, fault);
	if (!result)
		*done = json_is_true(json_object_get(answer, "succeeded"));
	json_decref(answer);
	return result;
}

enum result weir_cl_etcd_admin_(struct engine *e, enum admin what,
				int64_t value, weir_cluster_info *info,
				weir_err *err, int64_t deadline,
				struct fault *fault)
{
	struct model model;
	bool done = false;

	while (!done) {
		struct txn txn;
		enum result result = weir_cl_etcd_read_(e, LANE_CALL, NULL,
							&model, deadline,
							fault);

		if (result)
			return result;
		*err = apply(&model, what, value);
		if (*err)
			return RES_OK;
		if (what == ADMIN_UNLINK) {
			result = unlink_keys(e, &model, &done, deadline, fault);
		} else {
			weir_cl_txn_begin_(&txn);
			weir_cl_model_grant_(&model, e->session.url.name, &txn);
			result = weir_cl_etcd_commit_(e, LANE_CALL, &model,
						      &txn, &done, deadline,
						      fault);
		}
		if (result)
			return result;
	}
	fill(&model, info);
	/* Grant to the rest of the queue, and to requests that fit now. */
	return what == ADMIN_UNLINK ? RES_OK :
	       weir_cl_etcd_settle_(e, LANE_CALL, deadline, fault);
}

struct list {
	weir_cluster_info *info;
	weir_cluster_entry *entries;
	uint32_t max;
	const char *session;
};

static void add(struct list *list, const struct entry *e,
		weir_cluster_role role, uint32_t place)
{
	weir_cluster_entry *out;

	if (list->info->entries++ >= list->max)
		return;
	out = &list->entries[list->info->entries - 1];
	memset(out, 0, sizeof(*out));
	out->role = role;
	out->weight = role == WEIR_CLUSTER_HOLDS ? e->weight : e->min;
	out->fence = e->fence;
	out->since_ms = e->since_ms;
	out->lease_ms = e->lease;	/* replaced by set_times */
	out->place = place;
	out->mine = !strncmp(e->id, list->session, strlen(list->session));
	memcpy(out->id, e->id, sizeof(out->id));
	weir_cl_text_describe_(e->text, out);
}

static int by_fence(const void *a, const void *b)
{
	const weir_cluster_entry *x = a, *y = b;

	return x->fence < y->fence ? -1 : x->fence > y->fence;
}

/* Add the entries of one range.  Returns false if one is damaged. */
static bool add_all(struct list *list, const json_t *kvs, char kind)
{
	uint32_t place = 0;
	json_t *item;
	size_t i;

	json_array_foreach(kvs, i, item) {
		struct entry e;

		if (!weir_cl_entry_read_(item, &e))
			return false;
		if (kind == 'g' && e.role == 'G') {
			add(list, &e, WEIR_CLUSTER_HOLDS, 0);
		} else if (kind == 'q') {
			list->info->waiters++;
			list->info->waiting_permits += e.min;
			add(list, &e, WEIR_CLUSTER_WAITS, ++place);
		} else if (kind == 'o') {
			list->info->oversized++;
			add(list, &e, e.role == 'I' ? WEIR_CLUSTER_IDLE :
			    WEIR_CLUSTER_OVERSIZED, 0);
		}
	}
	if (kind == 'g' && list->entries)
		qsort(list->entries, list->info->entries < list->max ?
		      list->info->entries : list->max,
		      sizeof(*list->entries), by_fence);
	return true;
}

/*
 * Replace the etcd lease of each entry by the time until it ends.  A question to
 * etcd answers for one lease, so only the first LEASES_MAX are asked for.
 */
#define LEASES_MAX 32

static void set_times(struct engine *e, struct list *list, int64_t deadline)
{
	struct {
		int64_t lease, ms;
	} known[LEASES_MAX];
	uint32_t count = 0;

	for (uint32_t i = 0; i < list->info->entries && i < list->max; i++) {
		weir_cluster_entry *entry = &list->entries[i];
		uint32_t k = 0;

		while (k < count && known[k].lease != entry->lease_ms)
			k++;
		if (k == count && count < LEASES_MAX) {
			known[k].lease = entry->lease_ms;
			known[k].ms = weir_cl_etcd_left_ms_(e, entry->lease_ms,
							    deadline);
			count++;
		}
		entry->lease_ms = k < count ? known[k].ms : 0;
	}
}

enum result weir_cl_etcd_stat_(struct engine *e, weir_cluster_info *info,
			       weir_cluster_entry *entries, uint32_t max,
			       int64_t deadline, struct fault *fault)
{
	struct list list = { info, entries, max, e->session.id };
	const char *name = e->session.url.name;
	char key[ETCD_KEY];
	struct model model;
	struct txn txn;
	json_t *answer;
	struct timespec now;
	int code;
	enum result result = weir_cl_etcd_settle_(e, LANE_CALL, deadline,
						  fault);

	if (result)
		return result;
	weir_cl_txn_begin_(&txn);
	weir_cl_model_read_(&txn, name, NULL);
	weir_cl_model_key_(key, name, "q/", "");
	weir_cl_txn_range_(&txn, key, true, 0);
	weir_cl_model_key_(key, name, "o/", "");
	weir_cl_txn_range_(&txn, key, true, 0);
	result = weir_cl_http_post_(&e->lanes[LANE_CALL], "kv/txn",
				    weir_cl_txn_end_(&txn), &answer, &code,
				    deadline, fault);
	if (result)
		return result;
	if (code || !weir_cl_model_view_(answer, false, &model))
		result = weir_cl_fault_(fault, RES_REFUSED, EBADMSG,
					"the data is damaged or foreign");
	else
		fill(&model, info);
	if (!result && (!add_all(&list, weir_cl_etcd_kvs_(answer, 2), 'g') ||
			!add_all(&list, weir_cl_etcd_kvs_(answer, 4), 'q') ||
			!add_all(&list, weir_cl_etcd_kvs_(answer, 5), 'o')))
		result = weir_cl_fault_(fault, RES_REFUSED, EBADMSG,
					"an entry is damaged or foreign");
	json_decref(answer);
	if (!result)
		set_times(e, &list, deadline);
	/* etcd has no clock for clients: the time is this machine's. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	info->now_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
	return result;
}
