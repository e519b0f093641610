/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_TABLE_H
#define WEIR_NAMED_TABLE_H

/*
 * Participants.  These functions require the lock (lock.h) unless a comment
 * states otherwise.
 */
#include "named/handle.h"

static inline struct nm_slot *nm_slot_at(weir_named *h, const uint32_t *ref)
{
	uint32_t index = nm_index(ref, NM_SLOTS);

	return index < NM_SLOTS ? &h->slots[index] : NULL;
}

static inline uint32_t nm_slot_ref(const weir_named *h,
				   const struct nm_slot *slot)
{
	return (uint32_t)(slot - h->slots) + 1;
}

static inline uint32_t nm_slots_high(const weir_named *h)
{
	/* relaxed: the copy is checked next; the word only grows. */
	uint32_t high = at_load_relaxed(&h->head->slots_high);

	return high < NM_SLOTS ? high : NM_SLOTS;
}

/*
 * A hash of the state of a slot.  Repair compares sums of these: in a sum of the
 * states themselves, several participants that leave could cancel out one that
 * joins, because the generations are consecutive numbers.
 */
static inline uint64_t nm_hash_state(uint32_t state)
{
	uint64_t hash = state * UINT64_C(0x9e3779b97f4a7c15);

	return hash ^ hash >> 32;
}

/*
 * weir_nm_is_taken_ returns true if the slot is in use.  weir_nm_is_live_ and
 * weir_nm_is_dead_ return true if the slot is in use and its owner is alive, or
 * dead.  weir_nm_any_dead_ returns true if any slot but ours has a dead owner,
 * or if the file needs a repair (`stale`).  These functions need no lock.
 */
bool weir_nm_is_taken_(const struct nm_slot *slot);
bool weir_nm_is_live_(const struct nm_slot *slot);
bool weir_nm_is_dead_(const struct nm_slot *slot);
bool weir_nm_any_dead_(const weir_named *h);

/* Mark the owner of a slot as dead, as the kernel does. */
void weir_nm_mark_dead_(struct nm_slot *slot);

/*
 * Mark the owner of a slot as dead if the slot is in use and its byte is not
 * locked.  A file has such slots if the machine has been booted since, or if a
 * process has damaged the file.  Called without the lock.
 */
void weir_nm_mark_gone_(weir_named *h, struct nm_slot *slot);

/* Count permits that a dead owner had.  Needs no lock. */
void weir_nm_reclaimed_(weir_named *h, int64_t permits);

/*
 * Free the slot if it still has this state; otherwise return false.  Needs no
 * lock.
 */
bool weir_nm_free_slot_(struct nm_slot *slot, uint32_t state);

/*
 * Reclaim the permits, the records and the slot of a dead participant.  Returns
 * true if the slot has been freed.
 */
bool weir_nm_bury_(weir_named *h, struct nm_slot *slot);

/* Bury all dead participants, and grant. */
void weir_nm_sweep_(weir_named *h);

#endif /* WEIR_NAMED_TABLE_H */
