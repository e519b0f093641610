/* SPDX-License-Identifier: MIT */
/*
 * Watched semaphores: what the other scenarios with --watched do not reach.  The
 * marked word (sem_word.h) is not possible for 2^60 permits, and code that has
 * inlined the fast paths must never change a watched word.
 */
#include "scenario.h"

static weir_sem s;
static weir_ctx ctx;
static int taken;

static void reset(int64_t permits, int64_t capacity, weir_policy policy,
		  uint32_t flags)
{
	weir_sem_opts opts = { .permits = permits,
			       .capacity = capacity,
			       .policy = policy,
			       .flags = flags | WEIR_SEM_TRACKED };

	taken = 0;
	EX_ASSERT(weir_sem_init_opts(&s, &opts) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void one_of_two(void)
{
	reset(1, 2, WEIR_FIFO, 0);
}

static void one_free(void)
{
	reset(1, 1, WEIR_FIFO, 0);
}

static void one_free_barging(void)
{
	reset(1, 1, WEIR_BARGING, 0);
}

static void one_below_maximum(void)
{
	reset(WEIR_SEM_MAX - 1, 0, WEIR_FIFO, WEIR_SEM_UNBOUNDED);
}

static void maximum(void)
{
	reset(WEIR_SEM_MAX, 0, WEIR_FIFO, 0);
}

static void signals(void)
{
	reset(1, 0, WEIR_FIFO, WEIR_SEM_UNBOUNDED);
}

static void take(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void pair(void)
{
	take();
	put();
}

static void is_one_below_maximum(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == WEIR_SEM_MAX - 1);
	EX_ASSERT(weir_is_marked_(s.word_));
}

static void all_back(void)
{
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
	if (s.capacity_ == WEIR_SEM_MAX)
		/* The only value without a fast path. */
		EX_ASSERT(s.word_ == (weir_units_(WEIR_SEM_MAX) | WEIR_SHUT_));
	else
		check_quiet(&s);
}

static void stat_adds_up(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.free >= 0 && info.free <= WEIR_SEM_MAX);
	EX_ASSERT(info.unbounded || info.capacity == info.free + info.held +
						info.granted - info.debt);
}

/* The value reaches 2^60, and leaves it. */
SCENARIO(watched_reaches_maximum, 3, one_below_maximum, is_one_below_maximum,
	 put, take, stat_adds_up)
SCENARIO(watched_leaves_maximum, 3, maximum, all_back, pair, pair)

static void put_too_many(void)
{
	weir_err err = weir_sem_try_release(&s, 2);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EOVERFLOW);
	if (!err)
		EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
}

static void take_and_try_to_put(void)
{
	weir_err err;

	take();
	err = weir_sem_try_release(&s, 1);
	EX_ASSERT(err == WEIR_OK || err == WEIR_EOVERFLOW);
	taken = err ? 1 : 0;
}

static void maximum_was_kept(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == WEIR_SEM_MAX - 1 - taken);
}

/* C8: the maximum is checked on the fast path and under the lock. */
SCENARIO(watched_passes_maximum, 3, one_below_maximum, maximum_was_kept,
	 put_too_many, take_and_try_to_put)

static void use_inlined(void)
{
	for (int i = 0; i < 2; i++) {
		uint64_t word;

		EX_ASSERT(weir_take_fast_(&s, 1, 1) < 0);
		EX_ASSERT(weir_try_fast_(&s, 1) == WEIR_EINVAL);
		EX_ASSERT(!weir_put_fast_(&s, 1, &word));
	}
}

/* C47: an inlined fast path leaves a watched semaphore to the library. */
SCENARIO(watched_meets_inlined_code, 2, one_free, all_back, pair, pair,
	 use_inlined)
SCENARIO(watched_barging_meets_inlined_code, 2, one_free_barging, all_back,
	 pair, pair, use_inlined)

static void await_idle(void)
{
	EX_ASSERT(weir_sem_wait_idle(&s, NULL) == WEIR_OK);
}

static void take_and_put_in_turn(void)
{
	pair();
	pair();
}

/* C20: while a thread waits for idle, every release takes the lock. */
SCENARIO(watched_becomes_idle, 3, one_free, all_back, take_and_put_in_turn,
	 await_idle)

static void overtake(void)
{
	weir_err err;

	ledger_begin(&s, 0, 1);
	err = weir_sem_try_acquire_barging(&s, 1);
	ledger_end(&s, 0, 1, err ? 0 : 1);
	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	if (!err)
		put();
}

SCENARIO(watched_is_overtaken, 3, one_free, all_back, pair, overtake)

static void remove_all(void)
{
	int64_t removed;

	ledger_begin(&s, 0, 2);
	EX_ASSERT(weir_sem_remove(&s, 2, &removed) == WEIR_OK);
	ledger_end(&s, 0, 2, removed);
	taken += (int)removed;
}

static void try_pair(void)
{
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK)
		put();
}

static void removed_or_free(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) + taken == 2);
}

SCENARIO(watched_signals_are_removed, 3, signals, removed_or_free, try_pair, put,
	 remove_all)

static void drain(void)
{
	int64_t got;

	EX_ASSERT(weir_sem_drain(&s, &got) == WEIR_OK);
	weir_sem_release(&s, got);
}

static void one_left(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 1);
}

/* C12, C21: drain and a capacity that changes by one, through debt. */
SCENARIO(watched_is_drained, 3, one_of_two, one_left, drain, pair)

static void shrink_and_grow(void)
{
	EX_ASSERT(weir_sem_resize(&s, 0, NULL) == WEIR_OK);
	EX_ASSERT(weir_sem_resize(&s, 2, NULL) == WEIR_OK);
}

static void pair_in_ctx(void)
{
	if (weir_sem_acquire(&s, 1, &ctx) == WEIR_OK)
		put();
}

static void put_and_take(void)
{
	put();
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_OK);
}

SCENARIO(watched_pays_debt, 2, one_of_two, one_left, put_and_take,
	 pair_in_ctx, shrink_and_grow)

static void destroy_after_pair(void)
{
	take();
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
}

static void none_of_one(void)
{
	reset(0, 1, WEIR_FIFO, 0);
}

static void no_check(void)
{
}

/* C22: the release on the fast path is the last access. */
SCENARIO(watched_is_destroyed_after_release, 3, none_of_one, no_check, put,
	 destroy_after_pair)
