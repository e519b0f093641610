/* SPDX-License-Identifier: MIT */
/*
 * A mutex whose waiters sleep.
 *
 *   0  free   1  held   2  held, and threads may sleep on it
 *
 * Pairs
 *
 *   [L1] mutex  release: weir_unlock_   acquire: weir_lock_
 *               Writes under the lock are visible to its next holder.
 */
#include "base/lock.h"

#include "base/atomic.h"
#include "base/futex.h"
#include "weir/base.h"

#define FREE 0u
#define HELD 1u
#define AWAITED 2u

void weir_lock_(uint32_t *lock)
{
	uint32_t seen = FREE;

	/* [L1] acquire */
	if (at_cas_weak_acquire(lock, &seen, HELD))
		return;
	/*
	 * [L1] acquire.  The lock becomes AWAITED here: other threads may still
	 * sleep, so the unlock has to wake one.
	 */
	while (at_swap_acquire(lock, AWAITED) != FREE)
		weir_futex_wait_(lock, AWAITED, WEIR_FOREVER);
}

void weir_unlock_(uint32_t *lock)
{
	/*
	 * [L1] release.  This is the last access to *lock; the wake does not
	 * access it.
	 */
	if (at_swap_release(lock, FREE) == AWAITED)
		weir_futex_wake_(lock);
}
