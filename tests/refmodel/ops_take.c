/* SPDX-License-Identifier: MIT */
/* Operations that take permits or wait. */
#include "ops.h"

#include <inttypes.h>

/*
 * A random count: usually one that fits, sometimes too large, rarely invalid.
 */
int64_t ops_count(world *w)
{
	static const int64_t nonsense[] = { -1, -2, INT64_MIN, INT64_MAX };
	int64_t k = draw(w, 256);

	if (k < 1)
		return nonsense[draw(w, 4)];
	if (k < 2)
		return WEIR_SEM_MAX - 1 + draw(w, 3);
	/*
	 * Rarely all permits of an unbounded semaphore: such a wait would be
	 * long.
	 */
	if (k < (w->m.unbounded ? 3 : 10) && w->m.capacity)
		return w->m.capacity - k % 2;
	if (k < 50 && w->m.free)
		return w->m.free;
	return k % ((w->m.capacity < 12 ? w->m.capacity : 12) + 2);
}

static model_call some_call(world *w, bool range)
{
	model_call call = { .id = -1, .min = ops_count(w) };

	call.max = call.min;
	/* An invalid count stays as it is. */
	if (range && call.min >= 0 && call.min <= WEIR_SEM_MAX) {
		int64_t k = draw(w, 256);

		call.max += k % 4;
		if (k / 4 % 4 == 0)
			call.min = 0;
		if (k > 250)
			call.max = call.min - 1;
	}
	return call;
}

bool ops_would_wait(world *w, model_call call)
{
	model copy = w->m;
	int64_t got;

	return model_acquire(&copy, call, tree_err(&w->scene->tree, call.ctx),
			     false, &got) == MODEL_WAITS;
}

static void send(world *w, pool_worker *p, pool_kind kind, model_call call)
{
	p->sem = w->sem;
	p->kind = kind;
	p->min = call.min;
	p->max = call.max;
	p->ctx = tree_ctx(&w->scene->tree, call.ctx);
	p->ctx_number = call.ctx;
	pool_run(p);
}

/* Wait until every queued waiter is past a bound of 1 us. */
static void let_bound_pass(const world *w)
{
	int64_t entered = weir_now_ns();

	while (w->overdue && weir_now_ns() < entered + 2000)
		;
}

void ops_block(world *w, pool_worker *p, pool_kind kind, model_call call)
{
	weir_err err = MODEL_WAITS;
	int64_t got;

	call.id = (int)(p - w->pool);
	call.idle = kind == POOL_IDLE;
	world_log(w, "thread %d: kind %d min %" PRId64 " max %" PRId64
		  " ctx %d", call.id, (int)kind, call.min, call.max, call.ctx);
	if (call.idle)
		err = model_wait_idle(&w->m, call, WEIR_OK);
	else if (kind != POOL_END)
		err = model_acquire(&w->m, call, WEIR_OK, false, &got);
	CHECK_EQ(err, MODEL_WAITS);
	send(w, p, kind, call);
	world_settle(w, false);
	let_bound_pass(w);
}

/* Make a call that does not wait, according to the model. */
static weir_err call_now(world *w, pool_kind kind, model_call call,
			 int64_t *got)
{
	weir_ctx *ctx = tree_ctx(&w->scene->tree, call.ctx);
	weir_err err;

	if (kind == POOL_UPTO)
		return weir_sem_acquire_upto(w->sem, call.min, call.max, ctx,
					     got);
	if (kind == POOL_ACQUIRE)
		err = weir_sem_acquire(w->sem, call.min, ctx);
	else if (draw(w, 2))
		err = weir_sem_acquire_until(w->sem, call.min, draw(w, 2));
	else
		err = weir_sem_acquire_for(w->sem, call.min, -draw(w, 2));
	*got = err ? 0 : call.min;
	return err;
}

/* One of the calls that wait only if necessary; the model decides whether. */
void ops_acquire(world *w)
{
	/*
	 * One draw for all choices, so that a fuzzer's input is used sparingly.
	 */
	int64_t how = draw(w, 32);
	pool_kind kind = (pool_kind)(how % 4);
	bool with_ctx = how / 4 % 2, willing = how / 8;
	model_call call = some_call(w, kind == POOL_UPTO);
	pool_worker *p = world_idle_worker(w);
	int64_t got = 0, model_got = 0;

	if (kind != POOL_UNTIL && with_ctx)
		call.ctx = ops_pick_ctx(w);
	if (ops_would_wait(w, call)) {
		if (p && willing) {
			ops_block(w, p, kind, call);
			return;
		}
		/* Do not wait: use a plain deadline in the past. */
		kind = POOL_UNTIL;
		call.ctx = 0;
		call.max = call.min;
	}
	/* On the driver's thread permits are tested by ops_permit.c. */
	if (kind == POOL_PERMIT)
		kind = POOL_ACQUIRE;
	world_log(w, "acquire: kind %d min %" PRId64 " max %" PRId64 " ctx %d",
		  (int)kind, call.min, call.max, call.ctx);
	EXPECT(w, call_now(w, kind, call, &got),
	       model_acquire(&w->m, call, tree_err(&w->scene->tree, call.ctx),
			     kind == POOL_UNTIL, &model_got));
	EXPECT(w, got, model_got);
	world_settle(w, true);
}

