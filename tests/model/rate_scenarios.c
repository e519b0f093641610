/* SPDX-License-Identifier: MIT */
/* Rate limits under every schedule of a few threads. */
#include "pattern_scenario.h"
#include "weir/rate.h"

#define PERIOD 1000

static weir_rate limit;
static weir_ctx ctx;
static int taken;
static int64_t begun;

/* One token per 1000 ns; the bucket is empty. */
static void empty(void)
{
	EX_ASSERT(weir_rate_init(&limit, &(weir_rate_opts){
		.rate = 1, .period_ns = PERIOD }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
	EX_ASSERT(weir_rate_try_acquire(&limit, 1) == WEIR_OK);
	begun = weir_now_ns();
}

/* No thread waits, and the bucket accounts for all tokens taken. */
static void adds_up(void)
{
	check_calm(&limit.gate_);
	EX_ASSERT(weir_sem_available(&limit.gate_) == 1);
	EX_ASSERT(limit.waiting_ == 0 && !limit.queued_ && !limit.queued_high_);
	EX_ASSERT(!limit.advance_);
	EX_ASSERT(weir_now_ns() >= begun + taken * PERIOD);
	EX_ASSERT(limit.bucket_.full_ns_ >= begun + PERIOD + taken * PERIOD);
}

/* Calls that failed have taken no tokens. */
static void exactly(void)
{
	adds_up();
	EX_ASSERT(limit.bucket_.full_ns_ <= weir_now_ns() + PERIOD);
}

static void acquire(void)
{
	EX_ASSERT(weir_rate_acquire(&limit, 1, NULL) == WEIR_OK);
	taken++;
}

/* C4: two waiters are granted one period apart. */
SCENARIO(rate_two_wait, 2, empty, exactly, acquire, acquire)

static void acquire_ctx(void)
{
	weir_err err = weir_rate_acquire(&limit, 1, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	taken += err == WEIR_OK;
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* C7, C13: the first waiter is cancelled or granted; then the next one. */
SCENARIO(rate_cancel_meets_time, 2, empty, exactly, acquire_ctx, acquire,
	 cancel)

static void one_token(void)
{
	empty();
	ex_clock_advance(PERIOD);
	begun = weir_now_ns() - PERIOD;
}

static void full_or_taken(void)
{
	exactly();
	EX_ASSERT(taken || limit.bucket_.full_ns_ <= weir_now_ns());
}

/* C13: a token that was free is put back if the cancel came first. */
SCENARIO(rate_cancel_meets_token, 3, one_token, full_or_taken, acquire_ctx,
	 cancel)

static void acquire_or_closed(void)
{
	weir_err err = weir_rate_acquire(&limit, 1, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	taken += err == WEIR_OK;
}

static void close_it(void)
{
	weir_rate_close(&limit);
	EX_ASSERT(weir_rate_acquire(&limit, 1, NULL) == WEIR_ECLOSED);
}

/* C19: a close reaches the first waiter. */
SCENARIO(rate_close_meets_time, 2, empty, exactly, acquire_or_closed,
	 close_it)

static void quicken(void)
{
	EX_ASSERT(weir_rate_set(&limit, 2, PERIOD, 1) == WEIR_OK);
}

static void no_waiters(void)
{
	check_calm(&limit.gate_);
	EX_ASSERT(limit.waiting_ == 0 && !limit.queued_ && !limit.queued_high_);
	EX_ASSERT(!limit.advance_);
	/* At most one token is missing, and calls that failed took none. */
	EX_ASSERT(limit.bucket_.full_ns_ <= weir_now_ns() + PERIOD / 2 + 1);
}

/* The rate changes while a thread sleeps by the old rate. */
SCENARIO(rate_changes, 2, empty, no_waiters, acquire, quicken)

/* The thread is cancelled at the same time: its tokens are put back once. */
SCENARIO(rate_change_meets_cancel, 2, empty, no_waiters, acquire_ctx, quicken,
	 cancel)

static void try_one(void)
{
	weir_err err = weir_rate_try_acquire(&limit, 1);

	EX_ASSERT(err == WEIR_OK || err == WEIR_EAGAIN);
	taken += err == WEIR_OK;
}

/* C5: tries while a thread waits. */
SCENARIO(rate_try_meets_waiter, 2, empty, adds_up, acquire, try_one, try_one)

static void acquire_timed(void)
{
	weir_err err = weir_rate_acquire_until(&limit, 1, begun + PERIOD);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	taken += err == WEIR_OK;
}

/* C14: the deadline allows one of the two requests. */
SCENARIO(rate_deadline_meets_time, 2, empty, exactly, acquire_timed,
	 acquire_timed)
