/* SPDX-License-Identifier: MIT */
/*
 * Operations that borrow from a pool.  Each way to grant an operation meets
 * each way to end it; the resource is lent, or goes to the next borrower.
 */
#include "base/atomic.h"
#include "pattern/pool.h"
#include "pattern_scenario.h"
#include "weir/loop.h"
#include "weir/pool_async.h"

static weir_pool pool;
static weir_pool_item places[2];
static weir_pool_item *held;		/* lent to the setup */
static weir_ctx ctx;
static weir_loop loop;
static int created, destroyed, lent[16];
static uint32_t cancelled;		/* the cancel of ctx has returned */
static bool too_late;			/* `cancelled` when create ended */
static uint32_t a_ended;
static uint64_t resources[16];

/* weir_now_ns lets other threads run in the middle of a callback. */
static weir_err create(void *user, struct weir_ctx *until, void **resource)
{
	int which;

	(void)user;
	(void)until;
	EX_ASSERT(created - destroyed < pool.opts_.max);
	which = ++created;
	(void)weir_now_ns();
	*resource = &resources[which];
	/* The cancel happens before this, so its end must be visible. */
	too_late = at_load_acquire(&cancelled);
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	ex_touch(resource, sizeof(resources[0]), true);
	EX_ASSERT(++*(uint64_t *)resource == 1);
	(void)weir_now_ns();
	destroyed++;
}

struct call {
	weir_pool_op op;
	int ran;		/* times it ended */
	weir_err err;		/* its result; WEIR_EBUSY: cancelled */
	bool gone;
};

static struct call a, b;

static void use(weir_pool_item *item)
{
	int which = (int)((uint64_t *)item->resource - resources);

	EX_ASSERT(lent[which]++ == 0);
	ex_touch(item->resource, sizeof(resources[0]), true);
	EX_ASSERT(*(uint64_t *)item->resource == 0);
	EX_ASSERT(--lent[which] == 0);
	weir_pool_give_back(&pool, item);
}

static void ended(struct call *c, weir_err err, weir_pool_item *item)
{
	EX_ASSERT(c->ran++ == 0 && !c->gone);
	EX_ASSERT(err == WEIR_OK || !item);
	c->err = err;
	if (!err)
		use(item);
}

static void callback(weir_pool_op *op, weir_err err, weir_pool_item *item,
		     void *user)
{
	struct call *c = user;

	EX_ASSERT(op == &c->op);
	ended(c, err, item);
	if (c == &a)
		ex_set(&a_ended);
}

static void submit_in(struct call *c, struct weir_ctx *until)
{
	weir_pool_item *item;
	weir_err err = weir_pool_op_borrow(&c->op, &pool, NULL, until, &item);

	if (err != WEIR_EQUEUED)
		ended(c, err, item);
}

static void reset(weir_loop *on)
{
	EX_ASSERT(weir_pool_init(&pool, places, &(weir_pool_opts){
		.max = 1, .create = create, .destroy = destroy }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_loop_init(&loop) == WEIR_OK);
	weir_pool_op_init(&a.op, on, callback, &a);
	weir_pool_op_init(&b.op, NULL, callback, &b);
	EX_ASSERT(weir_pool_try_borrow(&pool, NULL, &held) == WEIR_OK);
}

static void lent_out(void)
{
	reset(NULL);
}

static void lent_out_on_loop(void)
{
	reset(&loop);
}

static void queued(void)
{
	reset(NULL);
	submit_in(&a, NULL);
}

static void queued_on_loop(void)
{
	reset(&loop);
	submit_in(&a, NULL);
}

static void give_back(void)
{
	weir_pool_give_back(&pool, held);
}

static void discard(void)
{
	weir_pool_discard(&pool, held);
}

static void submit_a(void)
{
	submit_in(&a, NULL);
}

static void submit_b(void)
{
	submit_in(&b, NULL);
}

static void borrow(void)
{
	weir_pool_item *item;

	EX_ASSERT(weir_pool_borrow(&pool, NULL, NULL, &item) == WEIR_OK);
	use(item);
}

static void a_once(void)
{
	weir_pool_info info;

	EX_ASSERT(a.ran == 1);
	check_calm(&pool.permits_);
	EX_ASSERT(weir_pool_stat(&pool, &info) == WEIR_OK);
	EX_ASSERT(info.lent == 0 && info.waiters == 0);
	EX_ASSERT(info.created - info.destroyed == info.idle);
	EX_ASSERT(created - destroyed == info.idle);
	EX_ASSERT(weir_sem_available(&pool.permits_) == pool.opts_.max);
	EX_ASSERT(weir_loop_destroy(&loop) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
}

static void a_ok(void)
{
	EX_ASSERT(a.err == WEIR_OK);
	a_once();
}

static void both_ok(void)
{
	EX_ASSERT(b.ran == 1 && b.err == WEIR_OK);
	a_ok();
}

/*
 * C35, C7: the callback runs on the thread that gives back; after a discard
 * that thread creates the new resource.
 */
SCENARIO(pool_op_meets_give_back, 3, lent_out, a_ok, submit_a, give_back)
SCENARIO(pool_op_two_meet_broken, 2, lent_out, both_ok, submit_a, submit_b,
	 discard)
/* C3: an operation and a thread in one queue. */
SCENARIO(pool_op_and_thread, 2, lent_out, a_ok, submit_a, borrow, give_back)

/* C35: the cancel succeeds, or the callback has run or will run. */
static void cancel_a(void)
{
	weir_err err = weir_pool_op_cancel(&a.op);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err) {
		a.ran++;
		a.err = WEIR_EBUSY;
		a.gone = true;
	} else {
		ex_await(&a_ended);
	}
	ex_free(&a.op, sizeof(a.op));
}

SCENARIO(pool_op_cancel_meets_turn, 3, queued, a_once, cancel_a, give_back)
SCENARIO(pool_op_cancel_meets_create, 3, queued, a_once, cancel_a,
	 discard)

/*
 * C35: the free of weir/heap.h.  While the resource is created, the operation is
 * needed; after a free that succeeds, it is not accessed any more.
 */
static void free_a(void)
{
	weir_err err = weir_pool_op_end_(&a.op);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (err)
		ex_await(&a_ended);
	ex_free(&a.op, sizeof(a.op));
}

static void a_at_most_once(void)
{
	EX_ASSERT(a.ran <= 1);
	a.ran = 1;
	a_once();
}

SCENARIO(pool_op_free_meets_create, 3, queued, a_at_most_once, free_a, discard)
/* C7: a resource that the cancelled operation does not take goes to b. */
static void b_ok(void)
{
	EX_ASSERT(b.ran == 1 && b.err == WEIR_OK);
	a_once();
}
SCENARIO(pool_op_cancel_grants_next, 2, queued, b_ok, cancel_a, submit_b,
	 give_back)

static void dispatch(void)
{
	for (int i = 0; i < 2; i++)
		(void)weir_loop_dispatch(&loop);
}

static void cancel_only(void)
{
	weir_err err = weir_pool_op_cancel(&a.op);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err) {
		a.ran++;
		a.err = WEIR_EBUSY;
		a.gone = true;
	}
}
SCENARIO(pool_op_cancel_meets_dispatch, 2, queued_on_loop, a_once, cancel_only,
	 dispatch, give_back)

