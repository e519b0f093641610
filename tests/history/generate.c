/* SPDX-License-Identifier: MIT */
/* Generate correct and incorrect histories: generate.h. */
#include "generate.h"

#include <stdlib.h>

#include "check.h"
#include "model.h"

#define CALLERS 8
#define MOMENT 1000		/* stamps between two operations */

typedef struct caller {
	op *current;		/* a call that waits, or null */
	uint64_t free_from;	/* stamp after its last call */
	int held;
} caller;

typedef struct maker {
	model m;
	uint64_t *random;
	history h;
	caller callers[CALLERS];
	uint64_t moment;
	int spread;
} maker;

static uint64_t some(maker *k)
{
	return (uint64_t)random_below(k->random,
				      1 + (int64_t)k->spread * MOMENT);
}

static op *begin(maker *k, int thread, op_kind kind)
{
	op *o = &k->h.ops[k->h.count++];
	uint64_t before = some(k);

	*o = (op){ .kind = kind, .thread = thread, .ctx = NO_CTX,
		   .group = NO_GROUP };
	o->begun = before + 1 < k->moment ? k->moment - before - 1 : 0;
	if (o->begun < k->callers[thread].free_from)
		o->begun = k->callers[thread].free_from;
	return o;
}

static void end(maker *k, op *o, weir_err err, int64_t got)
{
	o->ended = k->moment + 2 + some(k);
	o->err = err;
	o->got = (int)got;
	k->callers[o->thread].free_from = o->ended + 1;
	k->callers[o->thread].current = NULL;
	if (o->kind != OP_RESIZE)
		k->callers[o->thread].held += (int)got;
}

/* End the calls that the current operation has ended. */
static void end_others(maker *k, weir_err cancelled)
{
	for (int i = 0; i < k->m.ends; i++) {
		const model_end *e = &k->m.ended[i];
		weir_err err = e->err == WEIR_ECANCELED ? cancelled : e->err;

		end(k, k->callers[e->id].current, err, e->got);
	}
	k->m.ends = 0;
}

static void acquire(maker *k, int thread)
{
	op *o = begin(k, thread, OP_ACQUIRE);
	int kind = (int)random_below(k->random, 3);
	bool late = kind == 1 && random_below(k->random, 2);
	model_call call = { .id = thread, .ctx = kind == 2 ? thread + 1 : 0 };
	weir_err err;
	int64_t got;

	call.min = o->min = 1 + (int)random_below(k->random, 4);
	call.max = o->max = o->min + (int)random_below(k->random, 3);
	o->deadline = kind == 1 || (kind == 2 && random_below(k->random, 2));
	if (call.ctx)
		o->ctx = (int)(o - k->h.ops);
	err = model_acquire(&k->m, call, WEIR_OK, late, &got);
	if (err != MODEL_WAITS) {
		end(k, o, err, got);
		return;
	}
	o->queued = k->moment + 2 + some(k);
	k->callers[thread].current = o;
}

static void release(maker *k, int thread)
{
	op *o = begin(k, thread, OP_RELEASE);

	o->min = 1 + (int)random_below(k->random, k->callers[thread].held);
	k->callers[thread].held -= o->min;
	end(k, o, model_release(&k->m, o->min), 0);
}

/*
 * End the wait of a random thread, by a cancel or by the deadline of its ctx.
 */
static void end_wait(maker *k, int thread)
{
	int victim = (int)random_below(k->random, CALLERS);
	op *waits = k->callers[victim].current, *o;

	if (!waits || waits->ctx == NO_CTX)
		return;
	model_cancel(&k->m, UINT32_C(1) << (victim + 1));
	if (waits->deadline) {
		end_others(k, WEIR_ETIMEDOUT);
		return;
	}
	o = begin(k, thread, OP_CANCEL);
	o->ctx = waits->ctx;
	end(k, o, WEIR_OK, 0);
	end_others(k, WEIR_ECANCELED);
}

static void resize(maker *k, int thread)
{
	op *o = begin(k, thread, OP_RESIZE);
	int64_t debt;
	weir_err err;

	o->min = 1 + (int)random_below(k->random, 8);
	err = model_resize(&k->m, o->min, &debt);
	end(k, o, err, debt);
}

static void close_it(maker *k, int thread)
{
	op *o = begin(k, thread, OP_CLOSE);

	o->how = random_below(k->random, 2) ? WEIR_CLOSE_NOW : WEIR_CLOSE_DRAIN;
	model_close(&k->m, o->how);
	end(k, o, WEIR_OK, 0);
}

