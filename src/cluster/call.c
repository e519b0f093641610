/* SPDX-License-Identifier: MIT */
/* Talking to the engine in the thread of a call: turns, retries, errors. */
#include <errno.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

static uint64_t count_answers(weir_cluster *c, unsigned more)
{
	uint64_t answers;

	pthread_mutex_lock(&c->lock);
	c->answers += more;
	answers = c->answers;
	pthread_mutex_unlock(&c->lock);
	return answers;
}

enum result weir_cl_call_begin_(weir_cluster *c, weir_ctx *ctx,
				struct fault *fault)
{
	uint64_t before, answers = 0;
	weir_err err;

	if (!weir_sem_try_acquire(&c->calls, 1))
		return RES_OK;
	/* A late turn is a failure only if no other call is answered. */
	do {
		before = answers;
		answers = count_answers(c, 0);
		err = weir_sem_acquire_for(&c->calls, 1, c->session.timeout_ns);
		if (!err)
			return RES_OK;
	} while (!(ctx && weir_ctx_err(ctx)) &&
		 (err == WEIR_EINTR || count_answers(c, 0) != answers ||
		  before != answers));
	return weir_cl_fault_(fault, RES_UNSENT, ETIMEDOUT,
			      "the server does not answer other calls");
}

void weir_cl_call_end_(weir_cluster *c, enum result result)
{
	if (result == RES_OK)
		(void)count_answers(c, 1);
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

/* The pause is 10 ms, doubled at each attempt, up to 320 ms. */
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

bool weir_cl_call_repeats_(enum result result, const struct fault *fault)
{
	return result == RES_UNKNOWN ||
	       (result == RES_UNSENT && (fault->errnum == ECONNRESET ||
					 fault->errnum == EAGAIN ||
					 fault->errnum == ETIMEDOUT));
}

enum result weir_cl_call_release_(weir_lease *l, int64_t keep, bool cancel,
				  struct answer *answer, bool *repeated,
				  struct fault *fault)
{
	weir_cluster *c = l->cluster;
	int64_t until = boot_now() + c->session.timeout_ns;
	bool unknown = false;
	enum result result;

	*repeated = false;
	for (int attempt = 0;; attempt++) {
		result = weir_cl_call_begin_(c, NULL, fault);
		if (!result) {
			if (!attempt)
				until = boot_now() + c->session.timeout_ns;
			result = cancel ?
				c->ops->cancel(c->engine, LANE_CALL, l->id,
					       answer, until, fault) :
				c->ops->release(c->engine, LANE_CALL, l->id,
						l->weight, keep, answer, until,
						fault);
			weir_cl_call_end_(c, result);
		}
		if (result == RES_OK || result == RES_REFUSED)
			break;
		unknown = unknown || result == RES_UNKNOWN;
		*repeated = unknown;
		if (!weir_cl_call_pause_(attempt, NULL, until))
			break;
	}
	/* An earlier attempt may have been executed. */
	return result == RES_UNSENT && unknown ? RES_UNKNOWN : result;
}
