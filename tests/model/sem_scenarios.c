/* SPDX-License-Identifier: MIT */
/* The semaphore, FIFO: every schedule of a few threads. */
#include "scenario.h"

static weir_sem s;
static weir_ctx ctx;
static uint32_t first_in;
static int inside, served;
static int order[EX_THREADS];
static weir_err results[EX_THREADS];

static void reset(const weir_sem_opts *opts)
{
	inside = served = 0;
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

static void signal_at_0(void)
{
	reset(&(weir_sem_opts){ .flags = WEIR_SEM_UNBOUNDED });
}

/* Capacity 2, one of them out from the start. */
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

static void look(void)
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
	look();
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

/* C10: a heavy and two light ones. */
SCENARIO(weights, 2, two_free, all_back, weighted, light, light)

/* JDK-6801020: two releases, two waiters; both wake. */
SCENARIO(two_releases_two_waiters, 2, signal_at_0, nothing_left, take, take,
	 put, put)

/* A release that finds the lock taken adds and leaves: it must be seen. */
SCENARIO(release_meets_stat, 3, signal_at_0, nothing_left, take, put, look)

/* One release that serves two, and one waiter that comes late. */
SCENARIO(release_of_two, 2, signal_at_0, nothing_left, take, take, put_two)

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

/* C14: grant meets timeout; exactly one of them, nothing lost. */
SCENARIO(grant_meets_timeout, 3, signal_at_0, timed_adds_up, take_timed, put)

static void take_two_timed(void)
{
	EX_ASSERT(weir_sem_acquire_for(&s, 2, 1000) == WEIR_ETIMEDOUT);
}

/* C7: the head times out and the one behind it fits. */
SCENARIO(head_times_out, 3, one_of_two, nothing_left, take_two_timed, take)

static void take_two_ctx(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, &ctx) == WEIR_ECANCELED);
}

/* golang/go#37852: the head is cancelled and the one behind it fits. */
SCENARIO(head_is_cancelled, 2, one_of_two, nothing_left, take_two_ctx, take,
	 cancel)

static void take_ctx(void)
{
	results[ex_self()] = weir_sem_acquire(&s, 1, &ctx);
}

static void put_kept(void)
{
	for (int i = 0; i < EX_THREADS; i++)
		if (results[i] == WEIR_EINTR)
			EX_ASSERT(0);
	check_quiet(&s);
}

static void ctx_adds_up(void)
{
	put_kept();
	EX_ASSERT(results[0] == WEIR_OK || results[0] == WEIR_ECANCELED);
	EX_ASSERT(weir_sem_available(&s) == (results[0] == WEIR_OK ? 0 : 1));
}

/* C13: grant meets cancel. */
SCENARIO(grant_meets_cancel, 3, signal_at_0, ctx_adds_up, take_ctx, put, cancel)

static void cancel_and_note(void)
{
	weir_ctx_cancel(&ctx);
	/* Still inside its call when cancel returned: it must not succeed. */
	if (ctx.waiters_)
		results[1] = WEIR_ECANCELED;
}

static void ended_wins(void)
{
	ctx_adds_up();
	EX_ASSERT(results[1] == WEIR_OK || results[0] == WEIR_ECANCELED);
}

/* C13 to the letter: a grant that came first loses all the same. */
SCENARIO(cancel_wins_over_grant, 3, signal_at_0, ended_wins, take_ctx,
	 cancel_and_note, put)

static void ctx_or_closed(void)
{
	put_kept();
	EX_ASSERT(results[0] == WEIR_OK || results[0] == WEIR_ECANCELED ||
		  results[0] == WEIR_ECLOSED);
	EX_ASSERT(weir_sem_available(&s) == (results[0] == WEIR_OK ? 0 : 1));
}

/* N3: grant, cancel and close meet on one waiter. */
SCENARIO(grant_cancel_close, 2, signal_at_0, ctx_or_closed, take_ctx, put,
	 cancel, close_now)

static void cancel_then_look(void)
{
	weir_ctx_cancel(&ctx);
	ex_set(&first_in);
}

static void never_after_cancel(void)
{
	ex_await(&first_in);
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
}

/* C13: when cancel has returned no acquire succeeds, free or not. */
SCENARIO(acquire_after_cancel, 3, one_free, one_left, cancel_then_look,
	 never_after_cancel)

static void take_first(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	order[served++] = 1;
}

static void take_second(void)
{
	while (s.waiters_ < 1 && !served)
		ex_yield();
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	order[served++] = 2;
}

