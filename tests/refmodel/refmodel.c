/* SPDX-License-Identifier: MIT */
/*
 * Random operations on a semaphore and on the contract's model (model.h), all
 * policies, compared after every step: C1 to C16, C19 to C21, C30 and C31.
 *
 * One operation runs at a time and everybody it concerns comes to rest before
 * the next, so the outcome is certain also where threads wait, and the sequence
 * depends on the seed alone.
 */
#include "ops.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif

#ifdef SANITIZED
#define STEPS 25000	/* per policy: 10^5 in all */
#else
#define STEPS 500000	/* per policy: 2 * 10^6 in all */
#endif

static world w;

/* A new semaphore and its model. */
static void begin(weir_policy policy, bool overdue, bool unbounded)
{
	weir_sem_opts opts = {
		.permits = random_below(&w.random, 9),
		.name = "refmodel",
		.policy = policy,
		.barge_us = overdue ? 1 : WEIR_BARGE_US_MAX,
		.flags = unbounded ? WEIR_SEM_UNBOUNDED : 0,
	};

	if (!random_below(&w.random, 20))
		opts.permits = WEIR_SEM_MAX - random_below(&w.random, 3);
	else if (!random_below(&w.random, 4))
		opts.capacity = opts.permits + random_below(&w.random, 4);
	if (!random_below(&w.random, 3))
		opts.max_waiters = 1 + (uint32_t)random_below(&w.random, 5);
	if (policy == WEIR_FIFO)
		opts.barge_us = 0;
	CHECK_OK(weir_sem_init_opts(&w.sem, &opts));
	CHECK_OK(weir_ctx_init(&w.root, NULL, WEIR_FOREVER));
	w.policy = policy;
	w.overdue = overdue;
	w.m = (model){
		.capacity = opts.capacity ? opts.capacity : opts.permits,
		.free = opts.permits,
		.unbounded = unbounded,
		/* Always past its bound, a barging head is as a FIFO one. */
		.barging = policy == WEIR_BARGING && !overdue,
		.max_waiters = (int)opts.max_waiters,
	};
	if (unbounded)
		w.m.capacity = WEIR_SEM_MAX;
	else
		w.m.held = w.m.capacity - w.m.free;
	world_log(&w, "init");
	world_settle(&w, true);
}

/* Whatever state it is in: everybody can be sent home and it is empty then. */
static void end(void)
{
	ops_cancel_all(&w);
	ops_close(&w, WEIR_CLOSE_NOW);
	if (w.m.held)
		ops_release(&w, w.m.held);
	for (int i = 0; i < POOL_SIZE; i++)
		EXPECT(&w, w.pool[i].busy, false);
	EXPECT(&w, weir_sem_destroy(&w.sem), WEIR_OK);
	CHECK_OK(weir_ctx_destroy(&w.root));
}

static void run(weir_policy policy, bool overdue, int unbounded_in)
{
	int64_t limit = (int64_t)STEPS * check_scale();
	weir_panic_fn *before = weir_set_panic_hook(ops_no_panic);

	w = (world){ .step = 0 };
	w.random = seed_of((uint64_t)policy * 4 + (uint64_t)overdue * 2 +
			   (unbounded_in == 1));
	world_watch(&w);
	pool_start(w.pool);
	while (w.step < limit) {
		int64_t steps = 50 + random_below(&w.random, 1500);

		begin(policy, overdue, !random_below(&w.random, unbounded_in));
		for (int64_t i = 0; i < steps; i++) {
			ops_step(&w);
			/* Little happens in a closed one; do not stay. */
			if (w.m.closed && !random_below(&w.random, 50))
				break;
		}
		end();
	}
	pool_finish(w.pool);
	world_unwatch();
	weir_set_panic_hook(before);
}

TEST(c4_fifo_as_the_model_says)
{
	run(WEIR_FIFO, false, 1000);
}

TEST(c9_unbounded_as_the_model_says)
{
	run(WEIR_FIFO, false, 1);
}

/* C30 before the bound: newcomers pass the queue. */
TEST(c30_barging_as_the_model_says)
{
	run(WEIR_BARGING, false, 5);
}

/* C30 beyond the bound: nobody passes, and permits are handed over. */
TEST(c30_overdue_as_the_model_says)
{
	run(WEIR_BARGING, true, 5);
}
