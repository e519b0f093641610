/* SPDX-License-Identifier: MIT */
/*
 * Linearizability by search: is there an order of steps (spec.h), each within
 * its call, that explains every result?
 *
 * The stamps of a history are processed in order.  A call that begins is added
 * to the calls in progress.  When a call returns, it must be complete in the
 * model; if it is not, steps of the calls in progress are tried, depth first,
 * until it is.  Steps are made only when an event needs them (just in time),
 * the likely ones first.  A state that was already seen at the same stamp is
 * not entered again: it is known to fail.  (States are compared by a 64-bit
 * hash.)  Making a step late misses nothing: the step stays possible until its
 * call must be complete, and at that point every step of every call in progress
 * is a choice.
 *
 * The search decides these clauses exactly, against the steps of spec.h, for
 * any number of threads, if it ends within its budget:
 *
 *   C2 C4 C5 C10 C12   the permits each call takes, and which calls wait
 *   C3 C6 C7           FIFO: the grants, their order and their amounts
 *   C11 C21            resize, debt, requests above the capacity
 *   C13 C14 C16        the effects of a call that fails
 *   C19                close, in both ways
 *
 * It checks only a necessary condition for these:
 *
 *   - The number of waiters in stat may omit waiters that later give up.
 *     The number of granted permits is left to interval.c.
 *   - BARGING: that waiters take their permits in order is checked exactly;
 *     that they do so soon is not checked.  If a waiter may be past its bound
 *     (history.overdue), any new request may be refused while a call waits.
 *   - A waiter for min..max gets no more than is free.  It may get less if
 *     another call is in progress: the granting call may have read the value
 *     earlier.
 *   - A deadline may have passed at any moment of a call that reports it.
 *   - A waiter whose ctx ends during a close may report either error.
 *   - Grants that are left to another call (spec.h) are made before that call
 *     returns; the search does not know which call really held the lock.
 *
 * BAD is a proof that no order exists; GOOD means that an order was found.  If
 * neither was established within the budget, or a choice had to be omitted, the
 * verdict is UNDECIDED.
 */
#include "linear.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "spec.h"

#define OPS_MAX 16384
#define EVENTS_MAX (OPS_MAX * 4)
#define FRAMES_MAX 40000
#define SEEN_SIZE (UINT32_C(1) << 20)

enum event_kind {
	CALL_BEGINS,
	CALL_WAITS,	/* it was seen waiting: it has been enqueued */
	CALL_SERVED,	/* its ctx has ended, it succeeds: is granted */
	CALL_GONE,	/* its ctx has ended, it fails: is in no queue */
	CALL_ENDS
};

struct event {
	uint64_t stamp;
	int32_t op;
	enum event_kind kind;
};

/* A choice point: the state and the number of steps already tried. */
struct frame {
	config c;
	int32_t at;
	int32_t tried;
};

struct linear {
	struct event events[EVENTS_MAX];
	ctx_end ends[OPS_MAX];
	struct frame frames[FRAMES_MAX];
	uint64_t seen[SEEN_SIZE];	/* 0: empty */
	uint32_t used[SEEN_SIZE / 2];	/* the slots that are in use */
	uint32_t used_count;
	step steps[STEPS_MAX];
	int event_count;
	int furthest;			/* event that was not explained */
	config stuck;			/* the first state there */
};

linear *linear_new(void)
{
	/*
	 * Populate all pages now, so that memory does not grow during the test.
	 */
	linear *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return l == MAP_FAILED ? NULL : l;
}

void linear_free(linear *l)
{
	munmap(l, sizeof(*l));
}

