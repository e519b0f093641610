/* SPDX-License-Identifier: MIT */
/*
 * The registry and the true holders: C48.  holders.h compares them after each
 * step, and when all threads have ended.
 */
#include <string.h>

#include "explore.h"
#include "record/record.h"
#include "weir/ctx.h"
#include "weir/permit.h"
#include "weir/sem.h"

#include "holders.h"

static weir_sem s, r;
static weir_ctx ctx;
static weir_permit objects[2];
static uint32_t ready, done;

static void make_with(weir_sem *sem, int64_t permits, int64_t capacity,
		      weir_policy policy)
{
	weir_sem_opts opts = { .permits = permits,
			       .capacity = capacity,
			       .policy = policy,
			       .name = "explored" };

	EX_ASSERT(weir_sem_init_opts(sem, &opts) == WEIR_OK);
}

static void make_part(weir_sem *sem, int64_t permits, int64_t capacity)
{
	make_with(sem, permits, capacity, WEIR_FIFO);
}

static void make(weir_sem *sem, int64_t permits)
{
	make_part(sem, permits, permits);
}

static void reset(int64_t permits)
{
	make(&s, permits);
	make(&r, 1);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void one_free(void)
{
	reset(1);
}

static void two_free(void)
{
	reset(2);
}

static void three_free(void)
{
	reset(3);
}

static void take(weir_sem *sem)
{
	EX_ASSERT(weir_sem_acquire(sem, 1, NULL) == WEIR_OK);
}

static void put(weir_sem *sem)
{
	weir_sem_release(sem, 1);
}

static void all_back(void)
{
	holders_check();
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
	EX_ASSERT(weir_sem_available(&r) == r.capacity_);
}

/* The same call site each time: the second pair takes the fast path. */
static void pairs(void)
{
	for (int i = 0; i < 2; i++) {
		take(&s);
		put(&s);
	}
}

static void pair(void)
{
	take(&s);
	put(&s);
}

SCENARIO(registry_of_pairs, 2, two_free, all_back, pairs, pairs)
SCENARIO(registry_of_contended_pairs, 2, one_free, all_back, pairs, pair)
SCENARIO(registry_of_three_threads, 1, one_free, all_back, pair, pair, pair)

/* Two semaphores, released in the order of the acquires; then the first again. */
static void nest(void)
{
	take(&s);
	take(&r);
	put(&s);
	put(&r);
	pair();
}

static void try_both(void)
{
	if (weir_sem_try_acquire(&r, 1) == WEIR_OK)
		put(&r);
	if (weir_sem_try_acquire(&s, 2) == WEIR_OK)
		EX_ASSERT(weir_sem_try_release(&s, 2) == WEIR_OK);
}

SCENARIO(registry_of_two_semaphores, 2, two_free, all_back, nest, try_both)

/*
 * Hand-over: another thread releases, while the first one acquires again and
 * subtracts the permits from its slots.
 */
static void take_for_another(void)
{
	take(&s);
	ex_set(&ready);
	pairs();
}

static void put_for_another(void)
{
	ex_await(&ready);
	put(&s);
}

SCENARIO(registry_of_permits_handed_over, 3, two_free, all_back,
	 take_for_another, put_for_another)

static void take_two_for_others(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 2, NULL) == WEIR_OK);
	ex_set(&ready);
	pair();
}

SCENARIO(registry_of_permits_handed_to_two, 2, three_free, all_back,
	 take_two_for_others, put_for_another, put_for_another)

/* The releasing thread acquires as well: the holders exchange permits. */
static void exchange(void)
{
	ex_await(&ready);
	put(&s);
	pair();
}

SCENARIO(registry_of_permits_exchanged, 2, two_free, all_back, take_for_another,
	 exchange)

/* Permits that are out at the start have no known holder. */
static void one_of_two(void)
{
	make_part(&s, 1, 2);
	make(&r, 1);
}

static void put_unknown(void)
{
	put(&s);
}

SCENARIO(registry_of_permits_out_at_start, 2, one_of_two, all_back, pairs,
	 put_unknown)
SCENARIO(registry_of_permits_out_and_handed_over, 2, one_of_two, all_back,
	 take_for_another, put_for_another, put_unknown)

/*
 * A signal handler releases between any two accesses of the thread: permits of
 * the same semaphore, or of another one.
 */
static bool handled;

static void put_in_handler(void)
{
	handled = true;
	put(&s);
}

static void put_other_in_handler(void)
{
	handled = true;
	put(&r);
}

static void pairs_with_handler(void)
{
	take(&s);
	ex_signal(put_in_handler);
	pairs();
	ex_signal(NULL);
	if (!handled)
		put(&s);
}

static void pairs_with_other_handler(void)
{
	take(&r);
	ex_signal(put_other_in_handler);
	pairs();
	ex_signal(NULL);
	if (!handled)
		put(&r);
	take(&r);
	put(&r);
}

SCENARIO(registry_of_signal_handler, 3, two_free, all_back, pairs_with_handler)
SCENARIO(registry_of_other_signal_handler, 3, two_free, all_back,
	 pairs_with_other_handler)
SCENARIO(registry_of_signal_handler_beside, 2, three_free, all_back,
	 pairs_with_handler, pair)
SCENARIO(registry_of_signal_handler_in_wait, 1, two_free, all_back,
	 pairs_with_other_handler, pairs, pair)

/*
 * Threads that end: with permits, which another thread releases, and without.
 * A new thread sweeps the record meanwhile.
 */