static void put_one_by_one(void)
{
	while (s.waiters_ < 2)
		ex_yield();
	put();
	while (!served)
		ex_yield();
	put();
}

static void served_in_order(void)
{
	nothing_left();
	EX_ASSERT(order[0] == 1 && order[1] == 2);
}

/* C3, C4: who joined first is served first. */
SCENARIO(in_order, 3, signal_at_0, served_in_order, take_first, take_second,
	 put_one_by_one)

static void newcomer_tries(void)
{
	while (s.waiters_ < 1 && !served)
		ex_yield();
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK)
		EX_ASSERT(served == 1);
}

static void heavy_waits(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
	served = 1;
}

static void put_when_queued(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	put();
	put();
}

/* C4, C5: one permit free, a heavy head waits: a try must not pass it. */
SCENARIO(try_does_not_pass, 2, none_of_two, nothing_left, heavy_waits,
	 newcomer_tries, put_when_queued)

static void try_must_succeed(void)
{
	EX_ASSERT(weir_sem_try_acquire(&s, 1) == WEIR_OK);
}

/* C5: never spurious, whoever looks at the same time. */
SCENARIO(try_is_not_spurious, 3, two_free, NULL, try_must_succeed, look,
	 try_must_succeed)

static void take_and_free(void)
{
	take();
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	ex_free(&s, sizeof(s));
}

/* C22, glibc BZ#12674: the waiter frees, the releaser is still inside. */
SCENARIO(freed_by_waiter, 3, none_of_one, NULL, take_and_free, put)
SCENARIO(freed_unbounded, 3, signal_at_0, NULL, take_and_free, put)

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

/* C19, C22: the same after a close. */
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

/* C22 for contexts: the canceller is still inside cancel. */
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

/* C25: the handler releases what the acquire it interrupted wants. */
SCENARIO(release_in_signal_in_acquire, 3, signal_at_0, signals_add_up,
	 take_interrupted, put)
SCENARIO(release_in_signal_in_release, 3, signal_at_0, signals_add_up, take,
	 put_interrupted)
SCENARIO(release_in_signal_three, 2, signal_at_0, NULL, take_interrupted, take,
	 put_two)

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

/* C11, C21: an impossible request waits aside until the capacity grows. */
SCENARIO(growth_grants_oversized, 2, zero, nothing_left, take_one_ctx, take_one_ctx,
	 grow)

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

/* C21, N1: a shrink makes the head impossible; debt is paid. */
SCENARIO(shrink_meets_heavy, 2, two_free, all_of_one, two_or_too_big, light,
	 shrink)

static void grow_and_shrink(void)
{
	EX_ASSERT(weir_sem_resize(&s, 2, NULL) == WEIR_OK);
	EX_ASSERT(weir_sem_resize(&s, 1, NULL) == WEIR_OK);
}

/* C8: a correct release never panics, whatever resizes run beside it. */
SCENARIO(release_meets_resizes, 3, one_free, all_back, light, grow_and_shrink)

static void idle(void)
{
	EX_ASSERT(weir_sem_wait_idle(&s, NULL) == WEIR_OK);
}

/* C20 */
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

/* C12 */
SCENARIO(drain_and_upto, 3, two_free, all_back, drain, upto, light)

static void put_too_many(void)
{
	results[ex_self()] = weir_sem_try_release(&s, 1);
}

static void one_too_many(void)
{
	/* One was out: one of the two releases is refused, or is taken for
	 * the light one's own, whose release is then refused. */
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) <= 1);
}

static void try_light(void)
{
	take();
	results[ex_self()] = weir_sem_try_release(&s, 1);
}

/* N7: over-release while a grant is in flight. */
SCENARIO(over_release, 3, none_of_one, one_too_many, try_light, put_too_many,
	 put_too_many)

static void middle_leaves(void)
{
	weir_err err = weir_sem_acquire(&s, 2, &ctx);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		put_two();
}

/* A weighted queue whose middle is cancelled. */
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

/* C19: closing in drain mode. */
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

/* C4, C19: what a release adds meanwhile does not pass over the first. */
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
	/* Not closed yet when the permit was back: then it is the waiter's. */
	if (results[1] == WEIR_EAGAIN)
		EX_ASSERT(results[0] == WEIR_OK);
	EX_ASSERT(results[1] == WEIR_EAGAIN || results[1] == WEIR_ECLOSED);
}

