/* SPDX-License-Identifier: MIT */
/*
 * Acquiring in the thread of the call: send the request, wait for the decision,
 * give up.
 */
#include <errno.h>
#include <stdlib.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

/* The limit of a wait: the end of ctx; or a deadline, if ctx is null. */
struct limit {
	weir_ctx *ctx;
	int64_t deadline;	/* CLOCK_MONOTONIC */
};

/* Returns the error of a limit that has passed; otherwise WEIR_OK. */
static weir_err limit_err(const struct limit *limit)
{
	if (limit->ctx)
		return weir_ctx_err(limit->ctx);
	return limit->deadline != WEIR_FOREVER &&
	       weir_now_ns() >= limit->deadline ? WEIR_ETIMEDOUT : WEIR_OK;
}

/*
 * Note when the request is first sent.  A wake-up may come before the answer,
 * and its grant cannot be older than this time.
 */
static void mark_sent(weir_lease *l, int64_t sent)
{
	pthread_mutex_lock(&l->cluster->lock);
	l->asked_at = sent;
	pthread_mutex_unlock(&l->cluster->lock);
}

/*
 * Send the request until the engine answers.  Returns RES_UNKNOWN if the engine
 * may have got the request.
 */
static enum result send_request(weir_lease *l, const struct limit *limit,
				struct answer *answer, int64_t *sent,
				struct fault *fault)
{
	weir_cluster *c = l->cluster;
	int64_t until = boot_now() + c->session.timeout_ns;
	bool unknown = false;

	for (int attempt = 0;; attempt++) {
		struct ask ask = weir_cl_request_ask_(l);
		enum result result = weir_cl_call_begin_(c, limit->ctx, fault);

		if (!result) {
			*sent = boot_now();
			if (!attempt) {
				mark_sent(l, *sent);
				until = *sent + c->session.timeout_ns;
			}
			result = c->ops->acquire(c->engine, LANE_CALL, &ask,
						 answer, until, fault);
			weir_cl_call_end_(c, result);
		}
		if (result == RES_OK || result == RES_REFUSED)
			return result;
		if (result == RES_UNKNOWN) {
			unknown = true;
			l->flags &= ~(unsigned)ASK_FRESH;
		}
		/* A plain deadline limits the wait, not the first attempt. */
		if (limit_err(limit) ||
		    !weir_cl_call_pause_(attempt, limit->ctx, until))
			return unknown ? RES_UNKNOWN : result;
	}
}

/* Record the answer, unless a wake-up came first. */
static void record(weir_lease *l, const struct answer *answer, int64_t sent)
{
	weir_cluster *c = l->cluster;
	bool kick = false;

	pthread_mutex_lock(&c->lock);
	if (l->phase == ASKING) {
		if (answer->state == S_WAITS) {
			weir_cl_request_waits_(l, answer, sent);
			kick = !c->armed;
		} else {
			weir_cl_request_decide_(l, answer, sent);
		}
	}
	pthread_mutex_unlock(&c->lock);
	if (kick)
		weir_cl_thread_kick_(c);
}

/* Hand the request over to the thread, which withdraws it. */
static weir_err abandon(weir_lease *l, weir_err err)
{
	weir_cluster *c = l->cluster;

	pthread_mutex_lock(&c->lock);
	weir_cl_request_phase_(l, LEAVING);
	weir_cl_request_withdraw_(c, l->id);
	pthread_mutex_unlock(&c->lock);
	return err;
}

/*
 * The request was granted, but the engine last confirmed long ago that the
 * request waited.  So the lease may have passed by our clock, although the
 * engine has begun a full one.  Repeat the request: the answer begins a full
 * lease again.
 */
static weir_err confirm(weir_lease *l, weir_err err)
{
	static const struct limit none = { NULL, WEIR_FOREVER };
	weir_cluster *c = l->cluster;
	struct answer answer;
	struct fault fault;
	enum result result;
	int64_t sent = 0;

	/*
	 * ASK_TRY: if the engine has forgotten the request, do not wait again.
	 */
	l->flags = (l->flags | ASK_TRY) & ~(unsigned)ASK_FRESH;
	result = send_request(l, &none, &answer, &sent, &fault);
	if (result) {
		(void)weir_cl_call_failed_(c, result, &fault);
		return abandon(l, WEIR_EINDETERMINATE);
	}
	if (answer.state != S_HELD)
		return err;
	pthread_mutex_lock(&c->lock);
	weir_cl_request_decide_(l, &answer, sent);
	pthread_mutex_unlock(&c->lock);
	return WEIR_OK;
}

/*
 * Called when the wait has ended with err and without a decision.  After a
 * plain deadline or a signal, a grant that has been made meanwhile wins over
 * err; the end of a context wins over a grant.
 */
