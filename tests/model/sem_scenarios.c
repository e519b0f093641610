/* SPDX-License-Identifier: MIT */
/* The FIFO semaphore under every schedule of a few threads. */
#include "base/atomic.h"
#include "scenario.h"

static weir_sem s;
static weir_ctx ctx;
static uint32_t first_in;
static int inside, granted_count;
static int order[EX_THREADS];
static weir_err results[EX_THREADS];

static void reset(const weir_sem_opts *opts)
{
	inside = granted_count = 0;
	first_in = 0;
	memset(order, 0, sizeof(order));
	memset(results, 0, sizeof(results));
	EX_ASSERT(weir_sem_init_opts(&s, opts) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void one_free(void)
{
	reset(&(weir_sem_opts){ .permits = 1 });
}

static void two_free(void)
{
	reset(&(weir_sem_opts){ .permits = 2 });
}

static void unbounded_at_0(void)
{
	reset(&(weir_sem_opts){ .flags = WEIR_SEM_UNBOUNDED });
}

/* Capacity 2; one permit is held from the start. */
static void one_of_two(void)
{
	reset(&(weir_sem_opts){ .permits = 1, .capacity = 2 });
}

static void none_of_one(void)
{
	reset(&(weir_sem_opts){ .permits = 0, .capacity = 1 });
}

static void none_of_two(void)
{
	reset(&(weir_sem_opts){ .permits = 0, .capacity = 2 });
}

static void all_back(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
}

static void nothing_left(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 0);
}

static void one_left(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == 1);
}

static void take(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
}

static void take_two(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
}

static void put(void)
{
	weir_sem_release(&s, 1);
}

static void put_two(void)
{
	weir_sem_release(&s, 2);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

static void close_now(void)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
}

static void check_stat(void)
{
	weir_sem_info info;

	EX_ASSERT(weir_sem_stat(&s, &info) == WEIR_OK);
	EX_ASSERT(info.free >= 0 && info.held >= 0 && info.granted >= 0);
	EX_ASSERT(info.unbounded || info.capacity == info.free + info.held +
						info.granted - info.debt);
}

static void exclusive(void)
{
	take();
	EX_ASSERT(inside++ == 0);
	check_stat();
	EX_ASSERT(--inside == 0);
	put();
}

/* C2, C6, C10: mutual exclusion. */
SCENARIO(mutex_of_two, 3, one_free, all_back, exclusive, exclusive)
SCENARIO(mutex_of_three, 2, one_free, all_back, exclusive, exclusive, exclusive)

static void weighted(void)
{
	take_two();
	EX_ASSERT(inside++ == 0);
	EX_ASSERT(--inside == 0);
	put_two();
}

static void light(void)
{
	take();
	put();
}

/* C10: a heavy and two light requests. */
SCENARIO(weights, 2, two_free, all_back, weighted, light, light)

/* JDK-6801020: two releases and two waiters; both waiters wake. */
SCENARIO(two_releases_two_waiters, 2, unbounded_at_0, nothing_left, take, take,
	 put, put)

/*
 * A release that finds the word LOCKED adds its permits and returns.  The lock
 * holder must see them.
 */
SCENARIO(release_meets_stat, 3, unbounded_at_0, nothing_left, take, put,
	 check_stat)

/* One release grants to two waiters, or to one waiter and a later acquire. */
SCENARIO(release_of_two, 2, unbounded_at_0, nothing_left, take, take, put_two)

static void take_timed(void)
{
	results[ex_self()] = weir_sem_acquire_for(&s, 1, 1000);
	EX_ASSERT(results[ex_self()] == WEIR_OK ||
		  results[ex_self()] == WEIR_ETIMEDOUT);
}

static void timed_adds_up(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) ==
		  (results[0] == WEIR_OK ? 0 : 1));
}

/* C14: a grant meets a timeout.  Exactly one wins, and no permit is lost. */
SCENARIO(grant_meets_timeout, 3, unbounded_at_0, timed_adds_up, take_timed, put)

static void take_two_timed(void)
{
	EX_ASSERT(weir_sem_acquire_for(&s, 2, 1000) == WEIR_ETIMEDOUT);
}

/* C7: the head times out; the waiter behind it fits and is granted. */
SCENARIO(head_times_out, 3, one_of_two, nothing_left, take_two_timed, take)

static void take_two_ctx(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, &ctx) == WEIR_ECANCELED);
}

/* golang/go#37852: the head is cancelled; the waiter behind it fits. */
SCENARIO(head_is_cancelled, 2, one_of_two, nothing_left, take_two_ctx, take,
	 cancel)

