/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_LOCK_H
#define WEIR_NAMED_LOCK_H

/*
 * The lock inside the file, when it is not contended.
 *
 * Pairs
 *
 *   [NL1] file's lock  release: nm_unlock   acquire: nm_lock, contend
 *                      What was done under the lock is seen by its next holder.
 */
#include "base/atomic.h"
#include "named/handle.h"

#define NM_LOCK_SLOT_BITS 13
#define NM_LOCK_SLOT_MASK ((UINT32_C(1) << NM_LOCK_SLOT_BITS) - 1)

/* What a slot's owner writes into the lock. */
static inline uint32_t nm_lock_id(uint32_t ref, uint32_t state)
{
	return ref | state / (NM_SLOT_MASK + 1) << NM_LOCK_SLOT_BITS;
}

/* Contended, or to be repaired.  Then as nm_lock. */
bool weir_nm_lock_slow_(weir_named *h);

/* Wake one who sleeps for the lock. */
void weir_nm_wake_lock_(weir_named *h);

/* The same as nm_lock before there is a slot, under the joiners' lock. */
void weir_nm_lock_joining_(weir_named *h);

/* Whether our slot is ours.  Whoever buries us does so under the lock. */
static inline bool nm_is_ours(const weir_named *h)
{
	/* relaxed: under the lock. */
	return at_load_relaxed(&h->mine->state) == h->state &&
	       at_load_relaxed(&h->mine->alive[NM_ALIVE_LOCK].word) == h->alive;
}

static inline void nm_unlock(weir_named *h)
{
	uint32_t *awaited = &h->head->awaited;

	/* [NL1] release */
	at_store_release(&h->head->lock, 0);
	weir_fence_light_();
	/* [NL1] release: without the light fence, the order of an RMW. */
	/* relaxed: the fence, with the heavy one of a contender, orders it. */
	if (h->has_fences ? at_load_relaxed(awaited) :
			    at_add_acq_rel(awaited, 0))
		weir_nm_wake_lock_(h);
}

/*
 * Take the lock; whoever took it from the dead has repaired first.  False: our
 * slot is not ours any more (we are being killed, or the file was damaged), and
 * the lock is not taken.
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