/* C19, C24: the close comes before the release or after it, for everybody. */
SCENARIO(drain_close_is_atomic, 3, none_of_two, released_before_or_after,
	 take_or_closed, put_and_try_two, drain_close_one)

static void close_and_say(void)
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

/* C19, tokio#8020: closed is for ever, whoever unlocks the word after it. */
SCENARIO(close_is_permanent, 3, two_free, NULL, close_and_say, shrink,
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

/* C22: nor a plain store, which is no point at which the explorer looks. */
SCENARIO(freed_is_not_written, 3, none_of_one, is_as_filled, take_free_and_fill,
	 put)

static void one_of_two_closed(void)
{
	one_of_two();
	close_now();
}

/* C8: closed, so every release goes the long way; the word comes back (ABA). */
SCENARIO(release_meets_shrink_and_growth, 3, one_of_two_closed, put_kept,
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

/* C4: what is too little for the head is not given to those behind it. */
SCENARIO(heavy_is_not_passed, 3, signal_at_0, nothing_left, take_two,
	 light_behind_heavy, put_too_few)

static void cancel_and_note_free(void)
{
	weir_ctx_cancel(&ctx);
	/* Not taken yet when cancel returned: it must not be any more. */
	if (weir_sem_available(&s))
		results[1] = WEIR_ECANCELED;
}

static void take_upto_ctx(void)
{
	int64_t got;

	results[ex_self()] = weir_sem_acquire_upto(&s, 1, 1, &ctx, &got);
}

/* C13 where nobody waits: on the short path, and under the lock. */
SCENARIO(cancel_wins_on_fast_path, 3, one_free, ended_wins, take_ctx,
	 cancel_and_note_free)
SCENARIO(cancel_wins_under_the_lock, 3, one_free, ended_wins, take_upto_ctx,
	 cancel_and_note_free)

static void second_of_ctx(void)
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

/* C13: what one leaves is not granted to another that the cancel ends too. */
SCENARIO(cancel_does_not_grant_to_cancelled, 3, one_of_two, one_left, take_two_ctx,
	 second_of_ctx, cancel_both)

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

/* C13: a permit that was granted and not kept is the next one's. */
SCENARIO(cancelled_grant_goes_to_next, 2, signal_at_0, nothing_left, light_ctx,
	 take, put_and_cancel)

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

/* tokio#2340: who has been told is back in the queue before the next is. */
SCENARIO(notified_waiter_enqueues_again, 2, signal_at_0, nothing_left, take_and_again, take,
	 put_two_and_one)

static void cancelled_then_put(void)
{
	while (s.waiters_ < 1)
		ex_yield();
	EX_ASSERT(weir_sem_acquire(&s, 1, &ctx) == WEIR_ECANCELED);
	put_two();
}

/* C13: a cancel finds who is about to join behind a head that stays. */
SCENARIO(cancelled_behind_head, 3, signal_at_0, nothing_left, take_two,
	 cancelled_then_put, cancel)

static void nothing(void)
{
}

static void timed_and_interrupted(void)
{
	ex_signal(nothing);
	take_timed();
}

/* C14, C18: a signal while a waiter that is late awaits its tell. */
SCENARIO(grant_meets_timeout_and_signal, 3, signal_at_0, timed_adds_up,
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

/* C16, C18: grant meets signal. */
SCENARIO(grant_meets_signal, 3, interruptible, timed_adds_up,
	 take_or_interrupted, put)

static void forget(void)
{
	EX_ASSERT(weir_sem_forget(&s, 1) == WEIR_OK);
}

/* C21: a forget makes the head impossible, a release comes meanwhile. */
SCENARIO(forget_meets_release, 2, none_of_two, all_of_one, two_or_too_big,
	 forget, put)

static void debt_of_one(void)
{
	none_of_two();
	shrink();
}

/* C21: both pay the same debt. */
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

/* C22: two are granted; one is back and destroys, the other is on its way. */
SCENARIO(destroy_meets_grant, 2, signal_at_0, NULL, take_and_destroy, take,
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

static void notice_and_look(void)
{
	ex_clock_advance(2000);
	EX_ASSERT(weir_ctx_err(&ctx) == WEIR_ETIMEDOUT);
	look();
}

/* C7, anyio#1145: whoever finds a head whose time is over serves the next. */
SCENARIO(timed_out_head_is_skipped, 2, one_of_two_soon_late, nothing_left,
	 take_two_late, take, notice_and_look)