static void add_text(verdict *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void add_text(verdict *v, const char *format, ...)
{
	size_t length = strlen(v->why);
	va_list args;

	va_start(args, format);
	vsnprintf(v->why + length, sizeof(v->why) - length, format, args);
	va_end(args);
}

static void add_op(verdict *v, const op *o)
{
	char text[300];

	op_show(o, text, sizeof(text));
	add_text(v, "  %s\n", text);
}

static int by_stamp(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	/* Conditions on the return of a cancel come before that return. */
	return (int)a->kind - (int)b->kind;
}

static void add_event(linear *l, uint64_t stamp, int number,
		      enum event_kind kind)
{
	l->events[l->event_count++] = (struct event){ stamp, number, kind };
}

/* Returns false if the history is too long or obviously incorrect. */
static bool prepare(linear *l, const history *h, verdict *v)
{
	l->event_count = 0;
	if (h->count > OPS_MAX) {
		add_text(v, "%d operations are too many\n", h->count);
		v->judgement = UNDECIDED;
		return false;
	}
	history_ctx_ends(h, l->ends);
	for (int i = 0; i < h->count; i++) {
		const op *o = &h->ops[i];
		uint64_t by = l->ends[i].by;

		add_event(l, o->begun, i, CALL_BEGINS);
		add_event(l, o->ended, i, CALL_ENDS);
		/*
		 * C13: with an ended ctx the call would not have been enqueued.
		 */
		if (o->queued)
			add_event(l, o->queued < by ? o->queued : by, i,
				  CALL_WAITS);
		if ((!o->err || o->queued) && by < o->begun) {
			add_text(v, "C13: it waited or succeeded with an ended "
			    "ctx\n");
			add_op(v, o);
			return false;
		}
		if (by > o->begun && by < o->ended)
			add_event(l, by, i, o->err ? CALL_GONE : CALL_SERVED);
	}
	qsort(l->events, (size_t)l->event_count, sizeof(l->events[0]),
	      by_stamp);
	return true;
}

static bool can_pass(const spec *s, const config *c, const struct event *e)
{
	const op *o = &s->h->ops[e->op];
	int t = o->thread;

	switch (e->kind) {
	case CALL_BEGINS:
		return true;
	case CALL_WAITS:
		return c->phase[t] != BEGUN && c->holder != t;
	case CALL_SERVED:
		return c->phase[t] == OVER;
	case CALL_GONE:
		/*
		 * The cancel has taken the granted permits back, unless the
		 * deadline of the ctx had passed before: then the call returns
		 * them itself.
		 */
		return c->phase[t] != QUEUED && c->phase[t] != OVERSIZED &&
		       !(c->phase[t] == TOOK && o->queued &&
			 o->err == WEIR_ECANCELED);
	case CALL_ENDS:
		return spec_can_end(c, t);
	}
	return false;
}

static uint64_t hash(const config *c, int at)
{
	uint64_t h = (uint64_t)at * UINT64_C(0x9e3779b97f4a7c15);
	unsigned char bytes[(sizeof(*c) + 7) / 8 * 8] = { 0 };

	memcpy(bytes, c, sizeof(*c));
	for (size_t i = 0; i < sizeof(bytes); i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h ? h : 1;
}

/* Returns true if this state was seen before; records it otherwise. */
static bool was_here(linear *l, const config *c, int at)
{
	uint64_t key = hash(c, at);
	uint32_t i = (uint32_t)(key >> 40) % SEEN_SIZE;

	for (; l->seen[i]; i = (i + 1) % SEEN_SIZE)
		if (l->seen[i] == key)
			return true;
	l->seen[i] = key;
	l->used[l->used_count++] = i;
	return false;
}

static void forget_all(linear *l)
{
	while (l->used_count)
		l->seen[l->used[--l->used_count]] = 0;
}

/* Process events as long as no step is needed. */
static int pass(const linear *l, spec *s, config *c, int at)
{
	for (; at < l->event_count; at++) {
		const struct event *e = &l->events[at];

		s->now = e->stamp;
		if (!can_pass(s, c, e))
			break;
		if (e->kind == CALL_BEGINS)
			spec_begin(s, c, e->op);
		else if (e->kind == CALL_ENDS)
			spec_end(c, s->h->ops[e->op].thread);
	}
	return at;
}

/*
 * Make the next step of the newest choice point.  Returns false if no choice is
 * left.
 */
static bool next_try(linear *l, spec *s, int *depth, config *c, verdict *v)
{
	while (*depth) {
		struct frame *f = &l->frames[*depth - 1];
		const struct event *e = &l->events[f->at];
		int count;

		s->now = e->stamp;
		count = spec_steps(s, &f->c, s->h->ops[e->op].thread, l->steps);
		while (f->tried < count) {
			memcpy(c, &f->c, sizeof(*c));
			v->steps++;
			if (spec_do(s, c, l->steps[f->tried++]))
				return true;
		}
		--*depth;
	}
	return false;
}

static void search(linear *l, spec *s, uint64_t steps_max, verdict *v)
{
	int depth = 0, at = 0;
	config c;

	spec_start(s, &c);
	for (;;) {
		at = pass(l, s, &c, at);
		if (at == l->event_count) {
			v->judgement = GOOD;
			return;
		}
		if (at > l->furthest) {
			l->furthest = at;
			memcpy(&l->stuck, &c, sizeof(c));
		}
		if (v->steps > steps_max || depth == FRAMES_MAX ||
		    l->used_count == SEEN_SIZE / 2) {
			v->judgement = UNDECIDED;
			return;
		}
		if (!was_here(l, &c, at)) {
			struct frame *f = &l->frames[depth++];

			memcpy(&f->c, &c, sizeof(c));
			f->at = at;
			f->tried = 0;
		}
		if (!next_try(l, s, &depth, &c, v)) {
			v->judgement = s->left_out ? UNDECIDED : BAD;
			return;
		}
		at = l->frames[depth - 1].at;
	}
}

/* Describe where the search got stuck, and the calls in progress. */
static void explain(const linear *l, const history *h, verdict *v)
{
	static const char *const phases[] = { "idle", "begun", "queued",
					      "oversized", "took", "reports",
					      "over" };
	static const char *const needs[] = { "to begin", "to have joined",
					     "to be granted", "to have left",
					     "to return" };
	const struct event *e = &l->events[l->furthest];
	const config *c = &l->stuck;

	if (!l->event_count)
		return;
	add_text(v, "%s after %" PRIu64 " steps.  The search gets "
	    "to stamp %" PRIu64 ", where this call has %s:\n",
	    v->judgement == BAD ? "No order explains it" : "Undecided",
	    v->steps, e->stamp, needs[e->kind]);
	add_op(v, &h->ops[e->op]);
	add_text(v, "value %d, capacity %d, closed %d, holder %d, queue:",
	    c->value, c->capacity, c->closed, c->holder);
	for (int i = 0; i < c->queue_count; i++)
		add_text(v, " %d", c->queue[i]);
	add_text(v, "\nIn progress:\n");
	for (int t = 0; t < HISTORY_THREADS; t++)
		if (c->phase[t] != IDLE) {
			add_text(v, "%-7s", phases[c->phase[t]]);
			add_op(v, &h->ops[c->op[t]]);
		}
	add_text(v, "Before:\n");
	for (int i = l->furthest, shown = 0; i-- > 0 && shown < 12;)
		if (l->events[i].kind == CALL_ENDS) {
			add_op(v, &h->ops[l->events[i].op]);
			shown++;
		}
}

void linear_check(linear *l, const history *h, uint64_t steps_max, verdict *v)
{
	spec s = { .h = h, .ends = l->ends };

	*v = (verdict){ .judgement = BAD };
	l->furthest = 0;
	if (!prepare(l, h, v))
		return;
	search(l, &s, steps_max, v);
	forget_all(l);
	if (v->judgement != GOOD)
		explain(l, h, v);
}
