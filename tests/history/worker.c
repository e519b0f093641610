/* SPDX-License-Identifier: MIT */
/*
 * A thread of the recorder: it makes random calls and records them.
 *
 * A thread that holds permits never waits without a deadline, so that every
 * waiter is granted eventually.
 */
#include "worker.h"

#include <sched.h>

#include "base/hook.h"
#include "check.h"

worker workers[HISTORY_THREADS];

/* The call in progress on this thread. */
static _Thread_local op *current;
static _Thread_local uint64_t *current_random;
static _Thread_local run *current_run;

static uint64_t draw_stamp(run *r)
{
	return __atomic_fetch_add(&r->stamp, 1, __ATOMIC_ACQ_REL);
}

op *worker_begin(worker *w, op_kind kind)
{
	op *o = &w->log[w->calls++];

	CHECK(w->calls <= CALLS_MAX);
	*o = (op){ .kind = kind, .thread = w->number, .ctx = NO_CTX,
		   .group = NO_GROUP };
	current = o;
	current_random = &w->random;
	current_run = w->run;
	o->begun = draw_stamp(w->run);
	return o;
}

void worker_end(worker *w, op *o, weir_err err)
{
	o->ended = draw_stamp(w->run);
	o->err = err;
	if (!err && (o->kind == OP_ACQUIRE || o->kind == OP_TRY) && !o->got)
		o->got = o->min;
	if (o->kind != OP_RESIZE)
		w->held += o->got;
	if (o->kind == OP_RELEASE)
		w->held -= o->min;
}

static void on_event(const struct weir_event_ *event)
{
	if (event->kind != WEIR_EVENT_QUEUED_)
		return;
	current->queued = draw_stamp(current_run);
	/* Sometimes give other threads time between enqueueing and parking. */
	if (next_random(current_random) % 4 == 0)
		sched_yield();
}

void worker_listen(void)
{
	CHECK(weir_hook_set_(on_event) == NULL);
}

void worker_stop_listening(void)
{
	CHECK(weir_hook_set_(NULL) == on_event);
}

static int weight(worker *w)
{
	return 1 + (int)random_below(&w->random, w->run->shape.heaviest);
}

/* A timeout: from already passed to long enough for a grant. */
static int64_t some_time(worker *w)
{
	static const int64_t most[] = { 1, 3000, 10000, 100000 };

	return random_below(&w->random, most[random_below(&w->random, 4)]) - 1;
}

static void cancel(worker *w, weir_ctx *ctx, int number, int group)
{
	op *o = worker_begin(w, OP_CANCEL);

	o->ctx = number;
	o->group = group;
	weir_ctx_cancel(ctx);
	worker_end(w, o, WEIR_OK);
}

void worker_cancel_group(worker *w, int group)
{
	cancel(w, &w->run->group[group], NO_CTX, group);
}

/* Cancel the newest context of a random thread, or sometimes a whole group. */
static void cancel_random(worker *w)
{
	run *r = w->run;
	int victim = (int)random_below(&w->random, r->shape.workers);
	int made = __atomic_load_n(&workers[victim].contexts, __ATOMIC_ACQUIRE);

	if (!random_below(&w->random, 40))
		worker_cancel_group(w, (int)random_below(&w->random,
							 HISTORY_GROUPS));
	else if (made)
		cancel(w, &workers[victim].ctx[made - 1],
		       victim * CALLS_MAX + made - 1, NO_GROUP);
}

static void acquire(worker *w, int min, int max, weir_ctx *ctx, op *o)
{
	weir_err err;
	int64_t got = 0;

	o->min = min;
	o->max = max;
	if (max == min) {
		err = weir_sem_acquire(&w->run->sem, min, ctx);
	} else {
		err = weir_sem_acquire_upto(&w->run->sem, min, max, ctx, &got);
		o->got = (int)got;
	}
	worker_end(w, o, err);
}

