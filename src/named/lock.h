/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_LOCK_H
#define WEIR_NAMED_LOCK_H

/*
 * The uncontended paths of the lock inside the file.  lock.c has the contended
 * paths.
 *
 *    63 .. 32                 31 .. 13                  12 .. 0
 *   +------------------------+-------------------------+------------------+
 *   | count of critical      | generation of the       | the slot, plus 1 |
 *   | sections               | owner's slot            |                  |
 *   +------------------------+-------------------------+------------------+
 *
 * The lower half is the owner; 0 means free.  It contains the slot, so the
 * liveness word of that slot shows whether the owner is alive, in any PID
 * namespace.  The generation distinguishes successive owners of a slot.  A
 * reader that finds the lock free, and later the same 64 bits, knows that no
 * critical section has run in between.
 *
 * Pairs
 *
 *   [NL1] lock  release: nm_release   acquire: nm_try_lock, take
 *               Work done under the lock is visible to the next holder.
 */
#include "base/atomic.h"
#include "named/handle.h"
#include "named/table.h"

#define NM_LOCK_SLOT_BITS 13
#define NM_LOCK_SLOT_MASK ((UINT32_C(1) << NM_LOCK_SLOT_BITS) - 1)

struct weir_ctx;

/* The limits of a wait for the lock.  A null pointer: no limit. */
struct nm_limit {
	int64_t deadline_ns;
	const struct weir_ctx *ctx;	/* null: none */
	const uint32_t *stop;		/* ends the wait if not 0; null: none */
	bool brief;			/* at most some milliseconds */
	bool interruptible;		/* a signal handler ends the wait */
};

/* Returns the value that a slot's owner writes into the lock word. */
static inline uint32_t nm_lock_id(uint32_t ref, uint32_t state)
{
	return ref | state / (NM_SLOT_MASK + 1) << NM_LOCK_SLOT_BITS;
}

/* Returns the slot that owns the lock, or null. */
static inline struct nm_slot *nm_lock_owner(weir_named *h, uint64_t lock)
{
	uint32_t ref = (uint32_t)lock & NM_LOCK_SLOT_MASK;

	return nm_slot_at(h, &ref);
}

/* As nm_lock, for a lock that is contended or whose holder is dead. */
weir_err weir_nm_lock_slow_(weir_named *h, const struct nm_limit *limit);

/* Called if our slot is not ours any more: unlock, and return the error. */
weir_err weir_nm_lock_lost_(weir_named *h);

/* Wake one thread that sleeps for the lock. */
void weir_nm_wake_lock_(weir_named *h);

/* As nm_unlock, if the critical section has collected threads to wake. */
void weir_nm_unlock_waking_(weir_named *h);

/* Returns true if our slot is still ours.  Called with the lock held. */
static inline bool nm_is_ours(const weir_named *h)
{
	/* relaxed: changed under the lock, which we hold. */
	return at_load_relaxed(&h->mine->state) == h->state &&
	       at_load_relaxed(&h->mine->alive.word) == h->alive;
}

/*
 * Take the lock as `id` if it is free.  Returns the lock word, or 0 if the lock
 * is not taken, which may happen spuriously.
 */
static inline uint64_t nm_try_lock(weir_named *h, uint32_t id)
{
	/* relaxed: the CAS validates it. */
	uint64_t seen = at_load_relaxed(&h->head->lock);
	uint64_t lock = seen | id;

	/* [NL1] acquire */
	return !(uint32_t)seen &&
	       at_cas_weak_acquire(&h->head->lock, &seen, lock) ? lock : 0;
}

/*
 * Release the lock, whose word is `lock`.  Returns true if a thread may sleep
 * for it.
 */
static inline bool nm_release(weir_named *h, uint64_t lock)
{
	uint32_t *awaited = &h->head->awaited;

	/* [NL1] release: clear the owner and add 1 to the count. */
	at_store_release(&h->head->lock, (lock | UINT32_MAX) + 1);
	weir_fence_light_();
	/* [NL1] release: without the light fence, an RMW gives the order. */
	/* relaxed: ordered by this fence and a contender's heavy one. */
	return h->has_fences ? at_load_relaxed(awaited) :
			       at_add_acq_rel(awaited, 0);
}

/*
 * Unlock, if the critical section has collected no threads to wake.  `lock` is
 * the lock word.  The caller passes it because a load right after the CAS would
 * wait for the CAS: that costs 6% of an uncontended acquire and release.
 */
static inline void nm_unlock_word(weir_named *h, uint64_t lock)
{
	if (nm_release(h, lock))
		weir_nm_wake_lock_(h);
}

/* Unlock; then wake the threads that the critical section has collected. */
static inline void nm_unlock(weir_named *h)
{
	if (h->wakes.due)
		weir_nm_unlock_waking_(h);
	else
		/* relaxed: no other thread changes it while we hold the lock. */
		nm_unlock_word(h, at_load_relaxed(&h->head->lock));
}

/*
 * Take the lock.  If its holder has died, the file has been repaired when this
 * returns.  After an error the lock is not held.  The errors are those of the
 * limit, WEIR_EAGAIN if the limit is brief, and WEIR_ESYSTEM with EBADMSG if
 * our slot is not ours any more: this process is being killed, or the file is
 * damaged.
 */
static inline weir_err nm_lock(weir_named *h, const struct nm_limit *limit)
{
	if (!nm_try_lock(h, h->lock_id))
		return weir_nm_lock_slow_(h, limit);
	return nm_is_ours(h) ? WEIR_OK : weir_nm_lock_lost_(h);
}

/* Take the lock if it is free.  Returns false otherwise, maybe spuriously. */
static inline bool nm_lock_now(weir_named *h)
{
	return nm_try_lock(h, h->lock_id) &&
	       (nm_is_ours(h) || weir_nm_lock_lost_(h) == WEIR_OK);
}

#endif /* WEIR_NAMED_LOCK_H */
