/* SPDX-License-Identifier: MIT */
/*
 * A sleeping mutex.
 *
 *   0  free   1  held   2  held, and somebody may sleep
 *
 * Pairs
 *
 *   [L1] mutex  release: weir_unlock_   acquire: weir_lock_
 *               What was done under the lock is seen by its next holder.
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
	/* [L1] acquire.  Whoever comes this way wakes the next on unlocking. */
	while (at_swap_acquire(lock, AWAITED) != FREE)
		weir_futex_wait_(lock, AWAITED, WEIR_FOREVER);
}

void weir_unlock_(uint32_t *lock)
{
	/* [L1] release.  The last access: the wake touches no memory. */
	if (at_swap_release(lock, FREE) == AWAITED)
		weir_futex_wake_(lock);
}