/* Dispatch only while the descriptor is readable, as epoll would. */
static void run_until_ended(void)
{
	while (!a.ran) {
		while (!__atomic_load_n(&ex_event, __ATOMIC_ACQUIRE))
			ex_yield();
		(void)weir_loop_dispatch(&loop);
	}
}

/* C19, C20: the operation ends, whether decided before the close or after. */
static void close_and_wait(void)
{
	weir_pool_close(&pool);
	EX_ASSERT(weir_pool_wait_idle(&pool, NULL) == WEIR_OK);
	EX_ASSERT(created == destroyed);
}

static void all_destroyed(void)
{
	a_once();
	EX_ASSERT(created == destroyed);
}
SCENARIO(pool_op_close_meets_turn, 2, lent_out, all_destroyed, submit_a,
	 give_back, close_and_wait)
SCENARIO(pool_op_close_meets_create, 2, queued, all_destroyed, discard,
	 close_and_wait)
SCENARIO(pool_op_close_meets_cancel, 2, queued, all_destroyed, cancel_only,
	 give_back, close_and_wait)
SCENARIO(pool_op_close_meets_decided, 2, queued_on_loop, all_destroyed,
	 cancel_only, give_back, close_and_wait)
SCENARIO(pool_op_close_meets_loop, 2, queued_on_loop, all_destroyed,
	 run_until_ended, give_back, close_and_wait)

/* C13: a resource created after the cancel had returned is not lent. */
static void cancel_ctx(void)
{
	weir_ctx_cancel(&ctx);
	ex_set(&cancelled);
}

static void callback_in_ctx(weir_pool_op *op, weir_err err,
			    weir_pool_item *item, void *user)
{
	EX_ASSERT(err == WEIR_ECANCELED || (err == WEIR_OK && !too_late));
	callback(op, err, item, user);
}

static void queued_in_ctx(void)
{
	reset(NULL);
	weir_pool_op_init(&a.op, NULL, callback_in_ctx, &a);
	submit_in(&a, &ctx);
}

SCENARIO(pool_op_ctx_meets_create, 3, queued_in_ctx, a_once, discard,
	 cancel_ctx)

/* C14: the deadline passes while the operation is granted. */
static void submit_late_and_run(void)
{
	weir_pool_item *item;
	weir_err err = weir_pool_op_borrow_until(
		&a.op, &pool, NULL, weir_deadline_after(1000), &item);

	if (err != WEIR_EQUEUED)
		ended(&a, err, item);
	ex_clock_advance(2000);
	(void)weir_loop_dispatch(&loop);
	run_until_ended();
	EX_ASSERT(a.err == WEIR_OK || a.err == WEIR_ETIMEDOUT);
}
SCENARIO(pool_op_deadline_meets_turn, 3, lent_out_on_loop, a_once,
	 submit_late_and_run, give_back)

/*
 * C27: permits are released while a trim tries to acquire one, so the trim
 * grants them.  It runs the callbacks without holding a lock.
 */
static weir_pool_item *also_held;

static void two_queued(void)
{
	EX_ASSERT(weir_pool_init(&pool, places, &(weir_pool_opts){
		.max = 2, .create = create, .destroy = destroy,
		.idle_ns = 1 }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_loop_init(&loop) == WEIR_OK);
	weir_pool_op_init(&a.op, NULL, callback, &a);
	weir_pool_op_init(&b.op, NULL, callback, &b);
	EX_ASSERT(weir_pool_try_borrow(&pool, NULL, &held) == WEIR_OK);
	EX_ASSERT(weir_pool_try_borrow(&pool, NULL, &also_held) == WEIR_OK);
	submit_in(&a, NULL);
	submit_in(&b, NULL);
}

static void give_back_also(void)
{
	weir_pool_give_back(&pool, also_held);
}

static void trim_later(void)
{
	ex_clock_advance(10);
	(void)weir_pool_trim(&pool);
}
SCENARIO(pool_op_turn_meets_trim, 3, two_queued, both_ok, trim_later, give_back,
	 give_back_also)