static void take_ctx(void)
{
	results[ex_self()] = weir_sem_acquire(&s, 1, &ctx);
}

static void check_results(void)
{
	for (int i = 0; i < EX_THREADS; i++)
		if (results[i] == WEIR_EINTR)
			EX_ASSERT(0);
	check_quiet(&s);
}

static void ctx_adds_up(void)
{
	check_results();
	EX_ASSERT(results[0] == WEIR_OK || results[0] == WEIR_ECANCELED);
	EX_ASSERT(weir_sem_available(&s) == (results[0] == WEIR_OK ? 0 : 1));
}

/* C13: a grant meets a cancel. */
SCENARIO(grant_meets_cancel, 3, unbounded_at_0, ctx_adds_up, take_ctx, put,
	 cancel)

static void cancel_and_note(void)
{
	weir_ctx_cancel(&ctx);
	/* The acquire is still running when cancel returns: it must fail. */
	if (ctx.waiters_)
		results[1] = WEIR_ECANCELED;
}

static void cancel_wins(void)
{
	ctx_adds_up();
	EX_ASSERT(results[1] == WEIR_OK || results[0] == WEIR_ECANCELED);
}

/* C13: the cancel wins even if the grant came first. */
SCENARIO(cancel_wins_over_grant, 3, unbounded_at_0, cancel_wins, take_ctx,
	 cancel_and_note, put)

static void ctx_or_closed(void)
{
	check_results();
	EX_ASSERT(results[0] == WEIR_OK || results[0] == WEIR_ECANCELED ||
		  results[0] == WEIR_ECLOSED);
	EX_ASSERT(weir_sem_available(&s) == (results[0] == WEIR_OK ? 0 : 1));
}

/* N3: a grant, a cancel and a close meet on one waiter. */
SCENARIO(grant_cancel_close, 2, unbounded_at_0, ctx_or_closed, take_ctx, put,
	 cancel, close_now)

static void cancel_and_set(void)
{
	weir_ctx_cancel(&ctx);
	ex_set(&first_in);
}

static void acquire_fails(void)
{
	ex_await(&first_in);
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
}

/*
 * C13: after cancel has returned no acquire with this context succeeds, even if
 * permits are free.
 */
SCENARIO(acquire_after_cancel, 3, one_free, one_left, cancel_and_set,
	 acquire_fails)

static void take_first(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	order[granted_count++] = 1;
}

static void take_second(void)
{
	while (s.waiters_ < 1 && !granted_count)
		ex_yield();
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	order[granted_count++] = 2;
}

static void put_one_by_one(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	put();
	while (!granted_count)
		ex_yield();
	put();
}

static void granted_in_order(void)
{
	nothing_left();
	EX_ASSERT(order[0] == 1 && order[1] == 2);
}

/* C3, C4: the waiter that was enqueued first is granted first. */
SCENARIO(in_order, 3, unbounded_at_0, granted_in_order, take_first, take_second,
	 put_one_by_one)

static void newcomer_tries(void)
{
	while (s.waiters_ < 1 && !granted_count)
		ex_yield();
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK)
		EX_ASSERT(granted_count == 1);
}

static void heavy_waits(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
	granted_count = 1;
}

static void put_when_queued(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	put();
	put();
}

/* C4, C5: a heavy head waits for two.  A try must not take a free permit. */
SCENARIO(try_does_not_pass, 2, none_of_two, nothing_left, heavy_waits,
	 newcomer_tries, put_when_queued)

static void try_must_succeed(void)
{
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

static void hold_lock(void)
{
	lock_and_unlock(&s);
}

/* C5: a try does not fail spuriously while another thread holds the lock. */
SCENARIO(try_is_not_spurious, 3, two_free, NULL, try_must_succeed, hold_lock,
	 try_must_succeed)

static void take_and_free(void)
{
	take();
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
}

/*
 * C22, glibc BZ#12674: the waiter frees the semaphore while the releasing
 * thread is still inside weir_sem_release.
 */
SCENARIO(freed_by_waiter, 3, none_of_one, NULL, take_and_free, put)
SCENARIO(freed_unbounded, 3, unbounded_at_0, NULL, take_and_free, put)

static void take_two_and_free(void)
{
	take_two();
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
}

SCENARIO(freed_after_two_releases, 3, none_of_two, NULL, take_two_and_free, put,
	 put)

static void closed_and_free(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_ECLOSED);
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
}

static void close_when_queued(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	close_now();
}

/* C19, C22: the waiter frees while the closing thread is inside close. */
SCENARIO(freed_after_close, 3, none_of_one, NULL, closed_and_free,
	 close_when_queued)

