/* SPDX-License-Identifier: MIT */
/*
 * Repair: compute all derived fields again from the source of truth.
 *
 * Repair runs when the lock was taken from a dead process, and when a
 * contradiction is found in the file.  It reads only slots, records and the
 * true fields of the header, so the point at which the dead process stopped
 * does not matter, even if that was inside a repair.  Values out of bounds are
 * clamped or dropped.
 */
#include <string.h>

#include "named/keeper.h"
#include "named/record.h"
#include "named/table.h"

static int64_t bounded(int64_t n)
{
	return n < 0 ? 0 : n > WEIR_SEM_MAX ? WEIR_SEM_MAX : n;
}

/*
 * Replace an invalid number of permits.  This fails if an open has taken over the
 * slot of a dead owner, and has stored that the new owner holds nothing.
 */
static void replace_held(struct nm_slot *slot, int64_t seen, int64_t held)
{
	int64_t invalid = seen;

	while (seen == invalid)
		/* relaxed: only the value matters. */
		if (at_cas_weak_relaxed(&slot->held, &seen, held))
			return;
}

/* Bound the permits that each slot holds.  Returns their sum. */
static int64_t repair_slots(weir_named *h)
{
	uint32_t high = nm_slots_high(h);
	int64_t held = 0, seen, own;

	for (uint32_t i = 0; i < high; i++) {
		struct nm_slot *slot = &h->slots[i];

		if (!weir_nm_is_live_(slot) && !weir_nm_is_dead_(slot))
			continue;
		/*
		 * Read the value once, and do not store one that is valid: an
		 * open that takes over the slot of a dead owner stores 0
		 * without the lock, and its owner would hold these permits.
		 */
		/* relaxed: the lock orders it, or the value is 0. */
		seen = at_load_relaxed(&slot->held);
		own = bounded(seen);
		if (own > WEIR_SEM_MAX - held)
			own = WEIR_SEM_MAX - held;
		held += own;
		if (own != seen)
			replace_held(slot, seen, own);
	}
	return held;
}

/*
 * Returns true if the record stands for a call: it is neither free nor invalid,
 * and its owner is not gone.
 */
static bool is_sound(weir_named *h, const struct nm_record *record,
		     uint32_t state)
{
	struct nm_slot *owner = nm_slot_at(h, &record->owner);

	/* relaxed: the state of a slot in use does not change. */
	return owner && at_load_relaxed(&owner->state) == record->owner_state &&
	       (record->owner_state & NM_SLOT_MASK) == NM_SLOT_LIVE &&
	       state != NM_REC_FREE && state <= NM_REC_LEFT &&
	       (state == NM_REC_IDLE || state == NM_REC_ENDED ||
		state == NM_REC_LEFT ||
		(record->min >= 1 && record->min <= record->max &&
		 record->max <= WEIR_SEM_MAX));
}

static bool is_before(struct nm_place a, struct nm_place b)
{
	return a.ticket < b.ticket ||
	       (a.ticket == b.ticket && a.index < b.index);
}