/* A wait that ends by its deadline, without any other activity. */
void ops_timed_wait(world *w)
{
	model_call call = some_call(w, false);
	int64_t got;
	weir_err err;

	world_log(w, "timed wait: %" PRId64, call.min);
	err = weir_sem_acquire_for(w->sem, call.min, 20000);
	/* To the model the deadline had already passed at the call. */
	EXPECT(w, err, model_acquire(&w->m, call, WEIR_OK, true, &got));
	world_settle(w, !w->m.barging);
}

/*
 * C7: one thread waits with a deadline, another queues behind it, and the
 * deadline passes.  The first wait leaves no trace, so the second is where it
 * would be without it, even if the first had already returned.
 */
void ops_late_head(world *w)
{
	model_call late = some_call(w, false), next = some_call(w, false);
	pool_worker *first = world_idle_worker(w), *second;
	int64_t got, started = 0;
	weir_err err;

	/*
	 * With max_waiters the result of the second call would not be
	 * deterministic.
	 */
	if (!first || w->m.max_waiters || !ops_would_wait(w, late))
		return;
	first->busy = true;
	second = world_idle_worker(w);
	first->busy = false;
	if (!second)
		return;
	world_log(w, "late head: %" PRId64 ", then %" PRId64, late.min,
		  next.min);
	send(w, first, POOL_FOR, late);
	while (waiters_of(w->sem) == (uint32_t)w->m.queue.count &&
	       !pool_done(first))
		world_nap(w, "the first thread waits", &started);
	send(w, second, POOL_UNTIL, next);
	while (!pool_done(first))
		world_nap(w, "the first thread has timed out", &started);
	EXPECT(w, first->err, WEIR_ETIMEDOUT);
	first->busy = false;
	next.id = (int)(second - w->pool);
	err = model_acquire(&w->m, next, WEIR_OK, false, &got);
	if (err != MODEL_WAITS)
		model_end_call(&w->m, next.id, err, got);
	world_settle(w, false);
	let_bound_pass(w);
}

/* Calls with a context that ended before the call. */
void ops_ended_ctx(world *w)
{
	model_call call = some_call(w, true);
	bool cancelled = draw(w, 2);
	weir_err why = cancelled ? WEIR_ECANCELED : WEIR_ETIMEDOUT;
	int64_t got, model_got;
	weir_ctx ctx;

	world_log(w, "ended ctx: %" PRId64, call.min);
	CHECK_OK(weir_ctx_init(&ctx, NULL, cancelled ? WEIR_FOREVER : 1));
	if (cancelled)
		weir_ctx_cancel(&ctx);
	EXPECT(w,
	       weir_sem_acquire_upto(w->sem, call.min, call.max, &ctx, &got),
	       model_acquire(&w->m, call, why, false, &model_got));
	EXPECT(w, got, model_got);
	EXPECT(w, weir_sem_wait_idle(w->sem, &ctx),
	       model_wait_idle(&w->m, call, why));
	CHECK_OK(weir_ctx_destroy(&ctx));
	world_settle(w, true);
}

void ops_try(world *w)
{
	int64_t n = ops_count(w);

	world_log(w, "try_acquire %" PRId64, n);
	EXPECT(w, weir_sem_try_acquire(w->sem, n), model_try(&w->m, n));
	world_settle(w, true);
}

void ops_drain(world *w)
{
	model_call all = { .id = -1, .max = WEIR_SEM_MAX };
	int64_t got, model_got;

	world_log(w, "drain");
	EXPECT(w, weir_sem_drain(w->sem, &got),
	       model_acquire(&w->m, all, WEIR_OK, false, &model_got));
	EXPECT(w, got, model_got);
	world_settle(w, true);
}

void ops_idle(world *w)
{
	model_call call = { .id = -1 };
	pool_worker *p = world_idle_worker(w);
	weir_err why;

	if (draw(w, 2))
		call.ctx = ops_pick_ctx(w);
	why = tree_err(&w->scene->tree, call.ctx);
	if (w->m.unbounded || !w->m.held || why) {
		world_log(w, "wait_idle ctx %d", call.ctx);
		EXPECT(w,
		       weir_sem_wait_idle(w->sem,
					  tree_ctx(&w->scene->tree, call.ctx)),
		       model_wait_idle(&w->m, call, why));
		world_settle(w, true);
	} else if (p) {
		ops_block(w, p, POOL_IDLE, call);
	}
}
