/* SPDX-License-Identifier: MIT */
/*
 * Linearizability by search: is there an order of steps (spec.h), each within
 * its call, that explains every answer?
 *
 * The stamps of a history are gone through in order.  A call that begins joins
 * those in progress.  When one returns, it must be over; if it is not, steps of
 * the calls in progress are tried, depth first, until it is.  Steps are made
 * only when something needs them (just in time), the likely ones first, and a
 * state that has been seen at the same stamp is not entered again: what follows
 * from it is known to fail.  (States are compared by a 64-bit hash.)  Nothing
 * is missed by making a step late: it stays possible until its call must be
 * over, and there every step of every call in progress is a choice.
 *
 * What it decides exactly, against the steps of spec.h, whatever the number of
 * threads, for histories in which it ends within its budget:
 *
 *   C2 C4 C5 C10 C12   who takes what, and who must wait
 *   C3 C6 C7           FIFO: the grants, their order and their amounts
 *   C11 C21            resize, debt, requests beyond the capacity
 *   C13 C14 C16        what a call that fails leaves behind
 *   C19                close, in both ways
 *
 * What it decides only as a necessary condition:
 *
 *   - The number of waiters that stat tells may miss any that are about to give
 *     up.  How much is granted is left to interval.c.
 *   - BARGING: that waiters take their permits in order is exact; that they do
 *     so soon is not looked at.  If a waiter can be past its bound
 *     (history.overdue), any newcomer may be refused while somebody waits.
 *   - A waiter for min..max gets no more than is free.  It may get less if
 *     another call is at work: the granter may have looked before.
 *   - A deadline may have passed at any moment of a call that says it has.
 *   - A waiter whose ctx ends while a close is at work may answer either.
 *   - Grants that are left to another call (spec.h) are made before that call
 *     returns; which call really had the lock is not known.
 *
 * BAD is a proof that no order exists; GOOD is an order that was found.  If
 * neither was found within the budget, or a choice had to be left out, the
 * answer is UNDECIDED.
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
	CALL_WAITS,	/* it was seen waiting: it has joined */
	CALL_SERVED,	/* its ctx has ended and it succeeds: it has them */
	CALL_GONE,	/* its ctx has ended and it fails: it is in no queue */
	CALL_ENDS
};

struct event {
	uint64_t stamp;
	int32_t op;
	enum event_kind kind;
};

/* A choice: what has been tried from here, of what there is. */
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
	uint32_t used[SEEN_SIZE / 2];	/* which are not */
	uint32_t used_count;
	step steps[STEPS_MAX];
	int event_count;
	int furthest;			/* event that could not be explained */
	config stuck;			/* the first state there */
};

linear *linear_new(void)
{
	/* All pages now, so that the test's own memory does not grow later. */
	linear *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return l == MAP_FAILED ? NULL : l;
}

void linear_free(linear *l)
{
	munmap(l, sizeof(*l));
}

static void say(verdict *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(verdict *v, const char *format, ...)
{
	size_t length = strlen(v->why);
	va_list args;

	va_start(args, format);
	vsnprintf(v->why + length, sizeof(v->why) - length, format, args);
	va_end(args);
}

static void say_op(verdict *v, const op *o)
{
	char text[300];

	op_show(o, text, sizeof(text));
	say(v, "  %s\n", text);
}

static int by_stamp(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->stamp != b->stamp)
		return a->stamp < b->stamp ? -1 : 1;
	/* What must be so when a cancel returns comes before that. */
	return (int)a->kind - (int)b->kind;
}

static void add_event(linear *l, uint64_t stamp, int number,
		      enum event_kind kind)
{
	l->events[l->event_count++] = (struct event){ stamp, number, kind };
}

/* False: no history, or one that is wrong at first sight. */
static bool prepare(linear *l, const history *h, verdict *v)
{
	l->event_count = 0;
	if (h->count > OPS_MAX) {
		say(v, "%d operations are too many\n", h->count);
		v->judgement = UNDECIDED;
		return false;
	}
	history_ctx_ends(h, l->ends);
	for (int i = 0; i < h->count; i++) {
		const op *o = &h->ops[i];
		uint64_t by = l->ends[i].by;

		add_event(l, o->begun, i, CALL_BEGINS);
		add_event(l, o->ended, i, CALL_ENDS);
		/* C13: with an ended ctx it would not have joined. */
		if (o->queued)
			add_event(l, o->queued < by ? o->queued : by, i,
				  CALL_WAITS);
		if ((!o->err || o->queued) && by < o->begun) {
			say(v, "C13: it waited or succeeded with an ended "
			    "ctx\n");
			say_op(v, o);
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
		 * What it was granted the cancel has taken back; unless the
		 * ctx was past its deadline before: then the call does so.
		 */
		return c->phase[t] != QUEUED && c->phase[t] != ASIDE &&
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

/* Whether this state was here before; if not, it was now. */
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

/* Go through the stamps as far as nothing is missing. */
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

/* The next state from the newest choice; false if there is none left. */
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

/* For people: where it ended, and who was about. */
static void explain(const linear *l, const history *h, verdict *v)
{
	static const char *const phases[] = { "idle", "begun", "queued",
					      "oversized", "took", "reports",
					      "over" };
	static const char *const needs[] = { "to begin", "to have joined",
					     "to be served", "to be gone",
					     "to return" };
	const struct event *e = &l->events[l->furthest];
	const config *c = &l->stuck;

	if (!l->event_count)
		return;
	say(v, "%s after %" PRIu64 " steps.  As far as it gets, "
	    "at stamp %" PRIu64 ", this call is %s:\n",
	    v->judgement == BAD ? "No order explains it" : "Undecided",
	    v->steps, e->stamp, needs[e->kind]);
	say_op(v, &h->ops[e->op]);
	say(v, "value %d, capacity %d, closed %d, holder %d, queue:", c->value,
	    c->capacity, c->closed, c->holder);
	for (int i = 0; i < c->queue_count; i++)
		say(v, " %d", c->queue[i]);
	say(v, "\nIn progress:\n");
	for (int t = 0; t < HISTORY_THREADS; t++)
		if (c->phase[t] != IDLE) {
			say(v, "%-7s", phases[c->phase[t]]);
			say_op(v, &h->ops[c->op[t]]);
		}
	say(v, "Before:\n");
	for (int i = l->furthest, shown = 0; i-- > 0 && shown < 12;)
		if (l->events[i].kind == CALL_ENDS) {
			say_op(v, &h->ops[l->events[i].op]);
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