static void cancelled_and_free(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	EX_ASSERT(weir_ctx_destroy(&ctx) == WEIR_OK);
	ex_free(&s, sizeof(s));
	ex_free(&ctx, sizeof(ctx));
}

static void cancel_when_queued(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	cancel();
}

/* C22: the waiter frees both while the cancelling thread is inside cancel. */
SCENARIO(freed_after_cancel, 3, none_of_one, NULL, cancelled_and_free,
	 cancel_when_queued)

static void take_interrupted(void)
{
	ex_signal(put);
	take();
}

static void put_interrupted(void)
{
	ex_signal(put);
	put();
}

static void signals_add_up(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) <= 1);
}

/* C25: a signal handler releases what the interrupted acquire waits for. */
SCENARIO(release_in_signal_in_acquire, 3, unbounded_at_0, signals_add_up,
	 take_interrupted, put)
SCENARIO(release_in_signal_in_release, 3, unbounded_at_0, signals_add_up, take,
	 put_interrupted)
SCENARIO(release_in_signal_three, 2, unbounded_at_0, NULL, take_interrupted,
	 take, put_two)

static void grow(void)
{
	EX_ASSERT(weir_sem_resize(&s, 2, NULL) == WEIR_OK);
}

static void zero(void)
{
	reset(&(weir_sem_opts){ .permits = 0 });
}

static void take_one_ctx(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_OK);
}

/* C11, C21: an oversized request waits until the capacity has grown. */
SCENARIO(growth_grants_oversized, 2, zero, nothing_left, take_one_ctx,
	 take_one_ctx, grow)

static void shrink(void)
{
	int64_t debt;

	EX_ASSERT(weir_sem_resize(&s, 1, &debt) == WEIR_OK);
	EX_ASSERT(debt >= 0 && debt <= 1);
}

static void two_or_too_big(void)
{
	weir_err err = weir_sem_acquire(&s, 2, NULL);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETOOBIG);
	if (!err)
		put_two();
}

static void all_of_one(void)
{
	all_back();
	EX_ASSERT(s.capacity_ == 1);
}

/* C21, N1: a shrink makes the head oversized; releases pay the debt. */
SCENARIO(shrink_meets_heavy, 2, two_free, all_of_one, two_or_too_big, light,
	 shrink)

static void grow_and_shrink(void)
{
	EX_ASSERT(weir_sem_resize(&s, 2, NULL) == WEIR_OK);
	EX_ASSERT(weir_sem_resize(&s, 1, NULL) == WEIR_OK);
}

/* C8: a correct release does not panic while resizes run. */
SCENARIO(release_meets_resizes, 3, one_free, all_back, light, grow_and_shrink)

static void idle(void)
{
	EX_ASSERT(weir_sem_wait_idle(&s, NULL) == WEIR_OK);
}

/* C20: wait_idle meets releases, and an acquire. */
SCENARIO(idle_meets_release, 3, none_of_two, all_back, idle, put, put)
SCENARIO(idle_meets_acquire, 2, none_of_one, all_back, idle, light, put)

static void drain(void)
{
	int64_t got;

	EX_ASSERT(weir_sem_drain(&s, &got) == WEIR_OK);
	weir_sem_release(&s, got);
}

static void upto(void)
{
	int64_t got;

	EX_ASSERT(weir_sem_acquire_upto(&s, 1, 2, NULL, &got) == WEIR_OK);
	EX_ASSERT(got == 1 || got == 2);
	weir_sem_release(&s, got);
}

/* C12: drain and acquire_upto run beside an acquire. */
SCENARIO(drain_and_upto, 3, two_free, all_back, drain, upto, light)

static void put_too_many(void)
{
	results[ex_self()] = weir_sem_try_release(&s, 1);
}

static void one_too_many(void)
{
	/*
	 * One permit was held at the start.  The semaphore refuses one of the
	 * two releases of put_too_many, or accepts both and refuses the
	 * correct release of try_light.
	 */
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) <= 1);
}

static void try_light(void)
{
	take();
	results[ex_self()] = weir_sem_try_release(&s, 1);
}

/* N7: mistaken releases while a grant is in progress. */
SCENARIO(over_release, 3, none_of_one, one_too_many, try_light, put_too_many,
	 put_too_many)