static void end_with_permit(void)
{
	take(&s);
	holders_end_thread();
	ex_set(&ready);
}

static void put_and_end(void)
{
	ex_await(&ready);
	put(&s);
	pair();
	holders_end_thread();
}

static void pair_and_end(void)
{
	pair();
	holders_end_thread();
}

static void pair_after_end(void)
{
	ex_await(&ready);
	pair();
	holders_end_thread();
}

static void one_is_lost(void)
{
	holders_check();
	EX_ASSERT(weir_sem_available(&s) == s.capacity_ - 1);
}

SCENARIO(registry_of_threads_that_end, 1, two_free, all_back, pair_and_end,
	 pair_and_end)
SCENARIO(registry_of_leak, 1, two_free, one_is_lost, end_with_permit,
	 pair_after_end, pair_after_end)
SCENARIO(registry_of_leak_put_back, 1, two_free, all_back, end_with_permit,
	 put_and_end, pair_after_end)

/* Waits that end without permits. */
static void wait_in_ctx(void)
{
	weir_err err;

	take(&r);
	err = weir_sem_acquire(&s, 1, &ctx);
	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err)
		put(&s);
	put(&r);
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

static void wait_for_a_time(void)
{
	weir_err err = weir_sem_acquire_for(&s, 1, 1000);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err)
		put(&s);
}

/* With --spin, a request takes its permit while it spins, without a wait. */
static void one_free_barging(void)
{
	make_with(&s, 1, 1, WEIR_BARGING);
	make(&r, 1);
}

SCENARIO(registry_of_barging_pairs, 1, one_free_barging, all_back, pairs, pair)
SCENARIO(registry_of_barging_timed_wait, 1, one_free_barging, all_back, pair,
	 wait_for_a_time)

SCENARIO(registry_of_cancelled_wait, 1, one_free, all_back, pair, wait_in_ctx,
	 cancel)
SCENARIO(registry_of_timed_wait, 1, one_free, all_back, pairs, wait_for_a_time,
	 wait_for_a_time)

/* C51: a reader looks at threads that hold one semaphore and await another. */
static void hold_and_wait(void)
{
	take(&r);
	take(&s);
	put(&s);
	put(&r);
}

SCENARIO(registry_is_read, 2, one_free, all_back, pairs, hold_and_wait,
	 holders_read)
SCENARIO(registry_is_read_with_cancel, 1, one_free, all_back, hold_and_wait,
	 wait_in_ctx, holders_read)

/* C48: a permit object that another thread releases is moved exactly. */
static void take_permits(void)
{
	uint64_t id;

	/* One call site: the same slot. */
	for (int i = 0; i < 2; i++) {
		id = holders_begin(&s, true);
		EX_ASSERT(weir_permit_acquire(&objects[i], &s, 1, NULL) ==
			  WEIR_OK);
		holders_end(id, 1);
	}
	ex_set(&ready);
	id = holders_begin(&s, true);
	weir_permit_release(&objects[0]);
	holders_end(id, -1);
}

static void put_permit(void)
{
	uint64_t id;

	ex_await(&ready);
	id = holders_begin(&s, true);
	weir_permit_release(&objects[1]);
	holders_end(id, -1);
}

SCENARIO(registry_of_moved_permit, 2, two_free, all_back, take_permits,
	 put_permit)

/* C50: the object is exact again when the moved permit has been used. */
static void take_and_move(void)
{
	uint64_t id = holders_begin(&s, false);

	EX_ASSERT(weir_permit_acquire(&objects[0], &s, 1, NULL) == WEIR_OK);
	holders_end(id, 1);
	id = holders_begin(&s, true);
	objects[0] = weir_permit_move(&objects[0]);
	holders_end(id, 0);
	ex_set(&ready);
	take(&r);
	put(&r);
}

static void put_moved(void)
{
	uint64_t id;

	take(&r);
	ex_await(&ready);
	id = holders_begin(&s, true);
	weir_permit_release(&objects[0]);
	holders_end_of(id, -1, 0);
	put(&r);
}

static void all_back_and_used(void)
{
	const struct rg_object *object = weir_record_object_(s.name_);

	EX_ASSERT(!object->moved && !(object->flags & RG_MOVED));
	all_back();
}

SCENARIO(registry_of_used_permit, 1, one_free, all_back_and_used, take_and_move,
	 put_moved)
SCENARIO(registry_of_used_permit_is_read, 1, one_free, all_back_and_used,
	 take_and_move, put_moved, holders_read)

/* C22: the object ends after the release, and its memory has another one. */
static void put_last(void)
{
	ex_await(&ready);
	put(&s);
}

static void take_and_make_again(void)
{
	take(&s);
	ex_set(&ready);
	take(&s);
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	make(&s, 1);
	pair();
}

SCENARIO(registry_of_next_semaphore, 3, one_free, all_back,
	 take_and_make_again, put_last)

/* Another thread makes the semaphore again: the slot of the first is not used. */
static void pair_before_and_after(void)
{
	pair();
	ex_set(&ready);
	ex_await(&done);
	pairs();
}

static void make_again(void)
{
	ex_await(&ready);
	EX_ASSERT(weir_sem_destroy(&s) == WEIR_OK);
	make(&s, 1);
	pair();
	ex_set(&done);
}

SCENARIO(registry_of_semaphore_made_again, 2, one_free, all_back,
	 pair_before_and_after, make_again)
