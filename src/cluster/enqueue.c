/* SPDX-License-Identifier: MIT */
/*
 * Requests that the handle's thread sends: operations on a loop, and requests that
 * join the queue again because the engine has lost its data.
 */
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

/*
 * The thread has sent a request.  Its owner may have withdrawn it meanwhile, in
 * the other lane.  If the withdrawal reached the engine before the request, then
 * the engine has a request without an owner.  So withdraw the request again.  An
 * owner that has not finished yet may keep a grant; it withdraws the request
 * when it frees it.
 * Requires: the lock is held.
 */
static void check_owner(weir_cluster *c, weir_lease *l, const char *id,
			uint32_t changes)
{
	if (!l)
		weir_cl_request_withdraw_(c, id);
	else if (l->changes != changes)
		l->stray = true;
}

bool weir_cl_enqueue_(weir_cluster *c)
{
	struct renewal r = { .id = "" };
	struct fault fault;
	uint32_t changes = 0;
	enum result result;
	int64_t sent;
	weir_lease *l;

	pthread_mutex_lock(&c->lock);
	l = c->first_queued;
	if (l) {
		memcpy(r.id, l->id, sizeof(r.id));
		r.ask = weir_cl_request_ask_(l);
		changes = l->changes;
	}
	pthread_mutex_unlock(&c->lock);
	if (!r.id[0])
		return false;
	r.ask.id = r.id;
	sent = boot_now();
	result = c->ops->acquire(c->engine, LANE_THREAD, &r.ask, &r.answer,
				 weir_cl_work_deadline_(c), &fault);
	pthread_mutex_lock(&c->lock);
	l = weir_cl_request_find_(c, r.id);
	if (result == RES_OK || result == RES_UNKNOWN)
		check_owner(c, l, r.id, changes);
	if (!result) {
		weir_cl_work_record_(c, r.id, changes, &r.answer, sent);
	} else if (l && l->changes == changes) {
		/* The engine may have got this attempt: the id is not fresh. */
		if (result == RES_UNKNOWN)
			l->flags &= ~(unsigned)ASK_FRESH;
		if (result == RES_REFUSED) {
			weir_cl_request_fail_(l, WEIR_ESYSTEM);
		} else if (boot_now() - l->asked_at > c->session.timeout_ns) {
			bool fresh = l->flags & ASK_FRESH;

			if (!fresh)
				weir_cl_request_withdraw_(c, l->id);
			weir_cl_request_fail_(l, fresh ? WEIR_ESYSTEM :
					      WEIR_EINDETERMINATE);
		}
	}
	pthread_mutex_unlock(&c->lock);
	if (result)
		weir_cl_work_failed_(c, &fault);
	return !result;
}