static void middle_leaves(void)
{
	weir_err err = weir_sem_acquire(&s, 2, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		put_two();
}

/* The middle waiter of a weighted queue is cancelled. */
SCENARIO(middle_is_cancelled, 2, two_free, all_back, weighted, middle_leaves,
	 light, cancel)

static void drain_close(void)
{
	weir_sem_close(&s, WEIR_CLOSE_DRAIN);
}

static void take_or_closed(void)
{
	results[ex_self()] = weir_sem_acquire(&s, 1, NULL);
}

static void drained_adds_up(void)
{
	int taken = 0;

	check_quiet(&s);
	for (int i = 0; i < 2; i++)
		taken += results[i] == WEIR_OK;
	EX_ASSERT(weir_sem_available(&s) + taken == 1);
}

/* C19: a close in drain mode meets a release. */
SCENARIO(drain_close_meets_release, 2, none_of_one, drained_adds_up,
	 take_or_closed, take_or_closed, drain_close, put)

static void second_or_closed(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	take_or_closed();
}

static void drain_close_two(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	ex_set(&first_in);
	drain_close();
}

static void put_when_both_wait(void)
{
	ex_await(&first_in);
	put();
}

static void drained_in_order(void)
{
	drained_adds_up();
	EX_ASSERT(results[0] == WEIR_OK || results[1] != WEIR_OK);
}

/*
 * C4, C19: permits released during a drain close are not granted to the second
 * waiter if the first one was refused.
 */
SCENARIO(drain_close_is_in_order, 2, none_of_one, drained_in_order,
	 take_or_closed, second_or_closed, drain_close_two, put_when_both_wait)

static void drain_close_one(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	ex_set(&first_in);
	drain_close();
}

static void put_and_try_two(void)
{
	ex_await(&first_in);
	put();
	results[1] = weir_sem_try_acquire(&s, 2);
}

static void released_before_or_after(void)
{
	/*
	 * The try found the semaphore open, so the release came before the
	 * close: its permit belongs to the waiter.
	 */
	if (results[1] == WEIR_EAGAIN)
		EX_ASSERT(results[0] == WEIR_OK);
	EX_ASSERT(results[1] == WEIR_EAGAIN || results[1] == WEIR_ECLOSED);
}

/*
 * C19, C24: all threads agree whether the release came before the close or
 * after it.
 */
SCENARIO(drain_close_is_atomic, 3, none_of_two, released_before_or_after,
	 take_or_closed, put_and_try_two, drain_close_one)

static void close_and_set(void)
{
	close_now();
	ex_set(&first_in);
}

static void finds_it_closed(void)
{
	ex_await(&first_in);
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_ECLOSED);
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_ECLOSED);
}

/* C19, tokio#8020: a later unlock of the word does not reopen it. */
SCENARIO(close_is_permanent, 3, two_free, NULL, close_and_set, shrink,
	 finds_it_closed)

static void take_free_and_fill(void)
{
	take_and_free();
	memset(&s, 0xa5, sizeof(s));
}

static void is_as_filled(void)
{
	const unsigned char *bytes = (const unsigned char *)&s;

	for (size_t i = 0; i < sizeof(s); i++)
		EX_ASSERT(bytes[i] == 0xa5);
}

/*
 * C22: a release does not write to freed memory with a plain store either,
 * which the explorer does not see.
 */
SCENARIO(freed_is_not_written, 3, none_of_one, is_as_filled, take_free_and_fill,
	 put)

static void one_of_two_closed(void)
{
	one_of_two();
	close_now();
}

/*
 * C8: the word returns to an earlier value (ABA).  The semaphore is closed, so
 * that every release takes the slow path.
 */
SCENARIO(release_meets_shrink_and_growth, 3, one_of_two_closed, check_results,
	 put, shrink, grow)

static void light_behind_heavy(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	take();
}

static void put_too_few(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	put();
	EX_ASSERT(s.waiters_ == 2);
	put_two();
}

/* C4: permits that are too few for the head are not granted behind it. */
SCENARIO(heavy_is_not_passed, 3, unbounded_at_0, nothing_left, take_two,
	 light_behind_heavy, put_too_few)

static void cancel_and_note_free(void)
{
	weir_ctx_cancel(&ctx);
	/*
	 * The permit is still free when cancel returns: the acquire must fail.
	 * A read-modify-write reads the newest value; weir_sem_available may
	 * return an older one.  It is a release, so that the cancel happens
	 * before the acquire takes the permit.
	 */
	if (weir_value_(at_add_acq_rel(&s.word_, 0)))
		results[1] = WEIR_ECANCELED;
}

static void take_upto_ctx(void)
{
	int64_t got;

	results[ex_self()] = weir_sem_acquire_upto(&s, 1, 1, &ctx, &got);
}

/* C13 without a wait: on the fast path, and under the lock. */
SCENARIO(cancel_wins_on_fast_path, 3, one_free, cancel_wins, take_ctx,
	 cancel_and_note_free)