static void acquire_with_ctx(worker *w)
{
	run *r = w->run;
	int made = w->contexts, min = weight(w), max = min;
	int group = (int)random_below(&w->random, HISTORY_GROUPS);
	bool endless = !w->held && random_below(&w->random, 2);
	weir_ctx *ctx = &w->ctx[made];
	op *o;

	CHECK_OK(weir_ctx_init(ctx, &r->group[group], endless ? WEIR_FOREVER :
			       weir_deadline_after(some_time(w))));
	__atomic_store_n(&w->contexts, made + 1, __ATOMIC_RELEASE);
	if (!random_below(&w->random, 16))
		cancel(w, ctx, w->number * CALLS_MAX + made, NO_GROUP);
	if (!random_below(&w->random, 4))
		max += (int)random_below(&w->random, 4);
	if (endless)
		__atomic_add_fetch(&r->endless, 1, __ATOMIC_RELAXED);
	o = worker_begin(w, OP_ACQUIRE);
	o->ctx = w->number * CALLS_MAX + made;
	o->group = group;
	o->deadline = !endless;
	acquire(w, min, max, ctx, o);
	if (endless)
		__atomic_sub_fetch(&r->endless, 1, __ATOMIC_RELAXED);
}

static void acquire_plain(worker *w)
{
	int min = weight(w), max = min;

	if (!random_below(&w->random, 6))
		max += (int)random_below(&w->random, 4);
	acquire(w, min, max, NULL, worker_begin(w, OP_ACQUIRE));
}

static void acquire_for(worker *w)
{
	op *o = worker_begin(w, OP_ACQUIRE);

	o->min = o->max = weight(w);
	o->deadline = true;
	worker_end(w, o, weir_sem_acquire_for(&w->run->sem, o->min,
					      some_time(w)));
}

static void try_acquire(worker *w)
{
	op *o = worker_begin(w, OP_TRY);

	o->min = o->max = weight(w);
	worker_end(w, o, weir_sem_try_acquire(&w->run->sem, o->min));
}

static void drain(worker *w)
{
	op *o = worker_begin(w, OP_DRAIN);
	int64_t got;
	weir_err err = weir_sem_drain(&w->run->sem, &got);

	o->got = (int)got;
	worker_end(w, o, err);
}

static void release(worker *w, int64_t n)
{
	op *o = worker_begin(w, OP_RELEASE);

	o->min = (int)n;
	weir_sem_release(&w->run->sem, n);
	worker_end(w, o, WEIR_OK);
}

static void resize(worker *w)
{
	op *o;
	int64_t debt;
	weir_err err;

	if (!w->run->shape.resizes)
		return;
	o = worker_begin(w, OP_RESIZE);
	o->min = 1 + (int)random_below(&w->random, 16);
	err = weir_sem_resize(&w->run->sem, o->min, &debt);
	o->got = (int)debt;
	worker_end(w, o, err);
}

void worker_close(worker *w, weir_close how)
{
	op *o = worker_begin(w, OP_CLOSE);

	o->how = how;
	weir_sem_close(&w->run->sem, how);
	worker_end(w, o, WEIR_OK);
}

static void query(worker *w)
{
	op *o = worker_begin(w, OP_STAT);
	weir_sem_info info;
	weir_err err = weir_sem_stat(&w->run->sem, &info);

	o->free = (int)info.free;
	o->debt = (int)info.debt;
	o->capacity = (int)info.capacity;
	o->waiters = (int)info.waiters;
	o->granted = (int)info.granted;
	o->closed = info.closed;
	worker_end(w, o, err);
	CHECK_EQ(info.capacity, info.free + info.held + info.granted -
		 info.debt);
}

/* A thread may wait without a deadline only if it holds no permits. */
static void act(worker *w)
{
	int64_t what = random_below(&w->random, 100);

	if (what < (w->held ? 50 : 30)) {
		if (w->held)
			release(w, 1 + random_below(&w->random, w->held));
		else
			acquire_plain(w);
	} else if (what < 60) {
		acquire_for(w);
	} else if (what < 72) {
		if (w->run->shape.contexts)
			acquire_with_ctx(w);
	} else if (what < 84) {
		try_acquire(w);
	} else if (what < 90) {
		if (w->run->shape.contexts)
			cancel_random(w);
	} else if (what < 94) {
		query(w);
	} else if (what < 96) {
		drain(w);
	} else {
		resize(w);
	}
	if (w->held > 8)
		release(w, w->held);
	if (!random_below(&w->random, w->held ? 2 : 8))
		sched_yield();
}

void worker_run(worker *w)
{
	w->held = 0;
	/* act() may make two calls, and the last release needs one. */
	while (w->calls < w->run->shape.calls - 3)
		act(w);
	if (w->held)
		release(w, w->held);
	__atomic_add_fetch(&w->run->finished, 1, __ATOMIC_RELEASE);
}
