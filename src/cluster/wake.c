/* SPDX-License-Identifier: MIT */
/*
 * Wake-ups: they arrive while a request waits, and the handle's thread reads
 * them.  All functions are called by that thread.
 */
#include "cluster/clock.h"
#include "cluster/handle.h"

/*
 * A grant is valid from the time at which the engine last confirmed that the
 * request waited.  If that is too long ago, if replicas have to confirm the
 * grant, or if the wake-up is about another place in the queue, then renew first;
 * the answer decides the request.  A wake-up is about another place if the client
 * was cut off, was granted, lost that lease and has joined the queue again.  A
 * request whose first answer has not come yet cannot be renewed: it is renewed as
 * soon as it waits.
 */
static void wake(void *cluster, const char *id,
		 const struct answer *answer)
{
	weir_cluster *c = cluster;
	int64_t now = boot_now();
	weir_lease *l;

	pthread_mutex_lock(&c->lock);
	l = weir_cl_request_find_(c, id);
	if (l && (l->phase == WAITING || l->phase == ASKING)) {
		bool waits = l->phase == WAITING;
		int64_t since = waits ? l->confirmed : l->asked_at;

		if (answer->state != S_HELD ||
		    (!c->session.replicas &&
		     (!waits || answer->ticket == l->ticket) &&
		     now - since <= c->session.ttl_ns / 2)) {
			weir_cl_request_decide_(l, answer, since);
		} else if (waits) {
			l->renew_at = now;
			weir_cl_thread_at_(c, now);
		} else {
			l->woken = true;
		}
	}
	pthread_mutex_unlock(&c->lock);
}

void weir_cl_wake_read_(weir_cluster *c)
{
	struct fault fault;

	if (!c->ops->read(c->engine, wake, c, &fault))
		return;
	/*
	 * The engine may have sent a wake-up that is lost with the connection.
	 * The renewals of the waiting requests find the outcome.
	 */
	pthread_mutex_lock(&c->lock);
	c->armed = false;
	for (weir_lease *l = c->first; l; l = l->next)
		if (l->phase == WAITING)
			l->renew_at = boot_now();
	pthread_mutex_unlock(&c->lock);
	c->wake_fd = -1;
	weir_cl_work_failed_(c, &fault);
	weir_cl_thread_kick_(c);
}

/* Called if no request waits: let the engine switch wake-ups off. */
static void rest(weir_cluster *c)
{
	bool off;

	if (c->wake_fd < 0 || !c->ops->rest)
		return;
	/* A request that begins to wait now kicks this thread. */
	pthread_mutex_lock(&c->lock);
	c->armed = false;
	pthread_mutex_unlock(&c->lock);
	off = c->ops->rest(c->engine);
	if (off)
		c->wake_fd = -1;
	pthread_mutex_lock(&c->lock);
	c->armed = !off;
	pthread_mutex_unlock(&c->lock);
}

void weir_cl_wake_arm_(weir_cluster *c)
{
	struct fault fault;
	bool waits;

	pthread_mutex_lock(&c->lock);
	waits = c->waiting;
	pthread_mutex_unlock(&c->lock);
	if (!waits)
		rest(c);
	if (!waits || c->wake_fd >= 0)
		return;
	if (c->ops->arm(c->engine, &c->wake_fd, weir_cl_work_deadline_(c),
			&fault)) {
		c->wake_fd = -1;
		weir_cl_work_failed_(c, &fault);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->armed = true;
	pthread_mutex_unlock(&c->lock);
}
