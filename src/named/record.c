/* SPDX-License-Identifier: MIT */
/*
 * Records, each of which stands for a waiting call: their states, their storage,
 * the lists that link them, and the wake-ups of their threads.
 *
 * Threads are woken after the unlock.  If a process dies before it has woken
 * them, the process that buries it repeats the wake-ups
 * (docs/design/named.md).
 *
 * Pairs
 *
 *   [NQ1] record  release: weir_nm_change_, set_state, weir_nm_record_free_,
 *                 weir_nm_wake_ours_
 *                 acquire: weir_nm_word_of_
 *                 A record in a state has valid fields for that state, even if
 *                 the writing process died at the next instruction.
 */
#include <errno.h>

#include "named/record.h"

/* The number of records for which storage is reserved at once: a page. */
#define ROOM 32u

uint32_t weir_nm_word_of_(const struct nm_record *record)
{
	/* [NQ1] acquire */
	return at_load_acquire(&record->state);
}

bool weir_nm_change_(struct nm_record *record, uint32_t *seen, uint32_t state)
{
	/* [NQ1] release */
	return at_cas_weak_release(&record->state, seen,
				   (*seen & ~NM_REC_MASK) | state);
}

static void set_state(struct nm_record *record, uint32_t state)
{
	uint32_t word = weir_nm_word_of_(record);

	/* [NQ1] release */
	at_store_release(&record->state, (word & ~NM_REC_MASK) | state);
}

/* --- Wake-ups --- */

void weir_nm_wake_later_(weir_named *h, const struct nm_record *record)
{
	uint32_t count = h->wakes.due % NM_WAKE_ALL;

	if (count < NM_WAKES) {
		h->wakes.index[count] = nm_record_ref(h, record) - 1;
		h->wakes.due++;
	} else {
		weir_nm_wake_all_later_(h);
	}
}

void weir_nm_wake_all_later_(weir_named *h)
{
	h->wakes.due |= NM_WAKE_ALL;
}

void weir_nm_wake_every_later_(weir_named *h)
{
	h->wakes.due |= NM_WAKE_EVERY;
}

void weir_nm_wake_now_(weir_named *h, const struct nm_wakes *wakes)
{
	uint32_t count = wakes->due % NM_WAKE_ALL;
	uint32_t high = wakes->due < NM_WAKE_ALL ? 0 : nm_records_high(h);
	bool every = wakes->due & NM_WAKE_EVERY;

	/*
	 * Wake all sleepers on the word, not one: a thread of a killed process
	 * may still sleep on it after the record was reused, and would swallow
	 * a single wake-up.
	 */
	for (uint32_t i = 0; i < count; i++)
		weir_shared_wake_all_(&h->records[wakes->index[i]].state);
	for (uint32_t i = 0; i < high; i++) {
		uint32_t state = weir_nm_word_of_(&h->records[i]) & NM_REC_MASK;

		if (every || state == NM_REC_GRANTED || state == NM_REC_ENDED)
			weir_shared_wake_all_(&h->records[i].state);
	}
}

/* --- New and free records --- */

weir_err weir_nm_make_room_(weir_named *h)
{
	/* relaxed: the word only grows; storage is reserved before. */
	uint32_t seen = at_load_relaxed(&h->head->records_room);
	uint32_t room = seen < NM_RECORDS - ROOM ? seen + ROOM : NM_RECORDS;
	size_t from = (size_t)((char *)&h->records[room - ROOM] -
			       (char *)h->head);

	if (!weir_nm_reserve_(h->fd, from, ROOM * sizeof(struct nm_record)))
		return WEIR_ESYSTEM;
	while (seen < room)
		/* relaxed: as above. */
		if (at_cas_weak_relaxed(&h->head->records_room, &seen, room))
			break;
	return WEIR_OK;
}

/* Returns a free record at the high end of the table; null with an error. */
static struct nm_record *grow(weir_named *h, weir_err *err)
{
	uint32_t high = nm_records_high(h);
	struct nm_record *record;

	if (high == NM_RECORDS) {
		*err = WEIR_EBUSY;
		return NULL;
	}
	/* relaxed: as above. */
	if (high >= at_load_relaxed(&h->head->records_room)) {
		*err = WEIR_EAGAIN;
		return NULL;
	}
	record = &h->records[high];
	/* relaxed: the record is not in use. */
	at_store_relaxed(&record->state, NM_REC_FREE);
	/* relaxed: readers without the lock use it as a bound. */
	at_store_relaxed(&h->head->records_high, high + 1);
	return record;
}

struct nm_record *weir_nm_record_new_(weir_named *h, weir_err *err)
{
	struct nm_record *record = nm_record_at(h, &h->head->free_record);

	if (record &&
	    (weir_nm_word_of_(record) & NM_REC_MASK) != NM_REC_FREE) {
		weir_nm_repair_(h);
		record = nm_record_at(h, &h->head->free_record);
	}
	if (record)
		h->head->free_record = record->next;
	else
		record = grow(h, err);
	if (!record)
		return NULL;
	record->next = record->prev = record->linked = 0;
	/* relaxed: without the lock, threads look for their own slot only. */
	at_store_relaxed(&record->owner, h->me);
	record->owner_state = h->state;
	record->got = 0;
	record->outcome = 0;
	return record;
}

/* --- Linking --- */

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
 * The order in the oversized list has a separate field: if the process dies
 * between storing the ticket and storing the state, the order of the old state
 * is unchanged.
 */
void weir_nm_link_(weir_named *h, struct nm_record *record, uint32_t state)
{
	if (state == NM_REC_WAITS) {
		enqueue(h, record);
	} else if (state == NM_REC_OVERSIZED) {
		record->apart = h->head->next_ticket++;
		h->head->oversized++;
	} else {
		h->head->idlers++;
	}
	record->linked = state;
	h->head->in_use++;
}

void weir_nm_unlink_(weir_named *h, struct nm_record *record)
{
	if (!record->linked)
		return;
	if (record->linked == NM_REC_WAITS)
		dequeue(h, record);
	else if (record->linked == NM_REC_OVERSIZED)
		h->head->oversized--;
	else
		h->head->idlers--;
	record->linked = 0;
	h->head->in_use--;
}

void weir_nm_record_wait_(weir_named *h, struct nm_record *record,
			  uint32_t state)
{
	weir_nm_link_(h, record, state);
	set_state(record, state);
}

void weir_nm_record_free_(weir_named *h, struct nm_record *record)
{
	uint32_t word = weir_nm_word_of_(record);

	weir_nm_unlink_(h, record);
	word -= word % NM_REC_USE;
	/* [NQ1] release */
	at_store_release(&record->state, word + NM_REC_USE);
	/* relaxed: as in weir_nm_record_new_. */
	at_store_relaxed(&record->owner, 0);
	record->next = h->head->free_record;
	h->head->free_record = nm_record_ref(h, record);
}

void weir_nm_record_clean_(weir_named *h, struct nm_record *record)
{
	uint32_t state = weir_nm_word_of_(record) & NM_REC_MASK;

	if (state != NM_REC_LEFT && state != NM_REC_REVOKED)
		return;
	weir_nm_unlink_(h, record);
	if (state == NM_REC_REVOKED)
		h->head->value = nm_plus(h->head->value, record->got);
	record->outcome = WEIR_ECANCELED;
	set_state(record, NM_REC_ENDED);
}
