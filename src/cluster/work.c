/* SPDX-License-Identifier: MIT */
/*
 * The work of a handle's thread: expiry, withdrawals, and the time of the next
 * work.  No pointer to a request is kept while the lock is not held: its owner may
 * free it.  Requests are found again by their ids.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

#define PAUSE_MIN_NS INT64_C(50000000)
#define PAUSE_MAX_NS SECOND_NS

/* The number of requests that the thread sends before it renews again. */
#define AT_ONCE 100

/* Called when the engine has failed: pause before the next attempt. */
void weir_cl_work_failed_(weir_cluster *c, const struct fault *fault)
{
	int64_t most = c->session.ttl_ns / 6;

	c->retry_ns = c->retry_ns ? c->retry_ns * 2 : PAUSE_MIN_NS;
	if (c->retry_ns > PAUSE_MAX_NS)
		c->retry_ns = PAUSE_MAX_NS;
	if (c->retry_ns > most)
		c->retry_ns = most;
	c->retry_at = boot_now() + c->retry_ns;
	pthread_mutex_lock(&c->lock);
	c->fault = *fault;
	pthread_mutex_unlock(&c->lock);
}

/* Requires: the lock is held.  Drops it while the callback runs. */
static void lose(weir_cluster *c, weir_lease *l)
{
	static const uint64_t one = 1;
	weir_lease_lost_fn *fn = l->lost_fn;
	void *user = l->lost_user;

	weir_cl_request_phase_(l, LOST);
	l->renew_at = NEVER;
	if (l->lost_fd >= 0)
		(void)!write(l->lost_fd, &one, sizeof(one));
	if (!fn)
		return;
	l->lost_fn = NULL;
	l->in_callback = true;
	pthread_mutex_unlock(&c->lock);
	fn(l, user);
	pthread_mutex_lock(&c->lock);
	l->in_callback = false;
	pthread_cond_broadcast(&c->callback_done);
}

void weir_cl_work_expire_(weir_cluster *c)
{
	int64_t now = boot_now();
	weir_lease *l;

	pthread_mutex_lock(&c->lock);
	l = c->first;
	while (l) {
		if (l->phase == HELD && now >= valid_until(l)) {
			lose(c, l);
			/* The list may have changed in the callback. */
			l = c->first;
		} else {
			l = l->next;
		}
	}
	pthread_mutex_unlock(&c->lock);
}

/*
 * Returns the time until which the thread may be busy with other requests than
 * the renewal of l.  A renewal is due after a third of the TTL; the last third belongs to
 * it.  If it is overdue because the engine does not answer, then a lease must
 * still be lost in time.
 */
static int64_t free_until(const weir_lease *l, int64_t now)
{
	int64_t ttl = l->cluster->session.ttl_ns;
	int64_t at = l->confirmed + ttl / 3 * 2;

	if (at > now)
		return at;
	return l->phase == HELD ? valid_until(l) : now + ttl / 6;
}

/*
 * Returns the time until which the thread may be busy with other requests than
 * the renewals of the handle.
 */
static int64_t all_free_until(weir_cluster *c, int64_t now)
{
	int64_t at = NEVER;

	pthread_mutex_lock(&c->lock);
	for (weir_lease *l = c->first; l; l = l->next)
		if ((l->phase == HELD || l->phase == WAITING) &&
		    free_until(l, now) < at)
			at = free_until(l, now);
	pthread_mutex_unlock(&c->lock);
	return at;
}

/*
 * A call may be granted a lease meanwhile, so half of the TTL is the longest
 * time even if no lease exists yet.  For the same reason the time need not be
 * found again for every request that is sent.
 */
int64_t weir_cl_work_deadline_(weir_cluster *c)
{
	int64_t now = boot_now(), limit = c->session.ttl_ns / 2;

	if (limit > c->session.timeout_ns)
		limit = c->session.timeout_ns;
	if (c->free_until <= now)
		c->free_until = all_free_until(c, now);
	return c->free_until < now + limit ? c->free_until : now + limit;
}

