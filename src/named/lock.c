/* SPDX-License-Identifier: MIT */
/*
 * The lock inside the file, when it is contended.  When not: lock.h.
 *
 *    31 .. 13                          12 .. 0
 *   +---------------------------------+--------------------+
 *   | generation of the owner's slot  | the slot, plus 1   |
 *   +---------------------------------+--------------------+
 *
 * 0 is free.  The owner is named by its slot, so whether it lives is what its
 * alive words say, in any PID namespace; the generation tells a slot's owners
 * apart.  All ones is a joiner, who has no slot yet: it lives as long as it
 * locks the joiners' byte.
 *
 * The word `awaited` says that somebody sleeps for the lock.  Legal to leave
 * set with nobody asleep (one wake too many); illegal to leave clear over a
 * sleeper.  A contender sets it and looks at the lock again; an unlocker clears
 * the lock and looks at it.  One of the two must see the other's store, which
 * takes a fence on both sides; the unlocker's is the light one, for it is there
 * each time.  Where there are no such fences, and after a contender died that
 * was to wake the next, a sleeper looks by itself after LOOK_NS.
 */
#include "base/atomic.h"
#include "base/cpu.h"
#include "named/handle.h"
#include "named/lock.h"

#define SPINS 200

/*
 * How long to sleep for a lock that is held for microseconds before looking at
 * its owner again.
 */
#define LOOK_NS 4000000

/* How long a dead owner's threads may take to be gone: see grace. */
#define GRACE_NS 100000
#define GRACES 20

static struct nm_slot *owner_of(weir_named *h, uint32_t lock)
{
	uint32_t ref = lock & NM_LOCK_SLOT_MASK;

	return nm_slot_at(h, &ref);
}

static bool is_gone(weir_named *h, uint32_t lock)
{
	struct nm_slot *slot = owner_of(h, lock);
	uint32_t state;

	if (lock == NM_LOCK_JOINER)
		return !weir_nm_byte_is_locked_(h->fd, NM_BYTE_JOIN);
	if (!slot)
		return true;
	/* relaxed: a dead owner's words do not change any more. */
	state = at_load_relaxed(&slot->state);
	return nm_lock_id(nm_slot_ref(h, slot), state) != lock ||
	       !weir_nm_is_live_(slot);
}

/*
 * A process that is being killed is marked as dead when its keeper ends.  Its
 * other threads end at the same time, each when the signal reaches its CPU, so
 * one of them could be about to write still.  Let it come to its end: until its
 * open files are closed, which comes last, or for longer than any CPU takes.
 */
static void grace(weir_named *h, uint32_t lock)
{
	struct nm_slot *slot = owner_of(h, lock);

	for (int i = 0; slot && i < GRACES; i++) {
		if (!weir_nm_byte_is_locked_(h->fd,
				       NM_BYTE_ALIVE(slot - h->slots)))
			return;
		weir_futex_nap_(GRACE_NS);
	}
}

/* Sleep until the lock changes or its owner dies. */
static void sleep_for(weir_named *h, uint32_t lock)
{
	struct weir_watch_ watches[2] = { { &h->head->lock, lock } };
	struct nm_slot *slot = owner_of(h, lock);
	int64_t until = weir_deadline_after(LOOK_NS);

	if (!slot || !h->can_wait_any) {
		weir_shared_wait_(&h->head->lock, lock, until);
		return;
	}
	watches[1].word = &slot->alive[NM_ALIVE_LOCK].word;
	/* relaxed: only whether it has changed matters. */
	watches[1].value = at_load_relaxed(watches[1].word);
	if (weir_is_alive_(watches[1].value))
		weir_shared_wait_any_(watches, 2, until);
}

/* Say that we sleep; false: the lock has changed meanwhile. */
static bool announce(weir_named *h, uint32_t seen)
{
	/* relaxed: the fence orders it. */
	at_store_relaxed(&h->head->awaited, 1);
	(void)weir_fence_heavy_();
	/* relaxed: behind the fence. */
	return at_load_relaxed(&h->head->lock) == seen;
}

/* Take the lock; true if it was taken from the dead. */
static bool contend(weir_named *h, uint32_t id)
{
	uint32_t *lock = &h->head->lock, seen;
	int spins = weir_cpu_has_others_() ? SPINS : 0;
	bool stolen = false, slept = false;

	for (;;) {
		/* relaxed: the CAS below decides. */
		seen = at_load_relaxed(lock);
		if (!seen || is_gone(h, seen)) {
			stolen = seen;
			if (stolen)
				grace(h, seen);
			/* [NL1] acquire.  Also what the dead did is there. */
			if (at_cas_weak_acquire(lock, &seen, id))
				break;
		} else if (spins > 0) {
			spins--;
			weir_cpu_pause_();
		} else if (announce(h, seen)) {
			slept = true;
			sleep_for(h, seen);
		}
	}
	/* Others may sleep: who wakes one does not know of the rest. */
	if (slept || stolen)
		/* relaxed: we look at it ourselves when we unlock. */
		at_store_relaxed(&h->head->awaited, 1);
	return stolen;
}

void weir_nm_wake_lock_(weir_named *h)
{
	/* relaxed: whoever is woken sets it again. */
	at_store_relaxed(&h->head->awaited, 0);
	weir_shared_wake_(&h->head->lock);
}

bool weir_nm_lock_slow_(weir_named *h)
{
	if (contend(h, h->lock_id))
		weir_nm_repair_(h);
	return nm_is_ours(h);
}

void weir_nm_lock_joining_(weir_named *h)
{
	if (contend(h, NM_LOCK_JOINER))
		weir_nm_repair_(h);
}
