/* SPDX-License-Identifier: MIT */
/*
 * Records, each of which stands for a waiting call; and the only code that
 * grants.
 *
 * Every wake-up is sent under the lock.  So no wake-up is missing if a process
 * dies after it has unlocked.  If a process dies before that, its watchers
 * notice the death, take over the lock and repair (docs/design/named.md).
 *
 * Pairs
 *
 *   [NQ1] record  release: set_state   acquire: weir_nm_state_of_
 *                 A record in a state has valid fields for that state, even if
 *                 the writing process died at the next instruction.
 */
#include <errno.h>

#include "named/handle.h"

void weir_nm_record_wake_(struct nm_record *record)
{
	/*
	 * relaxed: the waiter reads it under the lock; the kernel only compares
	 * it.
	 */
	at_add_relaxed(&record->word, 1);
	/*
	 * Wake all, not one: a thread of a killed process may still sleep on
	 * this word after the record was reused, and would swallow a single
	 * wake-up.
	 */
	weir_shared_wake_all_(&record->word);
}

static void set_state(struct nm_record *record, uint32_t state)
{
	/* [NQ1] release */
	at_store_release(&record->state, state);
}

uint32_t weir_nm_state_of_(const struct nm_record *record)
{
	/* [NQ1] acquire */
	return at_load_acquire(&record->state);
}

/* Add one free record at the high end of the table. */
static bool grow(weir_named *h)
{
	uint32_t high = nm_records_high(h);
	size_t from = (size_t)((char *)&h->records[high] - (char *)h->head);

	if (!weir_nm_reserve_(h->fd, from, sizeof(struct nm_record)))
		return false;
	h->records[high] = (struct nm_record){ .next = h->head->free_record };
	h->head->records_high = high + 1;
	h->head->free_record = high + 1;
	return true;
}

struct nm_record *weir_nm_record_new_(weir_named *h, weir_err *err)
{
	struct nm_record *record = nm_record_at(h, &h->head->free_record);

	if (record && record->state != NM_REC_FREE) {
		weir_nm_repair_(h);
		record = nm_record_at(h, &h->head->free_record);
	}
	if (!record) {
		if (nm_records_high(h) == NM_RECORDS) {
			*err = WEIR_EBUSY;
			return NULL;
		}
		if (!grow(h)) {
			*err = WEIR_ESYSTEM;
			return NULL;
		}
		record = nm_record_at(h, &h->head->free_record);
	}
	h->head->free_record = record->next;
	record->next = record->prev = 0;
	record->owner = h->me;
	record->owner_state = h->state;
	record->got = 0;
	record->outcome = 0;
	return record;
}

static void enqueue(weir_named *h, struct nm_record *record)
{
	struct nm_record *last = nm_record_at(h, &h->head->queue_last);
	uint32_t ref = nm_record_ref(h, record);

	record->ticket = h->head->next_ticket++;
	record->next = 0;
	record->prev = h->head->queue_last;
	if (last)
		last->next = ref;
	else
		h->head->queue_first = ref;
	h->head->queue_last = ref;
	h->head->waiters++;
}

/*
 * Put the record on the oversized list.  The order in this list has a separate
 * field: if the process dies between storing the ticket and storing the state,
 * the order of the old state is unchanged.
 */
static void set_apart(weir_named *h, struct nm_record *record)
{
	record->apart = h->head->next_ticket++;
	h->head->oversized++;
}

static void dequeue(weir_named *h, struct nm_record *record)
{
	struct nm_record *prev = nm_record_at(h, &record->prev);
	struct nm_record *next = nm_record_at(h, &record->next);

	if (prev)
		prev->next = record->next;
	else
		h->head->queue_first = record->next;
	if (next)
		next->prev = record->prev;
	else
		h->head->queue_last = record->prev;
	record->next = record->prev = 0;
	h->head->waiters--;
}

/*
 * Undo the effects of the record's state on the queue, the counts and the
 * value.
 */