/* Take the first withdrawal off the list.  Returns null if there is none. */
static struct withdrawal *next_withdrawal(weir_cluster *c)
{
	struct withdrawal *w;

	pthread_mutex_lock(&c->lock);
	w = c->withdrawals;
	if (w)
		c->withdrawals = w->next;
	pthread_mutex_unlock(&c->lock);
	return w;
}

/*
 * Withdraw one request that was given up.  Returns false if there is none or if
 * the engine fails.
 */
static bool withdraw(weir_cluster *c)
{
	struct withdrawal *w = next_withdrawal(c);
	enum result result = RES_REFUSED;
	struct answer answer;
	struct fault fault;

	if (!w)
		return false;
	if (boot_now() < w->until)
		result = c->ops->release(c->engine, LANE_THREAD, w->id, 0, 0,
					 &answer, weir_cl_work_deadline_(c),
					 &fault);
	if (result != RES_UNSENT && result != RES_UNKNOWN) {
		free(w);
		return true;
	}
	weir_cl_work_failed_(c, &fault);
	pthread_mutex_lock(&c->lock);
	w->next = c->withdrawals;
	c->withdrawals = w;
	pthread_mutex_unlock(&c->lock);
	return false;
}

void weir_cl_work_record_(weir_cluster *c, const char *id, uint32_t changes,
			  const struct answer *answer, int64_t sent)
{
	weir_lease *l = weir_cl_request_find_(c, id);

	if (!l || l->changes != changes)
		return;
	if (l->phase == HELD) {
		if (answer->state != S_HELD) {
			lose(c, l);
			return;
		}
		l->confirmed = sent;
		l->renew_at = sent + c->session.ttl_ns / 3;
	} else if (answer->state == S_WAITS) {
		weir_cl_request_waits_(l, answer, sent);
	} else if (answer->state == S_GONE) {
		/* The engine has lost its data: join the queue again. */
		l->flags &= ~(unsigned)ASK_FRESH;
		weir_cl_request_phase_(l, QUEUED);
		l->asked_at = NEVER;
	} else {
		weir_cl_request_decide_(l, answer, sent);
	}
}

/* Returns the time of the next work; NEVER: no work is left. */
static int64_t next_time(weir_cluster *c)
{
	int64_t at = NEVER;
	bool pending;

	pthread_mutex_lock(&c->lock);
	pending = c->withdrawals || c->first_queued ||
		  (c->waiting && !c->armed);
	for (weir_lease *l = c->first; l; l = l->next) {
		int64_t then = l->renew_at > c->retry_at ? l->renew_at :
			       c->retry_at;

		if ((l->phase == HELD || l->phase == WAITING) && then < at)
			at = then;
		if (l->phase == HELD && valid_until(l) < at)
			at = valid_until(l);
	}
	pthread_mutex_unlock(&c->lock);
	if (pending && c->retry_at && c->retry_at < at)
		at = c->retry_at;
	return at;
}

static void renew_all(weir_cluster *c)
{
	while (weir_cl_renew_(c))
		weir_cl_work_expire_(c);
}

/*
 * Call `send` until it returns false, but no longer than a sixth of the TTL: the
 * thread has renewals to send and wake-ups to read meanwhile.  Returns true if
 * requests may be left.
 */
static bool send_some(weir_cluster *c, bool (*send)(weir_cluster *c))
{
	int64_t end = boot_now() + c->session.ttl_ns / 6;

	for (int i = 0; i < AT_ONCE && boot_now() < end; i++)
		if (!send(c))
			return false;
	return true;
}

int64_t weir_cl_work_(weir_cluster *c)
{
	if (boot_now() >= c->retry_at) {
		bool more;

		renew_all(c);
		c->free_until = 0;
		more = send_some(c, weir_cl_enqueue_);
		/* A call may have been granted a lease meanwhile. */
		c->free_until = 0;
		weir_cl_wake_arm_(c);
		c->free_until = 0;
		if (boot_now() >= c->retry_at)
			more = send_some(c, withdraw) || more;
		if (more)
			weir_cl_thread_kick_(c);
	}
	return next_time(c);
}
