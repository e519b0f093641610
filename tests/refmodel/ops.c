/* SPDX-License-Identifier: MIT */
/* The operations, each done to the semaphore and to the model. */
#include "ops.h"

#include <inttypes.h>

static int64_t below(world *w, int64_t limit)
{
	return random_below(&w->random, limit);
}

/* A count: mostly one that fits, sometimes not, now and then nonsense. */
static int64_t some_count(world *w)
{
	int64_t k = below(w, 1000);

	if (k < 2)
		return -1 - below(w, 3);
	if (k < 4)
		return WEIR_SEM_MAX + below(w, 2);
	/* Seldom all of an unbounded one: who waits for that waits long. */
	if (k < (w->m.unbounded ? 5 : 30) && w->m.capacity)
		return w->m.capacity - below(w, 2);
	if (k < 200 && w->m.free)
		return w->m.free;
	return below(w, (w->m.capacity < 12 ? w->m.capacity : 12) + 2);
}

static model_call some_call(world *w, bool range)
{
	model_call call = { .id = -1, .min = some_count(w) };

	call.max = range ? call.min + below(w, 4) : call.min;
	if (range && !below(w, 4))
		call.min = 0;
	if (range && !below(w, 50))
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
static void do_acquire(world *w)
{
	pool_kind kind = (pool_kind)below(w, 3);
	model_call call = some_call(w, kind == POOL_UPTO);
	pool_worker *p = world_idle_worker(w);
	int64_t got = 0, model_got = 0;
	weir_ctx ctx;
	bool late;
	weir_err err;

	call.has_ctx = kind != POOL_UNTIL && below(w, 2);
	if (would_wait(w, call) && p && below(w, 2)) {
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
	else if (below(w, 2))
		err = weir_sem_acquire_until(&w->sem, call.min, below(w, 2));
	else
		err = weir_sem_acquire_for(&w->sem, call.min, -below(w, 2));
	if (call.has_ctx)
		CHECK_OK(weir_ctx_destroy(&ctx));
	EXPECT(w, err, model_acquire(&w->m, call, WEIR_OK, late, &model_got));
	if (kind == POOL_UPTO)
		EXPECT(w, got, model_got);
	world_settle(w, true);
}

/* A wait that ends by its deadline, with nobody else doing anything. */
static void do_timed_wait(world *w)
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

static void do_ended_ctx(world *w)
{
	model_call call = some_call(w, true);
	bool cancelled = below(w, 2);
	weir_err why = cancelled ? WEIR_ECANCELED : WEIR_ETIMEDOUT;
	int64_t got, model_got;
	weir_ctx ctx;

	call.has_ctx = true;
	world_log(w, "ended ctx: %" PRId64, call.min);
	CHECK_OK(weir_ctx_init(&ctx, &w->root, cancelled ? WEIR_FOREVER : 1));
	if (cancelled)
		weir_ctx_cancel(&ctx);
	EXPECT(w, weir_sem_acquire_upto(&w->sem, call.min, call.max, &ctx, &got),
	       model_acquire(&w->m, call, why, false, &model_got));
	EXPECT(w, got, model_got);
	EXPECT(w, weir_sem_wait_idle(&w->sem, &ctx),
	       model_wait_idle(&w->m, call, why));
	CHECK_OK(weir_ctx_destroy(&ctx));
	world_settle(w, true);
}

static void do_try(world *w)
{
	int64_t n = some_count(w);

	world_log(w, "try_acquire %" PRId64, n);
	EXPECT(w, weir_sem_try_acquire(&w->sem, n), model_try(&w->m, n));
	world_settle(w, true);
}

static void do_drain(world *w)
{
	model_call all = { .id = -1, .max = WEIR_SEM_MAX };
	int64_t got, model_got;

	world_log(w, "drain");
	EXPECT(w, weir_sem_drain(&w->sem, &got),
	       model_acquire(&w->m, all, WEIR_OK, false, &model_got));
	EXPECT(w, got, model_got);
	world_settle(w, true);
}

void ops_no_panic(const char *message)
{
	check_fail(__FILE__, __LINE__, "panic: %s", message);
}

static int panics;

static void count_panic(const char *message)
{
	(void)message;
	panics++;
}

void ops_release(world *w, int64_t n)
{
	bool ask = below(w, 2);
	weir_err want = model_release(&w->m, n);

	world_log(w, "%srelease %" PRId64, ask ? "try_" : "", n);
	if (ask) {
		EXPECT(w, weir_sem_try_release(&w->sem, n), want);
	} else {
		panics = 0;
		weir_set_panic_hook(want ? count_panic : ops_no_panic);
		weir_sem_release(&w->sem, n);
		weir_set_panic_hook(ops_no_panic);
		EXPECT(w, panics, want != WEIR_OK);
	}
	/* Who barges takes what it was told of by itself. */
	world_settle(w, !w->m.barging);
}

static void do_resize(world *w)
{
	int64_t n = some_count(w), debt = 0, model_debt = 0;

	/* Large ones change little; go back to where much happens. */
	if (n > 100 && below(w, 4))
		n = below(w, 12);
	world_log(w, "resize %" PRId64, n);
	EXPECT(w, weir_sem_resize(&w->sem, n, &debt),
	       model_resize(&w->m, n, &model_debt));
	EXPECT(w, debt, model_debt);
	world_settle(w, !w->m.barging);
}

static void do_forget(world *w)
{
	int64_t n = some_count(w);

	world_log(w, "forget %" PRId64, n);
	EXPECT(w, weir_sem_forget(&w->sem, n), model_forget(&w->m, n));
	world_settle(w, !w->m.barging);
}

static void do_idle(world *w)
{
	model_call call = { .id = -1, .has_ctx = below(w, 2) };
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

/* Not at once: who is in the queue may not have told its ctx yet. */
static void do_cancel(world *w)
{
	int id = (int)below(w, POOL_SIZE), tries = POOL_SIZE;

	while (tries && !(w->pool[id].busy && w->pool[id].has_ctx)) {
		id = (id + 1) % POOL_SIZE;
		tries--;
	}
	if (!tries)
		return;
	world_log(w, "cancel thread %d", id);
	weir_ctx_cancel(&w->pool[id].ctx);
	model_cancel(&w->m, id);
	world_settle(w, false);
}

void ops_cancel_all(world *w)
{
	world_log(w, "cancel all");
	weir_ctx_cancel(&w->root);
	model_cancel(&w->m, -1);
	world_settle(w, false);
	CHECK_OK(weir_ctx_destroy(&w->root));
	CHECK_OK(weir_ctx_init(&w->root, NULL, WEIR_FOREVER));
}

static void do_destroy_refused(world *w)
{
	if (!w->m.queue.count && !w->m.aside.count)
		return;
	world_log(w, "destroy");
	EXPECT(w, weir_sem_destroy(&w->sem), WEIR_EBUSY);
	world_settle(w, true);
}

void ops_close(world *w, weir_close how)
{
	world_log(w, "close %d", (int)how);
	weir_sem_close(&w->sem, how);
	model_close(&w->m, how);
	world_settle(w, true);
}

void ops_step(world *w)
{
	int64_t k = below(w, 1000);

	if (k < 300)
		do_acquire(w);
	else if (k < 450)
		do_try(w);
	else if (k < 850)
		ops_release(w, some_count(w));
	else if (k < 880)
		do_drain(w);
	else if (k < 920)
		do_resize(w);
	else if (k < 940)
		do_forget(w);
	else if (k < 960)
		do_ended_ctx(w);
	else if (k < 966)
		do_idle(w);
	else if (k < 968)
		do_timed_wait(w);
	else if (k < 990)
		do_cancel(w);
	else if (k < 992)
		ops_cancel_all(w);
	else if (k < 999)
		do_destroy_refused(w);
	else
		ops_close(w, below(w, 4) ? WEIR_CLOSE_DRAIN : WEIR_CLOSE_NOW);
}
