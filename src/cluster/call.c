/* SPDX-License-Identifier: MIT */
/* Talking to the engine in the thread of a call: turns, retries, errors. */
#include <errno.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

enum result weir_cl_call_begin_(weir_cluster *c, int64_t deadline,
				struct fault *fault)
{
	weir_err err;

	do
		err = weir_sem_acquire_until(&c->calls, 1, deadline);
	while (err == WEIR_EINTR);
	return err ? weir_cl_fault_(fault, RES_UNSENT, ETIMEDOUT,
				    "other calls wait for the server") : RES_OK;
}

void weir_cl_call_end_(weir_cluster *c)
{
	weir_sem_release(&c->calls, 1);
}

weir_err weir_cl_call_failed_(weir_cluster *c, enum result result,
			      const struct fault *fault)
{
	pthread_mutex_lock(&c->lock);
	c->fault = *fault;
	pthread_mutex_unlock(&c->lock);
	if (result == RES_UNKNOWN)
		return WEIR_EINDETERMINATE;
	errno = fault->errnum;
	return fault->errnum == ENOMEM ? WEIR_ENOMEM : WEIR_ESYSTEM;
}

/* 10 ms, doubled at each attempt, up to 320 ms. */
bool weir_cl_call_pause_(int attempt, weir_ctx *ctx, int64_t until)
{
	int64_t ns = INT64_C(10000000) << (attempt > 5 ? 5 : attempt);
	int64_t now = boot_now();
	struct timespec pause;

	if (now >= until)
		return false;
	if (ns > until - now)
		ns = until - now;
	if (ctx)
		return weir_ctx_wait(ctx, weir_deadline_after(ns)) ==
		       WEIR_EAGAIN;
	pause.tv_sec = ns / SECOND_NS;
	pause.tv_nsec = ns % SECOND_NS;
	(void)nanosleep(&pause, NULL);
	return true;
}

enum result weir_cl_call_release_(weir_lease *l, int64_t keep, bool cancel,
				  struct answer *answer, bool *repeated,
				  struct fault *fault)
{
	weir_cluster *c = l->cluster;
	int64_t until = boot_now() + c->session.timeout_ns;
	int64_t deadline = weir_deadline_after(c->session.timeout_ns);
	bool unknown = false;
	enum result result;

	*repeated = false;
	for (int attempt = 0;; attempt++) {
		result = weir_cl_call_begin_(c, deadline, fault);
		if (!result) {
			result = cancel ?
				c->ops->cancel(c->engine, LANE_CALL, l->id,
					       answer, until, fault) :
				c->ops->release(c->engine, LANE_CALL, l->id,
						keep, answer, until, fault);
			weir_cl_call_end_(c);
		}
		if (result == RES_OK || result == RES_REFUSED)
			break;
		unknown = unknown || result == RES_UNKNOWN;
		*repeated = unknown;
		if (!weir_cl_call_pause_(attempt, NULL, until))
			break;
	}
	return result;
}
