/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_HANDLE_H
#define WEIR_NAMED_HANDLE_H

/*
 * The handle of a named semaphore in one process, and the interfaces between
 * the files of this folder.  docs/design/named.md describes the design.
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

/* A ticket and the index of its record, for sorting in private memory. */
struct nm_place {
	uint64_t ticket;
	uint32_t index;
};

/*
 * Private working memory, which open maps.  Most handles touch no page of it.
 * Cleared memory from the heap would touch all of them: 40 page faults in each
 * open.
 */
struct nm_scratch {
	struct nm_place order[NM_RECORDS];	/* l */
	uint32_t finished_next[NM_RECORDS];	/* a  wait.c */
};

/*
 * Records whose threads must be woken after the unlock.  If `index` has no room
 * for all of them, the threads of all decided records are woken (NM_WAKE_ALL).
 * If the file was damaged, threads may sleep on records in any state
 * (NM_WAKE_EVERY).
 */
#define NM_WAKES 12u
#define NM_WAKE_ALL 0x100u
#define NM_WAKE_EVERY 0x200u
struct nm_wakes {
	uint32_t due;			/* number in `index`, and the flags */
	uint32_t index[NM_WAKES];
};

/*
 * Locking key: (c) constant while joined, (l) protected by the file's lock, (o)
 * protected by the mutex `opens` of open.c, (a) atomic, (k) used by the keeper
 * thread alone.
 */
struct weir_named {
	struct nm_header *head;		/* c */
	struct nm_slot *slots;		/* c */
	struct nm_record *records;	/* c */
	struct nm_slot *mine;		/* c  our slot */
	struct nm_scratch *scratch;
	int fd;				/* c */
	uint32_t me;			/* c  reference to our slot */
	uint32_t state;			/* c  state of our slot while joined */
	uint32_t alive;			/* c  value of our liveness word */
	uint32_t lock_id;		/* c  our value in the lock word */
	uint32_t ticket;		/* a  lock_id; 0: not joined */
	uint32_t finished;		/* a  finished records; 0: none */
	uint32_t calls;			/* a  number of waiting calls */
	uint32_t flags;			/* c  of weir_named_opts */
	bool strict;			/* c */
	bool other_boot;		/* c  boot id differs or is unknown */
	bool can_wait_any;		/* c */
	bool has_fences;		/* c  weir_fence_light_ works */
	bool lingers;			/* l  a dead slot keeps its permits */
	bool repairing;			/* l */
	bool polls;			/* k  liveness.c */
	uint64_t buried;		/* l  sum of nm_hash_state of buried
					      slots, for repair */
	struct nm_wakes wakes;		/* l */
	int64_t owed;			/* a  permits to give back */
	uint32_t round;			/* a  liveness.c */
	uint32_t checked;		/* a  liveness.c */
	uint32_t listens;		/* a  liveness.c */
	uint32_t lost;			/* a  our slot is not ours any more */
	uint32_t ready;			/* a  progress of the keeper thread */
	uint32_t stop;			/* a  the keeper must end: keeper.h */
	pthread_t keeper;		/* o */
	struct weir_robust_ robust;	/* k */
	dev_t device;			/* c  identifies the file ... */
	ino_t inode;			/* c  ... together with this */
	struct weir_ring_ link;		/* o  in the list of all handles */
	char *path;			/* c  path of the file */
	char *name;			/* c  name given to open */
	char label[WEIR_NAMED_LABEL_MAX + 1];	/* c */
};

/* --- open.c: the mutex `opens`, which also delays forks --- */

void weir_nm_lock_opens_(void);
void weir_nm_unlock_opens_(void);

/* --- place.c, file.c: names and files --- */

/*
 * Store the path for `name` in *path, as a newly allocated string.  Writes the
 * reason for a failure to opts->why; opts may be null.
 */
weir_err weir_nm_find_place_(const char *name, bool make,
			     const weir_named_opts *opts, char **path);

/* Make *path absolute, so that it survives chdir(2). */
void weir_nm_absolute_(char **path);

/* Write the message to opts->why and return err.  Preserves errno. */
__attribute__((format(printf, 3, 4))) weir_err
weir_nm_say_(const weir_named_opts *opts, weir_err err, const char *format,
	     ...);

/*
 * Open or create the file at h->path, and map it.  Sets h->fd, h->head and the
 * pointers to the tables.  For an observer nothing is mapped, and h->head stays
 * null.
 */
weir_err weir_nm_open_file_(weir_named *h, const weir_named_opts *opts);

/* Returns true if h->path still leads to the file that h has open. */
bool weir_nm_is_current_(const weir_named *h);

/*
 * Open the same file again, with the access mode O_RDONLY or O_RDWR.  Returns
 * -1 on failure; errno is ESTALE if the file cannot be found any more.
 */
int weir_nm_reopen_(const weir_named *h, int access);

