/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_HANDLE_H
#define WEIR_NAMED_HANDLE_H

/*
 * What a process knows of a named semaphore, and what the files of this room
 * ask of each other.  docs/design/named.md.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/ring.h"
#include "base/shared.h"
#include "named/format.h"
#include "weir/named.h"

/* A ticket and where it is, for sorting in private memory. */
struct nm_place {
	uint64_t ticket;
	uint32_t index;
};

/* Private memory that is worked with under the file's lock, made by open. */
struct nm_scratch {
	struct nm_place order[NM_RECORDS];
	struct weir_watch_ watches[NM_SLOTS + 1];
	bool seen[NM_RECORDS];
};

struct nm_helper;

/*
 * Locking key: (c) constant while joined, (l) under the file's lock, (o) under
 * the lock of opens, (a) atomic, (k) the keeper's.
 */
struct weir_named {
	struct nm_header *head;		/* c */
	struct nm_slot *slots;		/* c */
	struct nm_record *records;	/* c */
	struct nm_slot *mine;		/* c  our slot */
	struct nm_scratch *scratch;	/* l */
	int fd;				/* c */
	uint32_t me;			/* c  reference of our slot */
	uint32_t state;			/* c  our slot's, while it is ours */
	uint32_t alive;			/* c  our alive words' value */
	uint32_t lock_id;		/* c  we, in the lock word */
	uint32_t ticket;		/* a  lock_id once joined; 0: not yet */
	uint32_t calls;			/* a  calls that wait */
	uint32_t flags;			/* c  of weir_named_opts */
	bool strict;			/* c */
	bool can_wait_any;		/* c */
	bool has_fences;		/* c  weir_fence_light_ works */
	bool lent;			/* o  weir_named_lend gave our file away */
	bool lingers;			/* l  a dead process is not all gone */
	bool repairing;			/* l */
	uint32_t ready;			/* a  how far the keeper is */
	uint32_t stop;			/* a  the keeper shall end */
	pthread_t keeper;		/* o */
	struct weir_robust_ robust;	/* k */
	struct nm_helper *helpers;	/* k */
	dev_t device;			/* c  which file it is */
	ino_t inode;			/* c */
	struct weir_ring_ link;		/* o  all handles */
	char *path;			/* c  the file's name */
	char *name;			/* c  as it was asked for */
	char label[WEIR_NAMED_LABEL_MAX + 1];	/* c */
};

/* --- place.c, file.c: names and files --- */

/* Where `name` stands; a new string in *path. */
weir_err weir_nm_find_place_(const char *name, bool make, char **path);

/* Make it one that stays good when the process goes to another folder. */
void weir_nm_absolute_(char **path);

/* Say why in opts->why, keep errno, and return err. */
__attribute__((format(printf, 3, 4))) weir_err
weir_nm_say_(const weir_named_opts *opts, weir_err err, const char *format,
	     ...);

/* Open or make the file at h->path and map it; h->fd, h->head, ... */
weir_err weir_nm_open_file_(weir_named *h, const weir_named_opts *opts);

/* Whether the path leads to the file that we have. */
bool weir_nm_is_current_(const weir_named *h);

/* Another description of the same file, in the child of a fork; or -1. */
int weir_nm_reopen_(const weir_named *h);

/* Bytes locked by the open file: lock (waiting or not), unlock, look. */
bool weir_nm_byte_lock_(int fd, int64_t byte, bool wait);
void weir_nm_byte_unlock_(int fd, int64_t byte);
bool weir_nm_byte_is_locked_(int fd, int64_t byte);

/* Have the file system set bytes of the file aside. */
bool weir_nm_reserve_(int fd, size_t from, size_t size);

/* --- all of the rest needs the lock (lock.h), unless it says otherwise --- */

/* --- table.c: participants --- */

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
	/* relaxed: a copy to be checked; it only grows. */
	uint32_t high = at_load_relaxed(&h->head->slots_high);

	return high < NM_SLOTS ? high : NM_SLOTS;
}

/* Whether a participant is there and has not died.  Needs no lock. */
bool weir_nm_is_live_(const struct nm_slot *slot);
bool weir_nm_is_dead_(const struct nm_slot *slot);

/* Put a holder on the list of holders, and take it off. */
void weir_nm_list_holder_(weir_named *h, struct nm_slot *slot);
void weir_nm_unlist_holder_(weir_named *h, struct nm_slot *slot);

/* Nobody is armed for it, and it for nobody, any more. */
void weir_nm_forget_arms_(weir_named *h, const struct nm_slot *slot);