static void sink(struct nm_place *heap, uint32_t at, uint32_t count)
{
	for (;;) {
		struct nm_place moved = heap[at];
		uint32_t child = 2 * at + 1;

		if (child + 1 < count &&
		    is_before(heap[child], heap[child + 1]))
			child++;
		if (child >= count || !is_before(moved, heap[child]))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

/*
 * Heap sort in private memory.  The sort allocates nothing, and no other
 * process can change the memory meanwhile.
 */
void weir_nm_sort_(struct nm_place *places, uint32_t count)
{
	for (uint32_t i = count / 2; i-- > 0;)
		sink(places, i, count);
	for (uint32_t last = count; last-- > 1;) {
		struct nm_place moved = places[0];

		places[0] = places[last];
		places[last] = moved;
		sink(places, 0, last);
	}
}

/* Bound the permits of a record, and add them to the sum. */
static void repair_got(struct nm_record *record, int64_t *granted)
{
	int64_t got = bounded(record->got);

	if (got > WEIR_SEM_MAX - *granted)
		got = 0;
	*granted += got;
	/*
	 * Do not store a value that is valid: its owner reads it concurrently,
	 * without the lock.
	 */
	// cppcheck-suppress duplicateConditionalAssign
	if (record->got != got)
		record->got = got;
}

/*
 * Returns true if a thread may sleep on a record in which it does not wait for a
 * decision.  Not every such record is damaged: a process may have died before it
 * has unlinked the record, or the slot of a dead owner was taken over.
 */
static bool may_be_damaged(const struct nm_record *record, uint32_t word,
			   bool sound)
{
	if (nm_is_undecided(word))
		return !sound;
	return record->linked ||
	       (!sound && (record->owner || word & NM_REC_MASK));
}

/* Free invalid records and collect the queue.  Returns the queue's length. */
static uint32_t repair_records(weir_named *h, int64_t *granted)
{
	uint32_t high = nm_records_high(h), count = 0;

	h->head->free_record = h->head->in_use = 0;
	h->head->oversized = h->head->idlers = h->head->waiters = 0;
	for (uint32_t i = 0; i < high; i++) {
		struct nm_record *record = &h->records[i];
		/* Read once: the owner may leave concurrently. */
		uint32_t word = weir_nm_word_of_(record);
		uint32_t state = word & NM_REC_MASK;
		bool sound = is_sound(h, record, state);

		/* A woken thread finds that its record is lost. */
		if (may_be_damaged(record, word, sound))
			weir_nm_wake_every_later_(h);
		record->next = record->prev = record->linked = 0;
		if (!sound) {
			weir_nm_record_free_(h, record);
			continue;
		}
		if (h->head->next_ticket <= record->apart)
			h->head->next_ticket = record->apart + 1;
		if (state == NM_REC_WAITS)
			h->scratch->order[count++] =
				(struct nm_place){ record->ticket, i };
		else if (state == NM_REC_OVERSIZED)
			h->head->oversized++;
		else if (state == NM_REC_IDLE)
			h->head->idlers++;
		if (nm_is_undecided(word)) {
			record->linked = state;
			h->head->in_use++;
		}
		if (nm_has_permits(word))
			repair_got(record, granted);
	}
	return count;
}

/* Complete the withdrawals that calls have begun without the lock. */
static void clean_records(weir_named *h)
{
	uint32_t high = nm_records_high(h);

	for (uint32_t i = 0; i < high; i++)
		weir_nm_record_clean_(h, &h->records[i]);
}

static void repair_queue(weir_named *h, uint32_t count)
{
	struct nm_place *order = h->scratch->order;
	uint32_t before = 0;

	weir_nm_sort_(order, count);
	h->head->queue_first = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t ref = order[i].index + 1;

		h->records[order[i].index].prev = before;
		if (before)
			h->records[before - 1].next = ref;
		else
			h->head->queue_first = ref;
		before = ref;
	}
	h->head->queue_last = before;
	h->head->waiters = count;
	if (count && h->head->next_ticket <= order[count - 1].ticket)
		h->head->next_ticket = order[count - 1].ticket + 1;
}

/* Returns a sum of hashes of the states of the slots that are in use. */
static uint64_t sum_of_states(weir_named *h)
{
	uint32_t high = nm_slots_high(h);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < high; i++)
		if (weir_nm_is_taken_(&h->slots[i]))
			/* relaxed: ordered by the load before. */
			sum += nm_hash_state(
				at_load_relaxed(&h->slots[i].state));
	return sum;
}

void weir_nm_repair_(weir_named *h)
{
	int64_t held, capacity, granted = 0;
	uint64_t states;
	uint32_t count;

	/*
	 * This call comes from inside a repair: another process is damaging the
	 * file, or an open has set `stale`.  Do not start a second repair.
	 */
	if (h->repairing)
		return;
	h->repairing = true;
	/* The dead process may owe wake-ups. */
	weir_nm_wake_all_later_(h);
	/* [NT2] acquire */
	(void)at_swap_acquire(&h->head->stale, 0);
	states = sum_of_states(h);
	h->buried = 0;
	held = repair_slots(h);
	h->head->repairs++;
	capacity = bounded(h->head->capacity);
	h->head->capacity = capacity;
	count = repair_records(h, &granted);
	repair_queue(h, count);
	h->head->value = capacity - held - granted;
	clean_records(h);
	weir_nm_sweep_(h);
	/*
	 * An open may have set `stale` before this repair cleared it, and have
	 * taken over a slot after this repair counted the slot's permits.  Then
	 * the file needs another repair.  Our keeper runs a round for it: a
	 * thread that has looked for dead participants meanwhile, without the
	 * lock, has found none and no `stale`.
	 */
	if (sum_of_states(h) + h->buried != states) {
		/*
		 * relaxed: the lock orders it before the next repair.  A swap,
		 * not a store: that repair must also acquire what an open has
		 * released with its own swap.
		 */
		(void)at_swap_relaxed(&h->head->stale, 1);
		weir_nm_kick_(h);
	}
	/*
	 * C11: the dead process may have changed the capacity without moving
	 * records yet.
	 */
	weir_nm_regrant_all_(h);
	h->repairing = false;
}
