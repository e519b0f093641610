/* SPDX-License-Identifier: MIT */
/*
 * Tables in private memory, for functions that require the lock.  No keeper and
 * no other process uses the tables, so a test can set up every state that a
 * death or damage leaves, and check every field afterwards.
 */
#ifndef TESTS_NAMED_PRIVATE_H
#define TESTS_NAMED_PRIVATE_H

#include "named/record.h"
#include "named/table.h"
#include "puppet.h"

#define ALIVE 5u		/* a liveness word */
#define LIVE(generation) ((generation) * (NM_SLOT_MASK + 1) + NM_SLOT_LIVE)
#define FREED(generation) ((generation) * (NM_SLOT_MASK + 1) + NM_SLOT_FREE)
#define WORD(use, state) ((use) * NM_REC_USE + (state))

extern weir_named alone;		/* the handle */
extern int other_fd;		/* another description of the file */

/* Set up a semaphore with one participant, ours; or unmap it. */
void set_up(int64_t capacity);
void tear_down(void);

/* Add a participant, with the index of its slot plus 1 as the generation. */
struct nm_slot *join(uint32_t index);
struct nm_slot *join_dead(uint32_t index);

/* Let a participant hold n permits more. */
void hold(struct nm_slot *slot, int64_t n);

/*
 * Enqueue a call of this participant that wants n permits; `decided`: its record
 * is in this state and has the permits.
 */
struct nm_record *enqueue(const struct nm_slot *slot, int64_t n);
struct nm_record *decided(const struct nm_slot *slot, int64_t n,
			  uint32_t state);

bool is_free(const struct nm_record *record);

/* The queue has these records, up to a null pointer, in this order. */
void check_queue(struct nm_record *const *records);
#define CHECK_QUEUE(...)                                                       \
	check_queue((struct nm_record *const[]){ __VA_ARGS__, NULL })

#endif /* TESTS_NAMED_PRIVATE_H */
