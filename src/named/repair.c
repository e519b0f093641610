/* SPDX-License-Identifier: MIT */
/*
 * Repair: make everything derived again from what is true.
 *
 * Runs when the lock was taken from the dead, and when something is found that
 * cannot be.  It reads the slots and records and nothing else, so it does not
 * matter how far the dead had come, nor whether that was in here.  Whatever is
 * out of bounds is brought into them.
 */
#include <string.h>

#include "named/handle.h"

static int64_t bounded(int64_t n)
{
	return n < 0 ? 0 : n > WEIR_SEM_MAX ? WEIR_SEM_MAX : n;
}

/* Who is there and what they hold; returns how much that is. */
static int64_t repair_slots(weir_named *h)
{
	uint32_t high = nm_slots_high(h);
	int64_t held = 0, own;

	h->head->holders = 0;
	h->head->chain_first = h->head->chain_last = 0;
	memset(h->head->armed_by, 0, sizeof(h->head->armed_by));
	memset(h->head->armed, 0, sizeof(h->head->armed));
	for (uint32_t i = 0; i < high; i++) {
		struct nm_slot *slot = &h->slots[i];

		slot->in_use = 0;
		slot->listed = slot->holder_next = slot->holder_prev = 0;
		slot->chain_next = slot->chain_prev = 0;
		slot->role = slot->armed_pred = 0;
		if (!weir_nm_is_live_(slot) && !weir_nm_is_dead_(slot))
			continue;
		/* Read once: somebody may be writing nonsense right now. */
		own = bounded(slot->held);
		if (own > WEIR_SEM_MAX - held)
			own = WEIR_SEM_MAX - held;
		held += own;
		slot->held = own;
		if (own)
			weir_nm_list_holder_(h, slot);
	}
	return held;
}

/* Whose call a record stands for; null if nobody's who is there. */
static struct nm_slot *sound_owner(weir_named *h,
				   const struct nm_record *record)
{
	uint32_t state = weir_nm_state_of_(record);
	struct nm_slot *owner = nm_slot_at(h, &record->owner);

	/* relaxed: owners that are there do not change. */
	if (owner && at_load_relaxed(&owner->state) == record->owner_state &&
	    (record->owner_state & NM_SLOT_MASK) == NM_SLOT_LIVE &&
	    state != NM_REC_FREE && state <= NM_REC_ENDED &&
	    (state == NM_REC_IDLE ||
	     (record->min >= 1 && record->min <= record->max &&
	      record->max <= WEIR_SEM_MAX)))
		return owner;
	return NULL;
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

/* Sort in private memory: no allocation, and nobody can change it meanwhile. */
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

/* Free those that stand for nothing; collect the queue; returns its length. */
static uint32_t repair_records(weir_named *h, int64_t *granted)
{
	uint32_t high = nm_records_high(h), count = 0;

	h->head->free_record = h->head->in_use = 0;
	h->head->oversized = h->head->idlers = 0;
	for (uint32_t i = 0; i < high; i++) {
		struct nm_record *record = &h->records[i];
		struct nm_slot *owner = sound_owner(h, record);

		record->next = record->prev = 0;
		if (!owner) {
			record->state = NM_REC_FREE;
			record->owner = 0;
			record->next = h->head->free_record;
			h->head->free_record = i + 1;
			continue;
		}
		h->head->in_use++;
		owner->in_use++;
		if (record->state == NM_REC_WAITS)
			h->scratch->order[count++] =
				(struct nm_place){ record->ticket, i };
		else if (record->state == NM_REC_OVERSIZED)
			h->head->oversized++;
		else if (record->state == NM_REC_IDLE)
			h->head->idlers++;
		if (record->state == NM_REC_GRANTED) {
			int64_t got = bounded(record->got);

			if (got > WEIR_SEM_MAX - *granted)
				got = 0;
			*granted += got;
			record->got = got;
		}
		/* Who died may have owed it a wake-up. */
		if (record->state != NM_REC_WAITS)
			weir_nm_record_wake_(record);
	}
	return count;
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

void weir_nm_repair_(weir_named *h)
{
	uint32_t high = nm_slots_high(h), count;
	int64_t held, capacity, granted = 0;

	/* What the end of a repair finds damaged is being damaged right now. */
	if (h->repairing)
		return;
	h->repairing = true;
	held = repair_slots(h);
	h->head->repairs++;
	capacity = bounded(h->head->capacity);
	h->head->capacity = capacity;
	count = repair_records(h, &granted);
	repair_queue(h, count);
	h->head->value = capacity - held - granted;
	/* Everybody who waits looks for itself what to watch. */
	for (uint32_t i = 0; i < high; i++)
		if (h->slots[i].in_use)
			weir_nm_chain_add_(h, &h->slots[i]);
	weir_nm_sweep_all_(h);
	/* C11: who died may have been about to, after a change of capacity. */
	weir_nm_regrant_all_(h);
	h->repairing = false;
}