static void leave_state(weir_named *h, struct nm_record *record)
{
	switch (record->state) {
	case NM_REC_WAITS:
		dequeue(h, record);
		break;
	case NM_REC_OVERSIZED:
		h->head->oversized--;
		break;
	case NM_REC_IDLE:
		h->head->idlers--;
		break;
	case NM_REC_GRANTED:
		h->head->value = nm_plus(h->head->value, record->got);
		break;
	default:
		break;
	}
}

void weir_nm_record_wait_(weir_named *h, struct nm_record *record,
			  uint32_t state)
{
	bool first = record->state == NM_REC_FREE;

	leave_state(h, record);
	if (state == NM_REC_WAITS)
		enqueue(h, record);
	else if (state == NM_REC_OVERSIZED)
		set_apart(h, record);
	else
		h->head->idlers++;
	set_state(record, state);
	if (first) {
		h->head->in_use++;
		if (!h->mine->in_use++)
			weir_nm_chain_add_(h, h->mine);
	}
	weir_nm_watch_last_(h);
}

void weir_nm_record_free_(weir_named *h, struct nm_record *record)
{
	struct nm_slot *owner = nm_slot_at(h, &record->owner);

	leave_state(h, record);
	set_state(record, NM_REC_FREE);
	record->owner = 0;
	record->next = h->head->free_record;
	h->head->free_record = nm_record_ref(h, record);
	h->head->in_use--;
	if (owner && owner->in_use && !--owner->in_use)
		weir_nm_chain_remove_(h, owner);
}

void weir_nm_record_end_(weir_named *h, struct nm_record *record,
			 weir_err outcome)
{
	weir_nm_record_wake_(record);
	leave_state(h, record);
	record->outcome = (int32_t)outcome;
	set_state(record, NM_REC_ENDED);
}

/*
 * Called when the weight is above the capacity: end the wait with an error if
 * it has no context, otherwise move the record to the oversized list.
 */
static void set_oversized(weir_named *h, struct nm_record *record)
{
	if (record->flags & NM_REC_HAS_CTX)
		weir_nm_record_wait_(h, record, NM_REC_OVERSIZED);
	else
		weir_nm_record_end_(h, record, WEIR_ETOOBIG);
}

static void grant(weir_named *h, struct nm_record *record)
{
	int64_t got = record->max < h->head->value ? record->max :
						     h->head->value;

	weir_nm_record_wake_(record);
	dequeue(h, record);
	record->got = got;
	set_state(record, NM_REC_GRANTED);
	h->head->value = nm_minus(h->head->value, got);
}

/* Decide the head of the queue.  Returns false if it must wait. */
static bool serve(weir_named *h, struct nm_record *record)
{
	struct nm_slot *owner = nm_slot_at(h, &record->owner);

	/* The file is damaged; repair removes all these contradictions. */
	if (record->state != NM_REC_WAITS || !owner || record->min < 1 ||
	    record->max < record->min || h->head->value > h->head->capacity)
		weir_nm_repair_(h);
	else if (owner != h->mine && weir_nm_is_dead_(owner))
		weir_nm_bury_(h, owner);
	else if (h->head->closed == NM_CLOSED)
		weir_nm_record_end_(h, record, WEIR_ECLOSED);
	else if (record->min > h->head->capacity)
		set_oversized(h, record);
	else if (nm_is_paused(h))
		return false;
	else if (record->min <= h->head->value)
		grant(h, record);
	else if (nm_is_closed(h))
		weir_nm_record_end_(h, record, WEIR_ECLOSED);
	else
		return false;
	return true;
}

/* End every record in this state. */
static void end_all(weir_named *h, uint32_t state, weir_err outcome)
{
	uint32_t high = nm_records_high(h);

	for (uint32_t i = 0; i < high; i++)
		if (h->records[i].state == state)
			weir_nm_record_end_(h, &h->records[i], outcome);
}

void weir_nm_grant_all_(weir_named *h)
{
	/*
	 * Each round dequeues a record or repairs; a repair happens at most
	 * once.
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

		if (record->state != state ||
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
		weir_nm_record_wait_(h, &h->records[order[i].index],
				     NM_REC_WAITS);
	weir_nm_grant_all_(h);
}
