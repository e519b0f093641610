/* SPDX-License-Identifier: MIT */
/*
 * Participants: the holder list, and burying dead participants.
 *
 * A slot's state changes from LIVE to FREE by CAS, because an owner that leaves
 * does so without the lock.  The process whose CAS succeeds frees the slot.
 *
 * Pairs
 *
 *   [NT1] slot  release: free_slot, join_locked, weir_nm_leave_
 *               acquire: claim, is_taken, weir_nm_bury_
 *               A process that finds a slot free sees that its former owner has
 *               finished with it; a process that finds a slot live sees its
 *               fields set.
 */
#include "named/handle.h"

static bool has_died(const struct nm_slot *slot)
{
	for (int i = 0; i < WEIR_ALIVE_WORDS_; i++)
		/* relaxed: the lock orders the owner's writes. */
		if (!weir_is_alive_(at_load_relaxed(&slot->alive[i].word)))
			return true;
	return false;
}

static bool is_taken(const struct nm_slot *slot)
{
	/* [NT1] acquire */
	return (at_load_acquire(&slot->state) & NM_SLOT_MASK) == NM_SLOT_LIVE;
}

bool weir_nm_is_live_(const struct nm_slot *slot)
{
	return is_taken(slot) && !has_died(slot);
}

bool weir_nm_is_dead_(const struct nm_slot *slot)
{
	return is_taken(slot) && has_died(slot);
}

void weir_nm_mark_dead_(struct nm_slot *slot)
{
	for (int i = 0; i < WEIR_ALIVE_WORDS_; i++)
		/* relaxed: the owner is dead and changes it no more. */
		at_store_relaxed(&slot->alive[i].word, WEIR_DIED_);
}

void weir_nm_list_holder_(weir_named *h, struct nm_slot *slot)
{
	struct nm_slot *first = nm_slot_at(h, &h->head->holders);

	if (slot->listed)
		return;
	slot->listed = 1;
	slot->holder_prev = 0;
	slot->holder_next = h->head->holders;
	if (first)
		first->holder_prev = nm_slot_ref(h, slot);
	h->head->holders = nm_slot_ref(h, slot);
}

void weir_nm_unlist_holder_(weir_named *h, struct nm_slot *slot)
{
	struct nm_slot *prev = nm_slot_at(h, &slot->holder_prev);
	struct nm_slot *next = nm_slot_at(h, &slot->holder_next);

	if (!slot->listed)
		return;
	if (prev)
		prev->holder_next = slot->holder_next;
	else
		h->head->holders = slot->holder_next;
	if (next)
		next->holder_prev = slot->holder_prev;
	slot->listed = 0;
	slot->holder_next = slot->holder_prev = 0;
}

void weir_nm_forget_arms_(weir_named *h, const struct nm_slot *slot)
{
	uint32_t index = (uint32_t)(slot - h->slots);

	for (uint32_t r = 0; r < NM_ROLES; r++) {
		h->head->armed[r][index / 64] &=
			~(UINT64_C(1) << index % 64);
		if (h->head->armed_by[r] == index + 1)
			h->head->armed_by[r] = 0;
	}
}

/* Free the slot if it still has this state. */
static void free_slot(struct nm_slot *slot, uint32_t state)
{
	/* relaxed: the CAS validates it. */
	uint32_t seen = at_load_relaxed(&slot->state);

	/* [NT1] release */
	while (seen == state &&
	       !at_cas_weak_release(&slot->state, &seen,
				    state - NM_SLOT_LIVE + NM_SLOT_FREE))
		;
}

static void drop_records(weir_named *h, const struct nm_slot *slot)
{
	uint32_t high = nm_records_high(h), ref = nm_slot_ref(h, slot);

	for (uint32_t i = 0; i < high && slot->in_use; i++)
		if (h->records[i].state != NM_REC_FREE &&
		    h->records[i].owner == ref)
			weir_nm_record_free_(h, &h->records[i]);
}

/*
 * Returns true if a thread of the dead owner is still running, or a process to
 * which the owner has lent its permits.
 */
static bool is_held_on(const weir_named *h, const struct nm_slot *slot)
{
	return weir_nm_byte_is_locked_(h->fd, NM_BYTE_ALIVE(slot - h->slots)) ||
	       (slot->lent && weir_nm_is_lent_(h, slot->lent));
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

	if ((state & NM_SLOT_MASK) != NM_SLOT_LIVE || !has_died(slot))
		return false;
	drop_records(h, slot);
	weir_nm_chain_remove_(h, slot);
	if (h->strict && slot->held > 0 && is_held_on(h, slot)) {
		h->lingers = true;
		return false;
	}
	h->head->value = nm_plus(h->head->value, slot->held);
	slot->held = 0;
	weir_nm_unlist_holder_(h, slot);
	weir_nm_forget_arms_(h, slot);
	weir_nm_unlend_(h, slot);
	free_slot(slot, state);
	return true;
}

void weir_nm_sweep_(weir_named *h)
{
	struct nm_slot *slot, *next;
	uint32_t count = 0;

	h->lingers = false;
	for (slot = nm_slot_at(h, &h->head->holders); slot; slot = next) {
		next = nm_slot_at(h, &slot->holder_next);
		if (slot != h->mine && weir_nm_is_dead_(slot))
			weir_nm_bury_(h, slot);
		else if (slot->held == 0)
			weir_nm_unlist_holder_(h, slot);
		/* A list longer than the table has a cycle: damaged. */
		if (++count > NM_SLOTS) {
			weir_nm_repair_(h);
			return;
		}
	}
	for (slot = nm_slot_at(h, &h->head->chain_first), count = 0; slot;
	     slot = next) {
		next = nm_slot_at(h, &slot->chain_next);
		if (slot != h->mine && weir_nm_is_dead_(slot))
			weir_nm_bury_(h, slot);
		if (++count > NM_SLOTS) {
			weir_nm_repair_(h);
			return;
		}
	}
}

void weir_nm_sweep_all_(weir_named *h)
{
	uint32_t high = nm_slots_high(h);

	weir_nm_sweep_(h);
	for (uint32_t i = 0; i < high; i++)
		if (&h->slots[i] != h->mine && weir_nm_is_dead_(&h->slots[i]))
			weir_nm_bury_(h, &h->slots[i]);
}