static weir_err give_up(weir_lease *l, bool keep_grant, weir_err err)
{
	weir_cluster *c = l->cluster;
	struct answer answer;
	struct fault fault;
	bool repeated;
	enum result result = weir_cl_call_release_(l, 0, keep_grant, &answer,
						   &repeated, &fault);

	if (result) {
		(void)weir_cl_call_failed_(c, result, &fault);
		return abandon(l, WEIR_EINDETERMINATE);
	}
	if (answer.state != S_HELD)
		return err;
	if (boot_now() - l->confirmed > c->session.ttl_ns / 2)
		return confirm(l, err);
	pthread_mutex_lock(&c->lock);
	weir_cl_request_decide_(l, &answer, l->confirmed);
	l->renew_at = boot_now();
	weir_cl_thread_at_(c, l->renew_at);
	pthread_mutex_unlock(&c->lock);
	return WEIR_OK;
}

/* Wait for the decision. */
static weir_err wait_for(weir_lease *l, const struct limit *limit)
{
	weir_cluster *c = l->cluster;
	weir_err err = limit->ctx ?
		weir_sem_acquire(&l->decided, 1, limit->ctx) :
		weir_sem_acquire_until(&l->decided, 1, limit->deadline);
	bool undecided;

	/*
	 * The permit orders this read after the decision, and only a decision
	 * sets err.  The deciding thread may still hold the lock.
	 */
	if (!err)
		return l->err;
	pthread_mutex_lock(&c->lock);
	if (l->phase == DECIDED && !limit->ctx)
		err = l->err;
	else if (l->phase == HELD && !limit->ctx)
		err = WEIR_OK;
	undecided = err && l->phase != DECIDED;
	if (undecided)
		weir_cl_request_phase_(l, LEAVING);
	pthread_mutex_unlock(&c->lock);
	return undecided ? give_up(l, !limit->ctx, err) : err;
}

static weir_err take(weir_lease *l, const struct limit *limit)
{
	weir_cluster *c = l->cluster;
	struct answer answer;
	struct fault fault;
	int64_t sent = 0;
	enum result result = send_request(l, limit, &answer, &sent, &fault);

	if (result) {
		weir_err err = weir_cl_call_failed_(c, result, &fault);

		if (result == RES_UNKNOWN)
			return abandon(l, err);
		return result == RES_UNSENT && limit_err(limit) ?
		       limit_err(limit) : err;
	}
	record(l, &answer, sent);
	/* Also after a direct grant: a context that has ended wins over it. */
	return wait_for(l, limit);
}

static weir_err acquire(weir_cluster *c, int64_t min, int64_t max,
			const struct limit *limit, unsigned flags,
			weir_lease **out)
{
	weir_lease *l;
	weir_err err;

	*out = NULL;
	if (!c || min < 0 || max < min || max > WEIR_CLUSTER_MAX)
		return WEIR_EINVAL;
	if (limit->ctx) {
		err = weir_ctx_err(limit->ctx);
		if (err)
			return err;
		flags |= ASK_OUTSIDE;
	}
	l = weir_cl_request_new_(c, min, max, flags);
	if (!l)
		return WEIR_ENOMEM;
	err = take(l, limit);
	if (!err && !(flags & ASK_IDLE) && l->weight > 0) {
		*out = l;
		return WEIR_OK;
	}
	weir_cl_request_free_(l);
	return err;
}

weir_err weir_cluster_acquire(weir_cluster *c, int64_t n, weir_ctx *ctx,
			      weir_lease **out)
{
	struct limit limit = { ctx, WEIR_FOREVER };

	return acquire(c, n, n, &limit, 0, out);
}

weir_err weir_cluster_acquire_until(weir_cluster *c, int64_t n,
				    int64_t deadline_ns, weir_lease **out)
{
	struct limit limit = { NULL, deadline_ns };

	return acquire(c, n, n, &limit, 0, out);
}

weir_err weir_cluster_acquire_for(weir_cluster *c, int64_t n,
				  int64_t timeout_ns, weir_lease **out)
{
	return weir_cluster_acquire_until(c, n,
					  weir_deadline_after(timeout_ns), out);
}

weir_err weir_cluster_try_acquire(weir_cluster *c, int64_t n, weir_lease **out)
{
	struct limit limit = { NULL, WEIR_FOREVER };

	return acquire(c, n, n, &limit, ASK_TRY, out);
}

weir_err weir_cluster_acquire_upto(weir_cluster *c, int64_t min, int64_t max,
				   weir_ctx *ctx, weir_lease **out)
{
	struct limit limit = { ctx, WEIR_FOREVER };

	return acquire(c, min, max, &limit, 0, out);
}

weir_err weir_cluster_wait_idle(weir_cluster *c, weir_ctx *ctx)
{
	struct limit limit = { ctx, WEIR_FOREVER };
	weir_lease *none;

	return acquire(c, 0, 0, &limit, ASK_IDLE, &none);
}