SCENARIO(cancel_wins_under_the_lock, 3, one_free, cancel_wins, take_upto_ctx,
	 cancel_and_note_free)

static void second_in_ctx(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
}

static void cancel_both(void)
{
	while (s.waiters_ < 2 || !ctx.waiters_ ||
	       ctx.waiters_->next_ == ctx.waiters_)
		ex_yield();
	cancel();
	EX_ASSERT(weir_sem_available(&s) == 1);
}

/*
 * C13: permits that fit after the heavy waiter has left are not granted to a
 * waiter that the same cancel ends.
 */
SCENARIO(cancel_does_not_grant_to_cancelled, 3, one_of_two, one_left,
	 take_two_ctx, second_in_ctx, cancel_both)

static void light_ctx(void)
{
	weir_err err = weir_sem_acquire(&s, 1, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		put();
}

static void put_and_cancel(void)
{
	put();
	cancel();
}

/* C13: a permit that a cancel takes back is granted to the next waiter. */
SCENARIO(cancelled_grant_goes_to_next, 2, unbounded_at_0, nothing_left,
	 light_ctx, take, put_and_cancel)

static void take_and_again(void)
{
	take();
	take();
}

static void put_two_and_one(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	put_two();
	while (s.waiters_ < 1)
		ex_yield();
	put();
}

/*
 * tokio#2340: a notified waiter waits again, at the same address, before the
 * next waiter has been notified.
 */
SCENARIO(notified_waiter_enqueues_again, 2, unbounded_at_0, nothing_left,
	 take_and_again, take, put_two_and_one)

static void cancelled_then_put(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
	put_two();
}

/* C13: a cancel reaches a waiter that is just being enqueued. */
SCENARIO(cancelled_behind_head, 3, unbounded_at_0, nothing_left, take_two,
	 cancelled_then_put, cancel)

static void nothing(void)
{
}

static void timed_and_interrupted(void)
{
	ex_signal(nothing);
	take_timed();
}

/*
 * C14, C18: a signal interrupts a timed-out waiter that waits for its
 * notification.
 */
SCENARIO(grant_meets_timeout_and_signal, 3, unbounded_at_0, timed_adds_up,
	 timed_and_interrupted, put)

static void interruptible(void)
{
	reset(&(weir_sem_opts){ .flags = WEIR_SEM_UNBOUNDED |
					 WEIR_SEM_INTERRUPTIBLE });
}

static void take_or_interrupted(void)
{
	ex_signal(nothing);
	results[ex_self()] = weir_sem_acquire(&s, 1, NULL);
	EX_ASSERT(results[ex_self()] == WEIR_OK ||
		  results[ex_self()] == WEIR_EINTR);
}

/* C16, C18: a grant meets a signal. */
SCENARIO(grant_meets_signal, 3, interruptible, timed_adds_up,
	 take_or_interrupted, put)

static void forget(void)
{
	EX_ASSERT(weir_sem_forget(&s, 1) == WEIR_OK);
}

/* C21: a forget makes the head oversized while a release runs. */
SCENARIO(forget_meets_release, 2, none_of_two, all_of_one, two_or_too_big,
	 forget, put)

static void debt_of_one(void)
{
	none_of_two();
	shrink();
}

/* C21: a forget and a release both pay the debt of 1. */
SCENARIO(forget_meets_debt, 3, debt_of_one, all_back, forget, put)

static void take_and_destroy(void)
{
	weir_err err;

	take();
	err = weir_sem_destroy(&s);
	EX_ASSERT(err == WEIR_OK || err == WEIR_EBUSY);
	if (!err)
		ex_free(&s, sizeof(s));
}

static void put_two_when_queued(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	put_two();
}

/*
 * C22: two waiters are granted.  One has returned and destroys the semaphore;
 * the other one is still inside its call.
 */
SCENARIO(destroy_meets_grant, 2, unbounded_at_0, NULL, take_and_destroy, take,
	 put_two_when_queued)

static void one_of_two_soon_late(void)
{
	one_of_two();
	EX_ASSERT(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000)) ==
		  WEIR_OK);
}

static void take_two_late(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, &ctx) == WEIR_ETIMEDOUT);
}

static void notice_deadline_and_stat(void)
{
	ex_clock_advance(2000);
	EX_ASSERT(weir_ctx_err(&ctx) == WEIR_ETIMEDOUT);
	check_stat();
}

/*
 * C7, anyio#1145: a lock holder that finds the head past its deadline evicts it
 * and grants to the next waiter.
 */
SCENARIO(timed_out_head_is_skipped, 2, one_of_two_soon_late, nothing_left,
	 take_two_late, take, notice_deadline_and_stat)
