/* SPDX-License-Identifier: MIT */
/*
 * Few resources and many borrowers: blocking threads, operations on a loop, and
 * operations that are cancelled while other threads decide them.  Each resource
 * has one user at a time (C2), all are given back (C6), and a chain of
 * callbacks does not nest (C27).  A slow machine makes as many rounds as it can in 20
 * seconds.
 */
#include <poll.h>
#include <sched.h>

#include "check.h"
#include "weir/loop.h"
#include "weir/pool_async.h"

#define MAX 3
#define OPS 8

static weir_pool pool;
static int64_t made, ended;
static struct resource {
	uint32_t lent, times;
} resources[1 << 20];

static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	int64_t n = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);

	(void)user;
	(void)ctx;
	if (n % 7 == 3) {
		__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
		return WEIR_ESYSTEM;
	}
	*resource = &resources[n % (1 << 20)];
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	(void)resource;
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static void begin(int64_t max)
{
	made = ended = 0;
	CHECK_OK(weir_pool_init(&pool, NULL, &(weir_pool_opts){
		.max = max, .create = create, .destroy = destroy }));
}

static void end(void)
{
	CHECK_EQ(weir_sem_available(&pool.permits_), pool.opts_.max);
	CHECK_OK(weir_pool_destroy(&pool));
	CHECK_EQ(made, ended);
}

/* Check that no other thread uses the item, and give it back or discard it. */
static void use(weir_err err, weir_pool_item *item)
{
	struct resource *mine;

	if (err) {
		CHECK_ERR(err, WEIR_ESYSTEM);
		return;
	}
	mine = item->resource;
	CHECK_EQ(mine->lent++, 0);
	sched_yield();
	CHECK_EQ(mine->lent--, 1);
	if (++mine->times % 10 == 0)
		weir_pool_discard(&pool, item);
	else
		weir_pool_give_back(&pool, item);
}

static int64_t until_ns;

/* Returns true if a thread that has made n rounds makes one more. */
static bool goes_on(int n)
{
	return n < 20000 * check_scale() &&
	       (n < 100 || weir_now_ns() < until_ns);
}

static void *block(void *arg)
{
	for (int i = 0; goes_on(i); i++) {
		weir_pool_item *item;
		weir_err err = weir_pool_borrow(&pool, "thread", NULL, &item);

		use(err, item);
	}
	return arg;
}

/* Operations on a loop: each callback submits its operation again. */
struct on_loop {
	weir_loop loop;
	int submitted, live;
	weir_pool_op ops[OPS];
};

static void next(struct on_loop *all, weir_pool_op *op)
{
	weir_err err = WEIR_OK;

	while (err != WEIR_EQUEUED && goes_on(all->submitted)) {
		weir_pool_item *item;

		all->submitted++;
		err = weir_pool_op_borrow(op, &pool, "loop", NULL, &item);
		if (err != WEIR_EQUEUED)
			use(err, item);
	}
	all->live += err == WEIR_EQUEUED;
}

static void borrowed(weir_pool_op *op, weir_err err, weir_pool_item *item,
		     void *user)
{
	struct on_loop *all = user;

	all->live--;
	use(err, item);
	next(all, op);
}

static void *on_loop(void *arg)
{
	struct on_loop all = { .live = 0 };

	CHECK_OK(weir_loop_init(&all.loop));
	for (int i = 0; i < OPS; i++) {
		weir_pool_op_init(&all.ops[i], &all.loop, borrowed, &all);
		next(&all, &all.ops[i]);
	}
	while (all.live) {
		struct pollfd p = { .fd = weir_loop_fd(&all.loop),
				    .events = POLLIN };

		(void)poll(&p, 1, weir_loop_timeout_ms(&all.loop));
		(void)weir_loop_dispatch(&all.loop);
	}
	CHECK_OK(weir_loop_destroy(&all.loop));
	return arg;
}

/* Operations without a loop, often cancelled. */
struct direct {
	weir_pool_op op;
	uint32_t ran;
};

static void direct_ran(weir_pool_op *op, weir_err err, weir_pool_item *item,
		       void *user)
{
	struct direct *d = user;

	CHECK(op == &d->op);
	use(err, item);
	__atomic_store_n(&d->ran, 1, __ATOMIC_RELEASE);
}

static void *direct(void *arg)
{
	struct direct d = { .ran = 0 };
	uint64_t random = seed_of(7);

	weir_pool_op_init(&d.op, NULL, direct_ran, &d);
	for (int i = 0; goes_on(i); i++) {
		weir_pool_item *item;
		weir_err err = weir_pool_op_borrow(&d.op, &pool, "direct", NULL,
						   &item);

		if (err != WEIR_EQUEUED) {
			use(err, item);
			continue;
		}
		if (random_below(&random, 4) &&
		    weir_pool_op_cancel(&d.op) == WEIR_OK)
			continue;
		while (!__atomic_load_n(&d.ran, __ATOMIC_ACQUIRE))
			sched_yield();
		d.ran = 0;
	}
	return arg;
}

TEST(c2_storm_adds_up)
{
	void *(*const all[])(void *) = { block, block, on_loop, direct };
	check_thread threads[4];

	begin(MAX);
	until_ns = weir_deadline_after(INT64_C(20000000000) * check_scale());
	for (int i = 0; i < 4; i++)
		threads[i] = start(all[i], NULL);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	end();
}

/* C27: each callback submits again, then gives back the item for it. */
static struct {
	uintptr_t lowest, highest;
	int left;
} chain;

static void again(weir_pool_op *op, weir_err err, weir_pool_item *item,
		  void *user)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	weir_pool_item *none;

	CHECK_OK(err);
	if (here < chain.lowest)
		chain.lowest = here;
	if (here > chain.highest)
		chain.highest = here;
	if (--chain.left > 0)
		CHECK_ERR(weir_pool_op_borrow(op, &pool, user, NULL, &none),
			  WEIR_EQUEUED);
	weir_pool_give_back(&pool, item);
}

TEST(c27_chain_takes_no_more_stack)
{
	weir_pool_item *held, *none;
	weir_pool_op op;

	begin(1);
	chain.lowest = UINTPTR_MAX;
	chain.left = 100000;
	CHECK_OK(weir_pool_try_borrow(&pool, NULL, &held));
	weir_pool_op_init(&op, NULL, again, NULL);
	CHECK_ERR(weir_pool_op_borrow(&op, &pool, NULL, NULL, &none),
		  WEIR_EQUEUED);
	weir_pool_give_back(&pool, held);
	CHECK_EQ(chain.left, 0);
	CHECK(chain.highest - chain.lowest < 65536);
	end();
}
