/* SPDX-License-Identifier: MIT */
/*
 * Participants, and burying dead ones.
 *
 * A slot's state changes from LIVE by CAS, because an owner that leaves frees
 * its slot without the lock, and a joining process takes over a dead slot
 * without the lock.
 *
 * Pairs
 *
 *   [NT1] slot   release: weir_nm_free_slot_, take_over, claim_any, keep
 *                acquire: weir_nm_is_taken_, weir_nm_free_slot_, weir_nm_bury_
 *                A process that finds a slot free sees that its former owner
 *                has finished with it; a process that finds a slot live sees
 *                its fields set.
 *                A process that finds a slot claimed also finds that the file
 *                is stale, unless a repair has begun since.
 *   [NT2] stale  release: take_over   acquire: weir_nm_repair_
 *                A repair that clears it sees that the former owner of the slot
 *                is dead.  Every store of it is an RMW: a repair that reads the
 *                store of one open has acquired those of the others.
 */
#include "named/record.h"
#include "named/table.h"

static bool has_died(const struct nm_slot *slot)
{
	/* relaxed: the lock orders the owner's writes. */
	return !weir_is_alive_(at_load_relaxed(&slot->alive.word));
}

bool weir_nm_is_taken_(const struct nm_slot *slot)
{
	/* [NT1] acquire */
	return (at_load_acquire(&slot->state) & NM_SLOT_MASK) == NM_SLOT_LIVE;
}

bool weir_nm_is_live_(const struct nm_slot *slot)
{
	return weir_nm_is_taken_(slot) && !has_died(slot);
}

bool weir_nm_is_dead_(const struct nm_slot *slot)
{
	return weir_nm_is_taken_(slot) && has_died(slot);
}

void weir_nm_mark_dead_(struct nm_slot *slot)
{
	/* relaxed: the owner is dead and does not change it any more. */
	at_store_relaxed(&slot->alive.word, WEIR_DIED_);
}

void weir_nm_mark_gone_(weir_named *h, struct nm_slot *slot)
{
	int64_t byte = NM_BYTE_ALIVE(slot - h->slots);

	if (slot == h->mine || !weir_nm_is_live_(slot) ||
	    !weir_nm_byte_lock_(h->fd, byte))
		return;
	/* The slot cannot get a new owner while we have its byte locked. */
	if (weir_nm_is_live_(slot))
		weir_nm_mark_dead_(slot);
	weir_nm_byte_unlock_(h->fd, byte);
}

bool weir_nm_any_dead_(const weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	for (uint32_t i = 0; i < high; i++)
		if (&h->slots[i] != h->mine && weir_nm_is_dead_(&h->slots[i]))
			return true;
	/* relaxed: a hint; the sweep reads it again. */
	return at_load_relaxed(&h->head->stale);
}

bool weir_nm_free_slot_(struct nm_slot *slot, uint32_t state)
{
	uint32_t seen;

	/* [NT1] acquire: if the slot was taken over, the file is stale. */
	while ((seen = at_load_acquire(&slot->state)) == state)
		/* [NT1] release */
		if (at_cas_weak_release(&slot->state, &seen,
					state - NM_SLOT_LIVE + NM_SLOT_FREE))
			return true;
	return false;
}

void weir_nm_reclaimed_(weir_named *h, int64_t permits)
{
	/* relaxed: a count for display. */
	if (permits > 0)
		at_add_relaxed(&h->head->reclaimed, (uint64_t)permits);
}

static bool is_of(const struct nm_record *record, uint32_t ref)
{
	return (weir_nm_word_of_(record) & NM_REC_MASK) != NM_REC_FREE &&
	       record->owner == ref;
}

static bool holds_permits(weir_named *h, const struct nm_slot *slot)
{
	uint32_t high = nm_records_high(h), ref = nm_slot_ref(h, slot);

	/* relaxed: a joining process that reuses the slot stores 0. */
	if (at_load_relaxed(&slot->held) > 0)
		return true;
	for (uint32_t i = 0; i < high; i++)
		if (is_of(&h->records[i], ref) &&
		    nm_has_permits(weir_nm_word_of_(&h->records[i])))
			return true;
	return false;
}

/*
 * Free the records of a dead participant.  If it lingers, its records with
 * permits stay.
 */
static void drop_records(weir_named *h, const struct nm_slot *slot, bool lingers)
{
	uint32_t high = nm_records_high(h), ref = nm_slot_ref(h, slot);

	for (uint32_t i = 0; i < high; i++) {
		struct nm_record *record = &h->records[i];
		bool permits = nm_has_permits(weir_nm_word_of_(record));

		if (!is_of(record, ref) || (permits && lingers))
			continue;
		if (permits)
			h->head->value = nm_plus(h->head->value, record->got);
		weir_nm_record_free_(h, record);
		/*
		 * Count the permits when the record is free: if this process dies
		 * before, the next one frees the record and counts them.
		 */
		if (permits)
			weir_nm_reclaimed_(h, record->got);
	}
}

/*
 * Returns true if a thread of the dead owner still runs, or if a process has a
 * lent descriptor of the owner.
 */
static bool is_held_on(const weir_named *h, const struct nm_slot *slot)
{
	/* relaxed: the owner is dead and does not change it any more. */
	uint64_t lent = at_load_relaxed(&slot->lent);

	return weir_nm_byte_is_locked_(h->fd, NM_BYTE_ALIVE(slot - h->slots)) ||
	       (lent && weir_nm_is_lent_(h, lent));
}

bool weir_nm_bury_(weir_named *h, struct nm_slot *slot)
{
	/*
	 * Read the state first.  A handle that is being closed also seems dead,
	 * and frees its slot itself; the slot may have a new owner before this
	 * function has finished.
	 */
	/* [NT1] acquire */
	uint32_t state = at_load_acquire(&slot->state);
	int64_t held;
	bool lingers;

	if ((state & NM_SLOT_MASK) != NM_SLOT_LIVE || !has_died(slot))
		return false;
	/* The dead process may owe wake-ups. */
	weir_nm_wake_all_later_(h);
	lingers = h->strict && holds_permits(h, slot) && is_held_on(h, slot);
	drop_records(h, slot, lingers);
	if (lingers) {
		/* relaxed: as below; for display. */
		at_store_relaxed(&slot->lingers, 1);
		h->lingers = true;
		return false;
	}
	/*
	 * relaxed: only the value matters.  A swap: not both this process and a
	 * new owner of the slot count the permits.
	 */
	held = at_swap_relaxed(&slot->held, 0);
	h->head->value = nm_plus(h->head->value, held);
	weir_nm_reclaimed_(h, held);
	weir_nm_remove_lent_(h, slot, state);
	/*
	 * The CAS fails if an open has taken over the slot.  Then the slot does
	 * not count as buried: the open may have cleared `held` before it was read.
	 */
	if (weir_nm_free_slot_(slot, state))
		h->buried += nm_hash_state(state);
	return true;
}

void weir_nm_sweep_(weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	h->lingers = false;
	/* relaxed: repair acquires it; the lock orders earlier repairs. */
	if (at_load_relaxed(&h->head->stale))
		weir_nm_repair_(h);
	for (uint32_t i = 0; i < high; i++)
		if (&h->slots[i] != h->mine && weir_nm_is_dead_(&h->slots[i]))
			weir_nm_bury_(h, &h->slots[i]);
	weir_nm_grant_all_(h);
}
