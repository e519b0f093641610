/* SPDX-License-Identifier: MIT */
/* Requests of a handle: the table, and their phases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

weir_lease *weir_cl_request_new_(weir_cluster *c, int64_t min, int64_t max,
				 unsigned flags)
{
	weir_sem_opts opts = { .flags = WEIR_SEM_UNBOUNDED };
	weir_lease *l = calloc(1, sizeof(*l));
	weir_lease **bucket;

	if (!l)
		return NULL;
	if (c->interruptible)
		opts.flags |= WEIR_SEM_INTERRUPTIBLE;
	/* This cannot fail: the options are valid. */
	(void)!weir_sem_init_opts(&l->decided, &opts);
	l->cluster = c;
	l->min = min;
	l->max = max;
	l->flags = flags | ASK_FRESH;
	l->lost_fd = -1;
	l->renew_at = NEVER;
	pthread_mutex_lock(&c->lock);
	l->number = ++c->last_number;
	(void)snprintf(l->id, sizeof(l->id), "%s.%llx", c->session.id,
		       (unsigned long long)l->number);
	bucket = &c->buckets[l->number % BUCKETS];
	l->next_in_bucket = *bucket;
	*bucket = l;
	l->next = c->first;
	if (c->first)
		c->first->prev = l;
	c->first = l;
	pthread_mutex_unlock(&c->lock);
	return l;
}

/*
 * Orders QUEUED requests: first the requests that had a place in the engine's
 * queue before the engine lost its data, by that place; then the others, in the
 * order in which they were submitted.
 */
static bool is_before(const weir_lease *a, const weir_lease *b)
{
	if (a->ticket && b->ticket)
		return a->ticket < b->ticket;
	return a->ticket || b->ticket ? a->ticket > 0 : a->number < b->number;
}

static void queue_add(weir_cluster *c, weir_lease *l)
{
	weir_lease *before = c->last_queued;

	while (before && is_before(l, before))
		before = before->prev_queued;
	l->prev_queued = before;
	l->next_queued = before ? before->next_queued : c->first_queued;
	*(before ? &before->next_queued : &c->first_queued) = l;
	*(l->next_queued ? &l->next_queued->prev_queued : &c->last_queued) = l;
}

static void queue_remove(weir_cluster *c, const weir_lease *l)
{
	*(l->prev_queued ? &l->prev_queued->next_queued : &c->first_queued) =
		l->next_queued;
	*(l->next_queued ? &l->next_queued->prev_queued : &c->last_queued) =
		l->prev_queued;
}

static void set_phase(weir_lease *l, enum phase phase)
{
	if (l->phase == WAITING)
		l->cluster->waiting--;
	if (phase == WAITING)
		l->cluster->waiting++;
	if (l->phase == QUEUED)
		queue_remove(l->cluster, l);
	if (phase == QUEUED)
		queue_add(l->cluster, l);
	l->phase = phase;
	l->changes++;
}

void weir_cl_request_phase_(weir_lease *l, enum phase phase)
{
	set_phase(l, phase);
}

void weir_cl_request_free_(weir_lease *l)
{
	weir_cluster *c = l->cluster;
	weir_lease **link;

	pthread_mutex_lock(&c->lock);
	set_phase(l, LEAVING);
	if (l->stray)
		weir_cl_request_withdraw_(c, l->id);
	link = &c->buckets[l->number % BUCKETS];
	while (*link != l)
		link = &(*link)->next_in_bucket;
	*link = l->next_in_bucket;
	if (l->prev)
		l->prev->next = l->next;
	else
		c->first = l->next;
	if (l->next)
		l->next->prev = l->prev;
	while (l->in_callback)
		pthread_cond_wait(&c->callback_done, &c->lock);
	if (l->lost_fd >= 0)
		close(l->lost_fd);
	pthread_mutex_unlock(&c->lock);
	free(l);
}

weir_lease *weir_cl_request_find_(weir_cluster *c, const char *id)
{
	const char *dot = strchr(id, '.');
	uint64_t number;
	weir_lease *l;

	if (!dot)
		return NULL;
	number = strtoull(dot + 1, NULL, 16);
	l = c->buckets[number % BUCKETS];
	while (l && strcmp(l->id, id))
		l = l->next_in_bucket;
	return l;
}

static weir_err error_of(enum state state)
{
	switch (state) {
	case S_IDLE:
		return WEIR_OK;
	case S_CLOSED:
		return WEIR_ECLOSED;
	case S_TOOBIG:
		return WEIR_ETOOBIG;
	case S_BUSY:
		return WEIR_EAGAIN;
	default:
		return WEIR_EINVAL;
	}
}

void weir_cl_request_decide_(weir_lease *l, const struct answer *answer,
			     int64_t sent)
{
	if (answer->state != S_HELD) {
		weir_cl_request_fail_(l, error_of(answer->state));
		return;
	}
	if (answer->since && answer->since < sent)
		sent = answer->since;
	l->weight = answer->weight;
	l->fence = answer->fence;
	l->ticket = answer->ticket;
	l->confirmed = sent;
	l->renew_at = sent + l->cluster->session.ttl_ns / 3;
	set_phase(l, HELD);
	weir_cl_thread_at_(l->cluster, l->renew_at);
	weir_sem_release(&l->decided, 1);
}

void weir_cl_request_fail_(weir_lease *l, weir_err err)
{
	l->err = err;
	l->renew_at = NEVER;
	set_phase(l, DECIDED);
	weir_sem_release(&l->decided, 1);
}

void weir_cl_request_waits_(weir_lease *l, const struct answer *answer,
			    int64_t sent)
{
	weir_cluster *c = l->cluster;

	if (answer->since && answer->since < sent)
		sent = answer->since;
	if (l->phase != WAITING)
		set_phase(l, WAITING);
	l->place = answer->place;
	l->ticket = answer->ticket;
	l->confirmed = sent;
	l->renew_at = sent + c->session.ttl_ns / 3;
	/*
	 * If a holder has died, then its permits are granted by the next call
	 * after the expiry of its lease.  The first waiters make that call in
	 * time; the other waiters renew later.
	 */
	if (answer->next_us && answer->place >= 1 && answer->place <= 8) {
		int64_t at = sent + answer->next_us * 1000 +
			     1000000 + answer->place * 2000000;

		if (at < l->renew_at)
			l->renew_at = at;
	}
	if (l->woken)
		l->renew_at = sent;
	l->woken = false;
	weir_cl_thread_at_(c, l->renew_at);
}

struct ask weir_cl_request_ask_(const weir_lease *l)
{
	return (struct ask){ .id = l->id, .min = l->min, .max = l->max,
			     .flags = l->flags };
}

/* The analyser of gcc 12 does not follow the pointer into the list. */
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif
void weir_cl_request_withdraw_(weir_cluster *c, const char id[ID_SIZE])
{
	struct withdrawal *w = malloc(sizeof(*w));

	/*
	 * Not withdrawn: then the engine forgets the request after its TTL; with
	 * renews_all, when the handle has no other request.
	 */
	if (!w)
		return;
	memcpy(w->id, id, sizeof(w->id));
	w->until = c->ops->renews_all ? NEVER : boot_now() +
		   c->session.ttl_ns + c->session.timeout_ns;
	w->next = c->withdrawals;
	c->withdrawals = w;
	weir_cl_thread_kick_(c);
}
#pragma GCC diagnostic pop
