/* SPDX-License-Identifier: MIT */
/* Acquire, release and cancel in etcd. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cluster/clock.h"
#include "cluster/etcd/etcd.h"

static int64_t realtime_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

void weir_cl_etcd_answer_(const struct entry *entry, struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	switch (entry->role) {
	case 'G':
		answer->state = S_HELD;
		break;
	case 'C':
		answer->state = S_CLOSED;
		break;
	case 'T':
		answer->state = S_TOOBIG;
		break;
	case 'I':
		answer->state = S_IDLE;
		break;
	default:
		answer->state = S_WAITS;
	}
	answer->weight = entry->weight;
	answer->fence = entry->fence;
	answer->ticket = entry->ticket;
}

/* Returns the place of the request among the heads, or VIEW_HEADS + 1. */
static uint32_t place_of(const struct model *m, const char *id)
{
	for (int i = 0; i < m->head_count; i++)
		if (!strcmp(m->heads[i].id, id))
			return (uint32_t)i + 1;
	return VIEW_HEADS + 1;
}

/* Remember whether the handle has to watch for deaths. */
static void note_place(struct engine *e, uint32_t place)
{
	if (place > 4)
		return;
	pthread_mutex_lock(&e->lock);
	e->frontier = true;
	pthread_mutex_unlock(&e->lock);
}

/* Returns the state of a new request that gets no permits now. */
static enum state refuse(const struct model *m, const struct ask *ask)
{
	if (m->closed == 1 && !(ask->flags & ASK_IDLE))
		return S_CLOSED;
	if (ask->flags & ASK_IDLE)
		return m->used ? S_WAITS : S_IDLE;
	if (ask->min == 0)
		return S_HELD;
	if (m->closed)
		return S_CLOSED;
	if (ask->flags & ASK_TRY)
		return S_BUSY;
	if (ask->min > m->cap && !(ask->flags & ASK_OUTSIDE))
		return S_TOOBIG;
	return S_WAITS;
}

/* Decide a new request: change the model and add operations to txn. */
static void decide(struct engine *e, struct model *m, const struct ask *ask,
		   int64_t lease, struct txn *txn, struct answer *answer)
{
	const char *name = e->session.url.name;
	struct entry entry = {
		.min = ask->min, .max = ask->max, .lease = lease,
		.outside = ask->flags & ASK_OUTSIDE, .since_ms = realtime_ms(),
	};
	bool fits = !(ask->flags & ASK_IDLE) && m->closed != 1 && !m->paused &&
		    !m->nq && !m->head_count && ask->max > 0 &&
		    m->cap > m->used && m->cap - m->used >= ask->min;

	memcpy(entry.id, ask->id, strlen(ask->id) + 1);
	memcpy(entry.text, e->session.text, sizeof(entry.text));
	memset(answer, 0, sizeof(*answer));
	if (fits) {
		entry.ticket = (uint64_t)++m->tick;
		weir_cl_model_hold_(m, name, &entry, txn);
		weir_cl_etcd_answer_(&entry, answer);
		return;
	}
	answer->state = refuse(m, ask);
	if (answer->state != S_WAITS)
		return;
	weir_cl_model_wait_(m, name, &entry, ask->flags & ASK_IDLE ||
			    ask->min > m->cap ? 'o' : 'q', txn);
	answer->ticket = entry.ticket;
	answer->place = (uint32_t)m->head_count + 1;
	note_place(e, answer->place);
}

/* Answer a request that exists already.  Returns false if it does not. */
static bool known(struct engine *e, const struct model *m, const char *id,
		  struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	if (m->own.role) {
		weir_cl_etcd_answer_(&m->own, answer);
		return true;
	}
	if (!m->waits)
		return false;
	answer->state = S_WAITS;
	answer->ticket = (uint64_t)m->waits;
	answer->place = m->waits_outside ? 0 : place_of(m, id);
	note_place(e, answer->place ? answer->place : VIEW_HEADS);
	return true;
}

