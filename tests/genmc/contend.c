/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the lock of a semaphore: an unlock that comes after the last check
 * of a sleeping thread wakes it.  The programs use the core's own sem_contend.c.
 *
 * A sleep lasts until the unlocking thread has done everything it does.  So the
 * sleeping thread is still counted when the unlock examines the count.
 */
#define CONTENDED
#include "program.h"

static bool slept, woken;
static uint32_t done;

void weir_futex_doze_(uint32_t *word, uint32_t value, uint32_t ns)
{
	(void)word, (void)value, (void)ns;
	slept = true;
	__VERIFIER_assume(at_load_acquire(&done));
}

/* No waiter of these programs waits. */
enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	(void)word, (void)value, (void)deadline_ns;
	assert(false);
	return WEIR_WOKEN_;
}

void weir_futex_wake_(uint32_t *word)
{
	(void)word;
	woken = true;
}

static void lock_s(void)
{
	start_with(1, 1, WEIR_FIFO, 0);
	OK(weir_sem_lock_(&s, "lock_s"));
}

THREAD(await_unlock_of_s)
{
	struct weir_contender_ contender = { 0 };

	weir_sem_await_unlock_(&s, &contender);
	return unused;
}

THREAD(unlock_s)
{
	weir_sem_unlock_(&s, 0);
	at_store_release(&done, 1);
	return unused;
}

THREAD(unlock_s_untouched)
{
	unlock_untouched(&s, 0);
	at_store_release(&done, 1);
	return unused;
}

PROGRAM(unlock_wakes_contender)
{
	lock_s();
	RUN2(await_unlock_of_s, unlock_s);
	assert(!slept || woken);
}

PROGRAM(untouched_unlock_wakes_contender)
{
	lock_s();
	RUN2(await_unlock_of_s, unlock_s_untouched);
	assert(!slept || woken);
}
