/* SPDX-License-Identifier: MIT */
/*
 * The sharded semaphore with two shards.  Threads 0 and 2 use the first shard,
 * thread 1 the second.
 */
#include "pattern/sharded.h"
#include "pattern_scenario.h"

static weir_sharded s;
static weir_ctx ctx;
static int64_t limit, out;
static uint64_t value;

static void reset(int64_t capacity, uint32_t batch)
{
	limit = capacity;
	EX_ASSERT(weir_sharded_init(&s, &(weir_sharded_opts){
		.capacity = capacity, .shards = 2, .batch = batch }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

/* Put the credit of a shard in place; the permits come from rest. */
static void place(uint32_t at, int64_t credit)
{
	EX_ASSERT(weir_sem_try_acquire(&s.body_->rest, credit) == WEIR_OK);
	s.body_->shards[at].credit += credit;
}

static void held(int64_t n)
{
	EX_ASSERT(weir_sharded_acquire(&s, n, NULL) == WEIR_OK);
	out += n;
}

/* C10: never more than the limit is out. */
static void got(int64_t n)
{
	out += n;
	EX_ASSERT(out <= limit);
}

static void give(int64_t n)
{
	out -= n;
	weir_sharded_release(&s, n);
}

/* All permits are free, in the shards and in the centre; no call waits. */
static void all_back(void)
{
	weir_sharded_info info;

	check_calm(&s.body_->rest);
	EX_ASSERT(weir_sharded_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(out == 0 && info.held == 0 && info.debt == 0);
	EX_ASSERT(info.free == limit && info.capacity == limit);
	EX_ASSERT(s.body_->state < WEIR_SHARDED_RESIZE_ ||
		  (uint32_t)s.body_->state < WEIR_SHARDED_WAITING_);
	EX_ASSERT(weir_sharded_destroy(&s) == WEIR_OK);
}

/* The last two, and the mode is SHARDED again. */
static void all_back_and_sharded(void)
{
	EX_ASSERT((uint32_t)s.body_->state == 0);
	all_back();
}

static void use(void)
{
	EX_ASSERT(weir_sharded_acquire(&s, 1, NULL) == WEIR_OK);
	got(1);
	give(1);
}

static void use_two(void)
{
	EX_ASSERT(weir_sharded_acquire(&s, 2, NULL) == WEIR_OK);
	got(2);
	give(2);
}

static void use_alone(void)
{
	EX_ASSERT(weir_sharded_acquire(&s, 1, NULL) == WEIR_OK);
	got(1);
	ex_touch(&value, sizeof(value), true);
	value++;
	give(1);
}

static void one(void)
{
	reset(1, 1);
}

static void one_in_first_shard(void)
{
	reset(1, 1);
	place(0, 1);
}

/* C6, C10, C24: one permit moves between the CPUs; no call sleeps for ever. */
SCENARIO(sharded_one, 2, one, all_back_and_sharded, use_alone, use_alone)
SCENARIO(sharded_one_in_shard, 2, one_in_first_shard, all_back_and_sharded,
	 use_alone, use_alone, use_alone)

static void two_in_batches(void)
{
	reset(2, 2);
}

/* C6, C10: a batch is taken while another call begins to wait. */
SCENARIO(sharded_batch_meets_waiter, 2, two_in_batches, all_back_and_sharded,
	 use, use, use)
SCENARIO(sharded_two, 2, two_in_batches, all_back_and_sharded, use, use_two)
SCENARIO(sharded_two_and_ones, 2, two_in_batches, all_back_and_sharded, use,
	 use_two, use)

static void one_is_held(void)
{
	reset(1, 1);
	held(1);
}

static void give_one(void)
{
	give(1);
}

/* C6: a release meets a call that begins to wait. */
SCENARIO(sharded_release_meets_waiter, 3, one_is_held, all_back_and_sharded,
	 give_one, use)
SCENARIO(sharded_release_meets_two_waiters, 2, one_is_held,
	 all_back_and_sharded, give_one, use, use)

static void one_in_each_shard(void)
{
	reset(2, 1);
	place(0, 1);
	place(1, 1);
}

/* C10: steals, and a request that gathers while others take and give. */
static void use_twice(void)
{
	EX_ASSERT(weir_sharded_acquire(&s, 1, NULL) == WEIR_OK);
	got(1);
	if (weir_sharded_try_acquire(&s, 1) == WEIR_OK) {
		got(1);
		give(1);
	}
	give(1);
}
SCENARIO(sharded_steals, 2, one_in_each_shard, all_back_and_sharded, use_twice,
	 use_twice)
SCENARIO(sharded_gather_meets_steal, 2, one_in_each_shard,
	 all_back_and_sharded, use_two, use, use)

static void use_ctx(void)
{
	weir_err err = weir_sharded_acquire(&s, 1, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err) {
		got(1);
		give(1);
	}
}

static void use_timed(void)
{
	weir_err err = weir_sharded_acquire_until(&s, 1,
						  weir_deadline_after(1000));

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err) {
		got(1);
		give(1);
	}
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* C7, C13, C14, C16: a cancel or a deadline meets a release. */
SCENARIO(sharded_cancel, 2, one_is_held, all_back_and_sharded, give_one,
	 use_ctx, cancel)
SCENARIO(sharded_deadline, 2, one_is_held, all_back_and_sharded, give_one,
	 use_timed, use)

static void use_or_closed(void)
{
	weir_err err = weir_sharded_acquire(&s, 1, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (!err) {
		got(1);
		give(1);
	}
}

static void close_now(void)
{
	weir_sharded_close(&s, WEIR_CLOSE_NOW);
	EX_ASSERT(weir_sharded_acquire(&s, 1, NULL) == WEIR_ECLOSED);
	EX_ASSERT(weir_sharded_try_acquire(&s, 1) == WEIR_ECLOSED);
}

static void close_drain(void)
{
	weir_sharded_close(&s, WEIR_CLOSE_DRAIN);
}

static void give_then_drain(void)
{
	weir_err err;

	give(1);
	/* C19: the permit is free, or the other thread has it. */
	err = weir_sharded_acquire(&s, 1, NULL);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (!err) {
		got(1);
		give(1);
	}
}

/* C19: a close meets a release and a waiter. */
SCENARIO(sharded_close, 2, one_is_held, all_back, give_one, use_or_closed,
	 close_now)
SCENARIO(sharded_drain, 2, one_is_held, all_back, give_then_drain,
	 use_or_closed, close_drain)

static void two_are_held(void)
{
	reset(2, 1);
	held(2);
}

static void give_both(void)
{
	give(1);
	give(1);
}

/* From now on, one permit may be out. */
static void shrink(void)
{
	EX_ASSERT(weir_sharded_resize(&s, 1, NULL) == WEIR_OK);
	limit = 1;
}

static void use_after_debt(void)
{
	int64_t before = limit;

	EX_ASSERT(weir_sharded_acquire(&s, 1, NULL) == WEIR_OK);
	out++;
	/* C21: a call that begins after the shrink is not one too many. */
	EX_ASSERT(out <= before);
	give(1);
}

/* C21: releases pay the debt; no shard keeps a permit that is owed. */
SCENARIO(sharded_shrink, 2, two_are_held, all_back, give_both, use_after_debt,
	 shrink)

static void grow(void)
{
	EX_ASSERT(weir_sharded_resize(&s, 2, NULL) == WEIR_OK);
}

static void limit_of_two(void)
{
	reset(1, 1);
	held(1);
	limit = 2;
}

static void use_two_ctx(void)
{
	EX_ASSERT(weir_sharded_acquire(&s, 2, &ctx) == WEIR_OK);
	got(2);
	give(2);
}
/* C7, C11, C21: growth grants a waiter that wants more than the capacity. */
SCENARIO(sharded_grow, 2, limit_of_two, all_back_and_sharded, give_one,
	 use_two_ctx, grow)

static void shrink_and_grow(void)
{
	shrink();
	limit = 2;
	grow();
}
/* C21: a release clears the mark of the debt while a resize makes another. */
SCENARIO(sharded_resizes, 2, two_are_held, all_back, give_both, shrink_and_grow)

static void try_both(void)
{
	if (weir_sharded_try_acquire(&s, 2) == WEIR_OK) {
		got(2);
		give(2);
	}
	if (weir_sharded_try_acquire(&s, 1) == WEIR_OK) {
		got(1);
		give(1);
	}
}
/* C5: tries beside calls that wait. */
SCENARIO(sharded_tries, 2, two_in_batches, all_back_and_sharded, try_both, use,
	 use_two)
