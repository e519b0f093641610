/* SPDX-License-Identifier: MIT */
/*
 * The only code that grants and ends waits.
 *
 * A lock holder decides a record by CAS, because the call of the record may
 * leave at the same moment, without the lock.  A record whose call has left
 * stays linked until it is the head of the queue, or until its owner folds it.
 */
#include "named/record.h"
#include "named/table.h"

/* Decide an undecided record.  Returns false if its call has left. */
static bool decide(struct nm_record *record, uint32_t state)
{
	uint32_t seen = weir_nm_word_of_(record);

	while (nm_is_undecided(seen))
		if (weir_nm_change_(record, &seen, state))
			return true;
	return false;
}

/*
 * End the wait of a record with `outcome`.  Wake its thread even if the call
 * has left: in a damaged file the thread may sleep.
 */
static void end_wait(weir_named *h, struct nm_record *record, weir_err outcome)
{
	record->outcome = (int32_t)outcome;
	weir_nm_wake_later_(h, record);
	if (decide(record, NM_REC_ENDED))
		weir_nm_unlink_(h, record);
}

/* Move an undecided record to another undecided state. */
static void move(weir_named *h, struct nm_record *record, uint32_t state)
{
	if (state == NM_REC_OVERSIZED)
		record->apart = h->head->next_ticket;
	else
		record->ticket = h->head->next_ticket;
	if (decide(record, state)) {
		weir_nm_unlink_(h, record);
		weir_nm_link_(h, record, state);
	}
}

/*
 * Called when the weight is above the capacity: end the wait with an error if
 * it has no context, otherwise move the record to the oversized list.
 */
static void set_oversized(weir_named *h, struct nm_record *record)
{
	if (record->flags & NM_REC_HAS_CTX)
		move(h, record, NM_REC_OVERSIZED);
	else
		end_wait(h, record, WEIR_ETOOBIG);
}

static void grant(weir_named *h, struct nm_record *record)
{
	int64_t got = record->max < h->head->value ? record->max :
						     h->head->value;

	record->got = got;
	if (decide(record, NM_REC_GRANTED)) {
		h->head->value = nm_minus(h->head->value, got);
		weir_nm_wake_later_(h, record);
		weir_nm_unlink_(h, record);
	}
}

/* Returns true if the head of the queue contradicts the rest of the file. */
static bool is_damaged(weir_named *h, const struct nm_record *record)
{
	uint32_t state = weir_nm_word_of_(record) & NM_REC_MASK;
	const struct nm_slot *owner = nm_slot_at(h, &record->owner);

	return (state != NM_REC_WAITS && state != NM_REC_LEFT) ||
	       record->linked != NM_REC_WAITS || record->min < 1 ||
	       record->max < record->min ||
	       h->head->value > h->head->capacity || !owner ||
	       /* relaxed: the state of a slot in use does not change. */
	       at_load_relaxed(&owner->state) != record->owner_state;
}

/*
 * Clean a record whose call has left without the lock.  Wake its thread too: in
 * a damaged file the thread may sleep.
 */
static void clean(weir_named *h, struct nm_record *record)
{
	weir_nm_record_clean_(h, record);
	weir_nm_wake_later_(h, record);
}

/* Decide the head of the queue.  Returns false if it must wait. */
static bool serve(weir_named *h, struct nm_record *record)
{
	struct nm_slot *owner = nm_slot_at(h, &record->owner);

	/* Repair removes all these contradictions. */
	if (is_damaged(h, record))
		weir_nm_repair_(h);
	else if (!nm_is_undecided(weir_nm_word_of_(record)))
		clean(h, record);
	else if (owner != h->mine && weir_nm_is_dead_(owner))
		weir_nm_bury_(h, owner);
	else if (h->head->closed == NM_CLOSED)
		end_wait(h, record, WEIR_ECLOSED);
	else if (nm_is_paused(h))
		return false;
	else if (record->min <= h->head->value)
		grant(h, record);
	else if (nm_is_closed(h))
		end_wait(h, record, WEIR_ECLOSED);
	else
		return false;
	return true;
}

/*
 * End every record that is linked as `state`: it is undecided, or its call has
 * left without the lock.
 */
static void end_all(weir_named *h, uint32_t state, weir_err outcome)
{
	uint32_t high = nm_records_high(h);

	for (uint32_t i = 0; i < high; i++) {
		struct nm_record *record = &h->records[i];
		uint32_t word = weir_nm_word_of_(record);

		if (record->linked != state)
			continue;
		if (nm_is_undecided(word) ||
		    (word & NM_REC_MASK) == NM_REC_LEFT)
			end_wait(h, record, outcome);
		else
			weir_nm_repair_(h);
	}
}

void weir_nm_grant_all_(weir_named *h)
{
	/*
	 * A record takes at most two rounds, because its call may leave before
	 * it is decided.  A repair happens at most once.
	 */
	for (uint32_t rounds = 0; rounds <= 2 * NM_RECORDS; rounds++) {
		struct nm_record *record =
			nm_record_at(h, &h->head->queue_first);

		if (!record || !serve(h, record))
			break;
	}
	if (h->head->oversized && nm_is_closed(h))
		end_all(h, NM_REC_OVERSIZED, WEIR_ECLOSED);
	if (h->head->idlers && h->head->value == h->head->capacity)
		end_all(h, NM_REC_IDLE, WEIR_OK);
}

/*
 * Collect the records in `state` that fit the capacity (or, if `fits` is false,
 * do not fit), oldest first.
 */
static uint32_t find_fitting(weir_named *h, uint32_t state, bool fits)
{
	struct nm_place *order = h->scratch->order;
	uint32_t high = nm_records_high(h), count = 0;

	for (uint32_t i = 0; i < high; i++) {
		const struct nm_record *record = &h->records[i];

		if (record->linked != state ||
		    (record->min <= h->head->capacity) != fits)
			continue;
		order[count++] = (struct nm_place){
			state == NM_REC_OVERSIZED ? record->apart :
						    record->ticket,
			i
		};
	}
	weir_nm_sort_(order, count);
	return count;
}

void weir_nm_regrant_all_(weir_named *h)
{
	const struct nm_place *order = h->scratch->order;
	uint32_t count = find_fitting(h, NM_REC_WAITS, false);

	for (uint32_t i = 0; i < count; i++)
		set_oversized(h, &h->records[order[i].index]);
	count = find_fitting(h, NM_REC_OVERSIZED, true);
	for (uint32_t i = 0; i < count; i++)
		move(h, &h->records[order[i].index], NM_REC_WAITS);
	weir_nm_grant_all_(h);
}