/* Take what a dead participant had; it is gone when this returns true. */
bool weir_nm_bury_(weir_named *h, struct nm_slot *slot);

/* Bury the dead among holders and waiters; or among all. */
void weir_nm_sweep_(weir_named *h);
void weir_nm_sweep_all_(weir_named *h);

/* --- queue.c: records --- */

static inline struct nm_record *nm_record_at(weir_named *h,
					     const uint32_t *ref)
{
	uint32_t index = nm_index(ref, NM_RECORDS);

	/* For analysers: an element of the table is not null. */
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

/* The state of a record; what belongs to it is there. */
uint32_t weir_nm_state_of_(const struct nm_record *record);

/* A record of ours that is in no state yet, or null with *err. */
struct nm_record *weir_nm_record_new_(weir_named *h, weir_err *err);

/* Give it a state in which it waits; at the end of the queue if that is it. */
void weir_nm_record_wait_(weir_named *h, struct nm_record *record,
			  uint32_t state);

/* Take it off the queue, if it is there, and free it. */
void weir_nm_record_free_(weir_named *h, struct nm_record *record);

/* End a wait: its thread is woken and sees the outcome. */
void weir_nm_record_end_(weir_named *h, struct nm_record *record,
			 weir_err outcome);

/* Wake its thread to look again. */
void weir_nm_record_wake_(struct nm_record *record);

/* Everything that has become possible: C6, C7. */
void weir_nm_grant_all_(weir_named *h);

/* After a change of the capacity: who goes aside, who comes back. */
void weir_nm_regrant_all_(weir_named *h);

/* --- repair.c --- */

/* Oldest ticket first; in private memory, no lock needed. */
void weir_nm_sort_(struct nm_place *places, uint32_t count);

/* Make everything derived again from what is true. */
void weir_nm_repair_(weir_named *h);

/* --- watch.c: who watches whom --- */

/* Join and leave the chain of waiting participants. */
void weir_nm_chain_add_(weir_named *h, struct nm_slot *slot);
void weir_nm_chain_remove_(weir_named *h, struct nm_slot *slot);

/* A participant has come to hold while others wait. */
void weir_nm_watch_holder_(weir_named *h, struct nm_slot *slot);

/* The chain or the queue has changed: the last of the chain may matter now. */
void weir_nm_watch_last_(weir_named *h);

/* Wake a participant's keeper; those of the first two of the chain. */
void weir_nm_kick_(struct nm_slot *slot);
void weir_nm_kick_first_(weir_named *h);

/* What our keeper, which calls this, has to watch now; how many. */
unsigned weir_nm_arm_(weir_named *h, struct weir_watch_ *watches);

/* --- keeper.c, helper.c: the thread --- */

/*
 * Start it: it enters our alive words.  Let it watch, once our slot is live.
 * End it.  No lock held.
 */
weir_err weir_nm_keeper_start_(weir_named *h);
void weir_nm_keeper_go_(weir_named *h);
void weir_nm_keeper_stop_(weir_named *h);

/* How many words the keeper itself sleeps on, besides its kick word. */
static inline unsigned nm_own_watches(const weir_named *h)
{
	return h->can_wait_any ? WEIR_WATCH_MAX_ - 1 : 0;
}

/* Let other threads sleep on these words and kick the keeper. */
void weir_nm_helpers_watch_(weir_named *h, const struct weir_watch_ *watches,
		      unsigned count);
bool weir_nm_helpers_are_idle_(const weir_named *h);
void weir_nm_helpers_stop_(weir_named *h);

/* --- join.c: becoming a participant; no lock held --- */
weir_err weir_nm_join_(weir_named *h, const weir_named_opts *opts);
void weir_nm_leave_(weir_named *h);

/* --- open.c --- */

/* Begin a call: join again, if this is the child of a fork, and lock. */
weir_err weir_nm_enter_(weir_named *h);

/* --- sem.c, wait.c: acquiring --- */

/* How many of min..max can be taken now; -1: none, wait. */
int64_t weir_nm_takeable_(const weir_named *h, int64_t min, int64_t max);

/* Take n for us, which weir_nm_takeable_ allowed. */
void weir_nm_take_(weir_named *h, int64_t n);

/* Give n of ours back. */
void weir_nm_give_(weir_named *h, int64_t n);

weir_err weir_nm_wait_(weir_named *h, int64_t min, int64_t max,
		       struct weir_ctx *ctx, int64_t deadline_ns, int64_t *got);

#endif /* WEIR_NAMED_HANDLE_H */
