/* SPDX-License-Identifier: MIT */
/*
 * The contended paths of the lock inside the file.  lock.h has the uncontended
 * paths.
 *
 *    31 .. 13                          12 .. 0
 *   +---------------------------------+--------------------+
 *   | generation of the owner's slot  | the slot, plus 1   |
 *   +---------------------------------+--------------------+
 *
 * 0 means free.  The word contains the slot of its owner, so the liveness words
 * of that slot show whether the owner is alive, in any PID namespace.  The
 * generation distinguishes successive owners of a slot.  All ones means a
 * joining process, which has no slot yet: it is alive as long as it locks the
 * join byte.
 *
 * The word `awaited` must be set while a thread sleeps for the lock.  It may be
 * set without a sleeper, which costs one wake-up.  A contender sets `awaited`
 * and then reads the lock again; an unlocking thread clears the lock and then
 * reads `awaited`.  One of the two must see the other's store, so both need a
 * fence between store and load.  The unlocking thread uses the light fence,
 * because every unlock needs it.  Without asymmetric fences, or if a contender
 * dies after it was woken and before it woke the next one, the wake-up is lost:
 * so sleepers wake up by themselves after RECHECK_NS.
 */
#include "base/atomic.h"
#include "base/cpu.h"
#include "named/handle.h"
#include "named/lock.h"

#define SPINS 200

/*
 * A thread that sleeps for the lock examines the lock holder again after this
 * time.  Normally the lock is held for microseconds.
 */
#define RECHECK_NS 4000000

/* The time for which threads of a dead owner may continue to run: see grace. */
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
	/* relaxed: the slot of a dead owner does not change any more. */
	state = at_load_relaxed(&slot->state);
	return nm_lock_id(nm_slot_ref(h, slot), state) != lock ||
	       !weir_nm_is_live_(slot);
}

/*
 * Let the threads of a dead owner end.  A killed process counts as dead when
 * its keeper thread ends.  Its other threads end at about the same time, each
 * when the signal reaches its CPU, so one of them may still be about to write
 * to the file.  Wait until the open files of the process are closed, which
 * happens last, or for longer than any CPU takes to be interrupted.
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
	int64_t until = weir_deadline_after(RECHECK_NS);

	if (!slot || !h->can_wait_any) {
		weir_shared_wait_(&h->head->lock, lock, until);
		return;
	}
	watches[1].word = &slot->alive[NM_ALIVE_LOCK].word;
	/* relaxed: only a change of the value matters. */
	watches[1].value = at_load_relaxed(watches[1].word);
	if (weir_is_alive_(watches[1].value))
		weir_shared_wait_any_(watches, 2, until);
}

/* Announce that this thread will sleep.  Returns false if the lock changed. */
static bool announce(weir_named *h, uint32_t seen)
{
	/* relaxed: the fence orders the store. */
	at_store_relaxed(&h->head->awaited, 1);
	(void)weir_fence_heavy_();
	/* relaxed: the fence orders the load. */
	return at_load_relaxed(&h->head->lock) == seen;
}

/* Take the lock.  Returns true if it was taken from a dead owner. */
static bool contend(weir_named *h, uint32_t id)
{
	uint32_t *lock = &h->head->lock, seen;
	int spins = weir_cpu_has_others_() ? SPINS : 0;
	bool stolen = false, slept = false;

	for (;;) {
		/* relaxed: the CAS below validates it. */
		seen = at_load_relaxed(lock);
		if (!seen || is_gone(h, seen)) {
			stolen = seen;
			if (stolen)
				grace(h, seen);
			/*
			 * [NL1] acquire.  This thread also sees the writes of a
			 * dead owner.
			 */
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
	/*
	 * More threads may sleep: the wake-up cleared `awaited` and woke only
	 * one thread.
	 */
	if (slept || stolen)
		/* relaxed: this thread reads it when it unlocks. */
		at_store_relaxed(&h->head->awaited, 1);
	return stolen;
}

void weir_nm_wake_lock_(weir_named *h)
{
	/* relaxed: the woken thread sets it again. */
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
