/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_LOCK_H
#define WEIR_NAMED_LOCK_H

/*
 * The uncontended paths of the lock inside the file.  lock.c has the contended
 * paths.
 *
 * Pairs
 *
 *   [NL1] lock  release: nm_unlock   acquire: nm_lock, contend, enter_fast
 *               Work done under the lock is visible to the next holder.
 */
#include "base/atomic.h"
#include "named/handle.h"

#define NM_LOCK_SLOT_BITS 13
#define NM_LOCK_SLOT_MASK ((UINT32_C(1) << NM_LOCK_SLOT_BITS) - 1)

/* Returns the value that a slot's owner writes into the lock word. */
static inline uint32_t nm_lock_id(uint32_t ref, uint32_t state)
{
	return ref | state / (NM_SLOT_MASK + 1) << NM_LOCK_SLOT_BITS;
}

/* As nm_lock, for a lock that is contended or whose holder is dead. */
bool weir_nm_lock_slow_(weir_named *h);

/* Wake one thread that sleeps for the lock. */
void weir_nm_wake_lock_(weir_named *h);

/* Take the lock without a slot.  Requires: the join byte is locked. */
void weir_nm_lock_joining_(weir_named *h);

/* Returns true if our slot is still ours.  Called with the lock held. */
static inline bool nm_is_ours(const weir_named *h)
{
	/* relaxed: changed under the lock, which we hold. */
	return at_load_relaxed(&h->mine->state) == h->state &&
	       at_load_relaxed(&h->mine->alive[NM_ALIVE_LOCK].word) == h->alive;
}

static inline void nm_unlock(weir_named *h)
{
	uint32_t *awaited = &h->head->awaited;

	/* [NL1] release */
	at_store_release(&h->head->lock, 0);
	weir_fence_light_();
	/* [NL1] release: without the light fence, an RMW gives the order. */
	/* relaxed: ordered by this fence and a contender's heavy one. */
	if (h->has_fences ? at_load_relaxed(awaited) :
			    at_add_acq_rel(awaited, 0))
		weir_nm_wake_lock_(h);
}

/*
 * Take the lock.  If its holder has died, the file has been repaired when this
 * returns.  Returns false without the lock if our slot is not ours any more:
 * this process is being killed, or the file is damaged.
 */
static inline bool nm_lock(weir_named *h)
{
	uint32_t seen = 0;

	/* [NL1] acquire */
	if (at_cas_weak_acquire(&h->head->lock, &seen, h->lock_id) ?
		    nm_is_ours(h) : weir_nm_lock_slow_(h))
		return true;
	nm_unlock(h);
	return false;
}

#endif /* WEIR_NAMED_LOCK_H */
