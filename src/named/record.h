/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_RECORD_H
#define WEIR_NAMED_RECORD_H

/*
 * Records, the queue, and repair.  These functions require the lock (lock.h)
 * unless a comment states otherwise.
 */
#include "named/handle.h"

/* Returns true if the semaphore is closed, at once or for a drain. */
static inline bool nm_is_closed(const weir_named *h)
{
	return h->head->closed & (NM_DRAIN | NM_CLOSED);
}

static inline bool nm_is_paused(const weir_named *h)
{
	return h->head->closed == NM_PAUSED;
}

static inline struct nm_record *nm_record_at(weir_named *h,
					     const uint32_t *ref)
{
	uint32_t index = nm_index(ref, NM_RECORDS);

	/* For static analysers: an element of the table is not null. */
	if (!h->records)
		__builtin_unreachable();
	return index < NM_RECORDS ? &h->records[index] : NULL;
}

static inline uint32_t nm_record_ref(const weir_named *h,
				     const struct nm_record *record)
{
	return (uint32_t)(record - h->records) + 1;
}

static inline uint32_t nm_records_high(const weir_named *h)
{
	/* relaxed: as in nm_slots_high. */
	uint32_t high = at_load_relaxed(&h->head->records_high);

	return high < NM_RECORDS ? high : NM_RECORDS;
}

/* Returns true if a record with this state word waits for a decision. */
static inline bool nm_is_undecided(uint32_t word)
{
	return (word & NM_REC_MASK) - 1 < NM_REC_IDLE;
}

/* Returns true if `got` of a record with this state word counts as held. */
static inline bool nm_has_permits(uint32_t word)
{
	return (word & NM_REC_MASK) - NM_REC_GRANTED <=
	       NM_REC_REVOKED - NM_REC_GRANTED;
}

/*
 * Read a record's state word; the fields that belong to the state are valid
 * then.  Needs no lock.
 */
uint32_t weir_nm_word_of_(const struct nm_record *record);

/*
 * Change the state of a record by CAS from the word *seen.  On failure load the
 * word into *seen and return false.  Needs no lock.
 */
bool weir_nm_change_(struct nm_record *record, uint32_t *seen, uint32_t state);

/*
 * Take a free record for this handle; its state stays FREE.  Returns null with
 * *err on failure.  After WEIR_EAGAIN, call weir_nm_make_room_ without the
 * lock, and retry.
 */
struct nm_record *weir_nm_record_new_(weir_named *h, weir_err *err);
weir_err weir_nm_make_room_(weir_named *h);

/* Put a new record into a waiting state; WAITS enqueues it at the tail. */
void weir_nm_record_wait_(weir_named *h, struct nm_record *record,
			  uint32_t state);

/*
 * Link an undecided record, or unlink a record if it is linked: in the queue, on
 * the oversized list, or as waiting for idle.
 */
void weir_nm_link_(weir_named *h, struct nm_record *record, uint32_t state);
void weir_nm_unlink_(weir_named *h, struct nm_record *record);

/* Unlink the record if it is linked, and free it. */
void weir_nm_record_free_(weir_named *h, struct nm_record *record);

/*
 * If the record is LEFT or REVOKED, unlink it, take its permits back, and
 * change its state to ENDED.  The caller grants.
 */
void weir_nm_record_clean_(weir_named *h, struct nm_record *record);

/*
 * Let the unlock wake the thread of this record, the threads of all decided
 * records, or the threads of all records.
 */
void weir_nm_wake_later_(weir_named *h, const struct nm_record *record);
void weir_nm_wake_all_later_(weir_named *h);
void weir_nm_wake_every_later_(weir_named *h);

/* Wake the threads of these records.  Needs no lock. */
void weir_nm_wake_now_(weir_named *h, const struct nm_wakes *wakes);

/* --- queue.c: decisions --- */

/* Grant to every waiter that can be granted now (C6, C7). */
void weir_nm_grant_all_(weir_named *h);

/*
 * Called after a change of the capacity: move records between the queue and the
 * oversized list, then grant.
 */
void weir_nm_regrant_all_(weir_named *h);

/* --- repair.c --- */

/* Sort by ticket, oldest first, in private memory.  This needs no lock. */
void weir_nm_sort_(struct nm_place *places, uint32_t count);

/* Compute all derived fields again from the source of truth. */
void weir_nm_repair_(weir_named *h);

#endif /* WEIR_NAMED_RECORD_H */
