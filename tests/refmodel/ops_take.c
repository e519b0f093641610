/* SPDX-License-Identifier: MIT */
/* Operations that take permits or wait. */
#include "ops.h"

#include <inttypes.h>

/* A count: mostly one that fits, sometimes not, now and then nonsense. */
int64_t ops_count(world *w)
{
	int64_t k = draw(w, 1000);

	if (k < 2)
		return -1 - draw(w, 3);
	if (k < 4)
		return WEIR_SEM_MAX + draw(w, 2);
	/* Seldom all of an unbounded one: who waits for that waits long. */
	if (k < (w->m.unbounded ? 5 : 30) && w->m.capacity)
		return w->m.capacity - draw(w, 2);
	if (k < 200 && w->m.free)
		return w->m.free;
	return draw(w, (w->m.capacity < 12 ? w->m.capacity : 12) + 2);
}

static model_call some_call(world *w, bool range)
{
	model_call call = { .id = -1, .min = ops_count(w) };

	call.max = range ? call.min + draw(w, 4) : call.min;
	if (range && !draw(w, 4))
		call.min = 0;
	if (range && !draw(w, 50))
		call.max = call.min - 1;
	return call;
}

/* Whether the call would wait, asked of a copy. */
static bool would_wait(const world *w, model_call call)
{
	model copy = w->m;
	int64_t got;

	return model_acquire(&copy, call, WEIR_OK, false, &got) == MODEL_WAITS;
}

/* A call that has to wait, on a thread of the pool. */
static void block(world *w, pool_worker *p, pool_kind kind, model_call call)
{
	int64_t got, entered;
	weir_err err;

	call.id = (int)(p - w->pool);
	call.idle = kind == POOL_IDLE;
	world_log(w, "thread %d: kind %d min %" PRId64 " max %" PRId64 "%s",
		  call.id, (int)kind, call.min, call.max,
		  call.has_ctx ? " ctx" : "");
	p->sem = &w->sem;
	p->kind = kind;
	p->min = call.min;
	p->max = call.max;
	p->has_ctx = call.has_ctx;
	if (call.has_ctx)
		CHECK_OK(weir_ctx_init(&p->ctx, &w->root, WEIR_FOREVER));
	err = call.idle ? model_wait_idle(&w->m, call, WEIR_OK) :
			  model_acquire(&w->m, call, WEIR_OK, false, &got);
	CHECK_EQ(err, MODEL_WAITS);
	pool_run(p);
	world_settle(w, false);
	/* In the queue since before now: let the bound, 1 us, pass. */
	entered = weir_now_ns();
	while (w->overdue && weir_now_ns() < entered + 2000)
		;
}

/* One of the calls that wait only if they must.  The model knows whether. */
void ops_acquire(world *w)
{
	pool_kind kind = (pool_kind)draw(w, 3);
	model_call call = some_call(w, kind == POOL_UPTO);
	pool_worker *p = world_idle_worker(w);
	int64_t got = 0, model_got = 0;
	weir_ctx ctx;
	bool late;
	weir_err err;

	call.has_ctx = kind != POOL_UNTIL && draw(w, 2);
	if (would_wait(w, call) && p && draw(w, 2)) {
		block(w, p, kind, call);
		return;
	}
	/* Not to wait: a plain deadline in the past. */
	if (would_wait(w, call)) {
		kind = POOL_UNTIL;
		call.has_ctx = false;
		call.max = call.min;
	}
	late = kind == POOL_UNTIL;
	world_log(w, "acquire: kind %d min %" PRId64 " max %" PRId64 "%s",
		  (int)kind, call.min, call.max, call.has_ctx ? " ctx" : "");
	if (call.has_ctx)
		CHECK_OK(weir_ctx_init(&ctx, &w->root, WEIR_FOREVER));
	if (kind == POOL_UPTO)
		err = weir_sem_acquire_upto(&w->sem, call.min, call.max,
					    call.has_ctx ? &ctx : NULL, &got);
	else if (kind == POOL_ACQUIRE)
		err = weir_sem_acquire(&w->sem, call.min,
				       call.has_ctx ? &ctx : NULL);
	else if (draw(w, 2))
		err = weir_sem_acquire_until(&w->sem, call.min, draw(w, 2));
	else
		err = weir_sem_acquire_for(&w->sem, call.min, -draw(w, 2));
	if (call.has_ctx)
		CHECK_OK(weir_ctx_destroy(&ctx));
	EXPECT(w, err, model_acquire(&w->m, call, WEIR_OK, late, &model_got));
	if (kind == POOL_UPTO)
		EXPECT(w, got, model_got);
	world_settle(w, true);
}

/* A wait that ends by its deadline, with nobody else doing anything. */
void ops_timed_wait(world *w)
{
	model_call call = some_call(w, false);
	int64_t got;
	weir_err err;

	world_log(w, "timed wait: %" PRId64, call.min);
	err = weir_sem_acquire_for(&w->sem, call.min, 20000);
	/* It came and went: to the model it was late at once. */
	EXPECT(w, err, model_acquire(&w->m, call, WEIR_OK, true, &got));
	world_settle(w, !w->m.barging);
}

void ops_ended_ctx(world *w)
{
	model_call call = some_call(w, true);
	bool cancelled = draw(w, 2);
	weir_err why = cancelled ? WEIR_ECANCELED : WEIR_ETIMEDOUT;
	int64_t got, model_got;
	weir_ctx ctx;

	call.has_ctx = true;
	world_log(w, "ended ctx: %" PRId64, call.min);
	CHECK_OK(weir_ctx_init(&ctx, &w->root, cancelled ? WEIR_FOREVER : 1));
	if (cancelled)
		weir_ctx_cancel(&ctx);
	EXPECT(w,
	       weir_sem_acquire_upto(&w->sem, call.min, call.max, &ctx, &got),
	       model_acquire(&w->m, call, why, false, &model_got));
	EXPECT(w, got, model_got);
	EXPECT(w, weir_sem_wait_idle(&w->sem, &ctx),
	       model_wait_idle(&w->m, call, why));
	CHECK_OK(weir_ctx_destroy(&ctx));
	world_settle(w, true);
}

void ops_try(world *w)
{
	int64_t n = ops_count(w);

	world_log(w, "try_acquire %" PRId64, n);
	EXPECT(w, weir_sem_try_acquire(&w->sem, n), model_try(&w->m, n));
	world_settle(w, true);
}

void ops_drain(world *w)
{
	model_call all = { .id = -1, .max = WEIR_SEM_MAX };
	int64_t got, model_got;

	world_log(w, "drain");
	EXPECT(w, weir_sem_drain(&w->sem, &got),
	       model_acquire(&w->m, all, WEIR_OK, false, &model_got));
	EXPECT(w, got, model_got);
	world_settle(w, true);
}

void ops_idle(world *w)
{
	model_call call = { .id = -1, .has_ctx = draw(w, 2) };
	pool_worker *p = world_idle_worker(w);

	if (w->m.unbounded || !w->m.held) {
		world_log(w, "wait_idle");
		EXPECT(w, weir_sem_wait_idle(&w->sem, NULL),
		       model_wait_idle(&w->m, call, WEIR_OK));
		world_settle(w, true);
	} else if (p) {
		block(w, p, POOL_IDLE, call);
	}
}