enum result weir_cl_etcd_acquire_(struct engine *e, enum lane lane,
				  const struct ask *ask, struct answer *answer,
				  int64_t deadline, struct fault *fault)
{
	int64_t lease, sent;
	enum result result = weir_cl_etcd_lease_(e, lane, &lease, &sent,
						 deadline, fault);
	bool done = false;

	while (!result && !done) {
		struct model model;
		struct txn txn;

		result = weir_cl_etcd_read_(e, lane, ask->id, &model, deadline,
					    fault);
		if (result)
			break;
		if (known(e, &model, ask->id, answer)) {
			answer->since = sent;
			return RES_OK;
		}
		weir_cl_txn_begin_(&txn);
		weir_cl_model_grant_(&model, e->session.url.name, &txn);
		decide(e, &model, ask, lease, &txn, answer);
		answer->since = sent;
		if (!txn.operations) {
			weir_cl_txn_drop_(&txn);
			return RES_OK;
		}
		result = weir_cl_etcd_commit_(e, lane, &model, &txn, &done,
					      deadline, fault);
		/* The etcd lease of this handle may have ended, too. */
		if (!result && !done)
			result = weir_cl_etcd_lease_(e, lane, &lease, &sent,
						     deadline, fault);
	}
	return result;
}

/* Change the lease of the semaphore: give back all but `keep` permits. */
static void give_back(struct engine *e, struct model *m, int64_t keep,
		      struct txn *txn)
{
	char key[ETCD_KEY];

	weir_cl_model_key_(key, e->session.url.name, "g/", m->own.id);
	weir_cl_txn_if_exists_(txn, key);
	if (m->own.role == 'G' && keep > 0) {
		if (keep > m->own.weight)
			keep = m->own.weight;
		m->used -= m->own.weight - keep;
		m->own.weight = keep;
		weir_cl_txn_put_(txn, key, weir_cl_entry_format_(&m->own),
				 m->own.lease);
		return;
	}
	if (m->own.role == 'G')
		m->used -= m->own.weight;
	weir_cl_txn_delete_(txn, key);
}

/* Remove the request; with keep_grant, a request that was granted stays. */
static enum result remove_request(struct engine *e, enum lane lane,
				  const char *id, int64_t keep, bool keep_grant,
				  struct answer *answer, int64_t deadline,
				  struct fault *fault)
{
	struct model model;
	bool done = false;

	memset(answer, 0, sizeof(*answer));
	while (!done) {
		struct txn txn;
		enum result result = weir_cl_etcd_read_(e, lane, id, &model,
							deadline, fault);

		if (result)
			return result;
		if (keep_grant && model.own.role == 'G') {
			weir_cl_etcd_answer_(&model.own, answer);
			return RES_OK;
		}
		answer->state = model.own.role || model.waits ? S_RELEASED :
				S_GONE;
		if (answer->state == S_GONE)
			break;
		weir_cl_txn_begin_(&txn);
		if (model.own.role)
			give_back(e, &model, keep, &txn);
		else
			weir_cl_model_leave_(&model, e->session.url.name, id,
					     &txn);
		weir_cl_model_grant_(&model, e->session.url.name, &txn);
		result = weir_cl_etcd_commit_(e, lane, &model, &txn, &done,
					      deadline, fault);
		if (result)
			return result;
	}
	return model.more && answer->state == S_RELEASED ?
	       weir_cl_etcd_settle_(e, lane, deadline, fault) : RES_OK;
}

enum result weir_cl_etcd_release_(struct engine *e, enum lane lane,
				  const char *id, int64_t weight, int64_t keep,
				  struct answer *answer, int64_t deadline,
				  struct fault *fault)
{
	(void)weight;
	return remove_request(e, lane, id, keep, false, answer, deadline,
			      fault);
}

enum result weir_cl_etcd_cancel_(struct engine *e, enum lane lane,
				 const char *id, struct answer *answer,
				 int64_t deadline, struct fault *fault)
{
	return remove_request(e, lane, id, 0, true, answer, deadline, fault);
}