/*
 * Remove the name if it still leads to the file that h has open.  On failure
 * errno is ESTALE if it does not.
 */
bool weir_nm_unlink_current_(const weir_named *h);

/* --- bytes.c --- */

/*
 * Lock (without waiting), unlock or query a single byte of the file with an OFD
 * lock.  Participants take write locks; the query ignores read
 * locks, which a process without write permission could take.
 */
bool weir_nm_byte_lock_(int fd, int64_t byte);
void weir_nm_byte_unlock_(int fd, int64_t byte);
bool weir_nm_byte_is_locked_(int fd, int64_t byte);

/*
 * Returns true if the byte is covered by a lock that no participant takes: a
 * read lock, or one of several bytes.
 */
bool weir_nm_byte_is_foreign_(int fd, int64_t byte);

/* Returns true if a byte from `first` to before `end` is locked. */
bool weir_nm_bytes_are_locked_(int fd, int64_t first, int64_t end);

/* Reserve storage for a range of the file. */
bool weir_nm_reserve_(int fd, size_t from, size_t size);

/* --- header.c --- */

/* Set up the header of a new file; its boot id stays unknown (0). */
void weir_nm_header_init_(struct nm_header *head, const weir_named_opts *opts);

/*
 * Check the constant fields of the header.  Returns null, or the format of a
 * message with the path.  errno is EPROTO for another version or byte order,
 * else EBADMSG.
 */
const char *weir_nm_check_constants_(const struct nm_header *head);

/* --- create.c; both require that `opens` is held --- */

/* Returns the boot id of the machine; all zero if it cannot be read. */
const uint8_t *weir_nm_boot_id_(void);

/* Create and link the file.  EEXIST: another process was faster. */
weir_err weir_nm_make_file_(const char *path, const weir_named_opts *opts);

/* --- lend.c --- */

/* Remove our own lent file, if any. */
void weir_nm_unlend_(weir_named *h);

/*
 * Remove the lent file, if any, of a dead owner of the slot.  `state` is the
 * state of the slot under that owner.  Needs no lock.
 */
void weir_nm_remove_lent_(const weir_named *h, const struct nm_slot *slot,
			  uint32_t state);

/* --- lent.c: lent files --- */

/* Returns a number for a new lent file; 0 with errno on failure. */
uint64_t weir_nm_lent_number_(void);

/*
 * Create the lent file with this number, or open it.  Returns a descriptor with
 * a read lock of its own, or -1 with errno.  The file may exist after a failure.
 */
int weir_nm_lent_open_(const weir_named *h, uint64_t number, bool create);

/* Returns true if a process has the lent file with this number open. */
bool weir_nm_is_lent_(const weir_named *h, uint64_t number);

/* Preserves errno. */
void weir_nm_lent_remove_(const weir_named *h, uint64_t number);

/* --- join.c: becoming a participant; called without the lock --- */
weir_err weir_nm_join_(weir_named *h, const weir_named_opts *opts);
void weir_nm_leave_(weir_named *h);

/* --- open.c --- */

struct nm_limit;

/* Join if this is the child of a fork and has not joined yet. */
weir_err weir_nm_join_once_(weir_named *h);

/*
 * Begin a call: join first if this is the child of a fork, lock, and fold the
 * records of finished calls.
 */
weir_err weir_nm_enter_(weir_named *h, const struct nm_limit *limit);

/* --- sem.c: permits without waiting; called with the lock (lock.h) --- */

/*
 * Returns how many of min..max permits can be taken now; -1 if the call must
 * wait.
 */
int64_t weir_nm_takeable_(const weir_named *h, int64_t min, int64_t max);

/*
 * Take permits without waiting.  Returns WEIR_EAGAIN if too few are free.  A
 * dead process may hold the missing permits.
 */
weir_err weir_nm_take_now_(weir_named *h, int64_t min, int64_t max,
			   int64_t *got);

/* Release n permits of our slot and grant to waiters. */
void weir_nm_give_(weir_named *h, int64_t n);

/* --- wait.c --- */

/* Acquire, waiting if necessary; called without the lock. */
weir_err weir_nm_wait_(weir_named *h, int64_t min, int64_t max,
		       struct weir_ctx *ctx, int64_t deadline_ns, int64_t *got);

/* --- fold.c: records of finished calls --- */

struct nm_record;

/* Put the record of a finished call on the handle's list.  Needs no lock. */
void weir_nm_finish_(weir_named *h, const struct nm_record *record);

/*
 * Count the permits of finished calls as held by our slot, and free their
 * records.  weir_nm_fold_soon_ is called without the lock: it folds in bounded
 * time, or lets the keeper do it.
 */
void weir_nm_fold_(weir_named *h);
void weir_nm_fold_soon_(weir_named *h);

/* Give back permits of our slot in bounded time; called without the lock. */
void weir_nm_give_back_(weir_named *h, int64_t n);

#endif /* WEIR_NAMED_HANDLE_H */