static void query(maker *k, int thread)
{
	op *o = begin(k, thread, OP_STAT);

	o->free = (int)k->m.free;
	o->debt = (int)k->m.debt;
	o->capacity = (int)k->m.capacity;
	o->waiters = k->m.queue.count;
	o->closed = k->m.closed;
	end(k, o, WEIR_OK, 0);
}

static void take_free_permits(maker *k, int thread)
{
	bool all_of_it = !random_below(k->random, 6);
	op *o = begin(k, thread, all_of_it ? OP_DRAIN : OP_TRY);
	model_call all = { .id = thread, .max = WEIR_SEM_MAX };
	weir_err err;
	int64_t got;

	if (all_of_it) {
		err = model_acquire(&k->m, all, WEIR_OK, false, &got);
	} else {
		o->min = o->max = 1 + (int)random_below(k->random, 4);
		err = model_try(&k->m, o->min);
		got = err ? 0 : o->min;
	}
	end(k, o, err, got);
}

static void act(maker *k, int thread, bool last)
{
	int what = (int)random_below(k->random, 20);

	if ((last || what < 10) && k->callers[thread].held) {
		release(k, thread);
	} else if (last) {
		end_wait(k, thread);
	} else if (what < 10 && thread) {
		/*
		 * Thread 0 never waits, so it can end the waits of the others.
		 */
		acquire(k, thread);
	} else if (what < 14) {
		take_free_permits(k, thread);
	} else if (what < 16) {
		end_wait(k, thread);
	} else if (what < 18) {
		query(k, thread);
	} else if (what < 19) {
		resize(k, thread);
	} else if (!random_below(k->random, 20)) {
		close_it(k, thread);
	}
	end_others(k, WEIR_ECANCELED);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = **(uint64_t *const *)left, b = **(uint64_t *const *)right;

	return a < b ? -1 : a > b;
}

/* Number the stamps; equal ones get any order. */
static void number_stamps(history *h)
{
	static uint64_t *stamps[3 * GENERATED_MAX];
	size_t count = 0;

	for (int i = 0; i < h->count; i++) {
		op *o = &h->ops[i];

		if (o->queued >= o->ended)
			o->queued = o->ended - 1;
		stamps[count++] = &o->begun;
		stamps[count++] = &o->ended;
		if (o->queued)
			stamps[count++] = &o->queued;
	}
	qsort(stamps, count, sizeof(stamps[0]), by_value);
	for (size_t i = 0; i < count; i++)
		*stamps[i] = i + 1;
}

/* Returns true if no thread waits and no permit is held. */
static bool is_quiet(const maker *k)
{
	for (int i = 0; i < CALLERS; i++)
		if (k->callers[i].current || k->callers[i].held)
			return false;
	return true;
}

history generate(uint64_t *random, weir_policy policy, int spread, op *ops)
{
	int permits = 1 + (int)random_below(random, 6);
	maker k = { .random = random, .spread = spread };

	k.m = (model){ .capacity = permits, .free = permits,
		       .barging = policy == WEIR_BARGING };
	k.h = (history){ .ops = ops, .permits = permits, .policy = policy };
	while (k.h.count < GENERATED_MAX - 2) {
		int thread = (int)random_below(random, CALLERS);
		bool last = k.h.count > GENERATED_MAX / 2;

		if (last && is_quiet(&k))
			break;
		k.moment += MOMENT;
		if (k.callers[thread].current ||
		    k.callers[thread].free_from >= k.moment)
			continue;
		act(&k, thread, last);
	}
	CHECK(is_quiet(&k));
	number_stamps(&k.h);
	return k.h;
}

static bool spoil_one(op *o, uint64_t *random)
{
	int change = random_below(random, 2) ? 1 : -1;

	switch (o->kind) {
	case OP_TRY:
		if (o->err == WEIR_ECLOSED)
			return false;
		o->err = o->err ? WEIR_OK : WEIR_EAGAIN;
		o->got = o->err ? 0 : o->min;
		return true;
	case OP_ACQUIRE:
		if (o->err || o->got + change < o->min ||
		    o->got + change > o->max)
			return false;
		o->got += change;
		return true;
	case OP_DRAIN:
	case OP_RESIZE:
		if (o->err || o->got + change < 0)
			return false;
		o->got += change;
		return true;
	case OP_STAT:
		if (o->free + change < 0)
			return false;
		o->free += change;
		return true;
	default:
		return false;
	}
}

bool spoil(history *h, uint64_t *random)
{
	for (int i = 0; i < 1000; i++)
		if (spoil_one(&h->ops[random_below(random, h->count)], random))
			return true;
	return false;
}
