/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_FORMAT_H
#define WEIR_NAMED_FORMAT_H

/*
 * The file of a named semaphore.  docs/design/named-format.md has the diagram,
 * and for each field its writers and its possible values after a crash.
 *
 * A reference to a slot or record is its index plus 1; 0 means none.  Therefore
 * zeroed memory is an empty table.  Fields marked T are the source of truth,
 * which repair reads.  Fields marked D are derived; repair computes them again.
 * A field is written under the lock unless its comment states otherwise.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/shared.h"
#include "weir/named.h"

#define NM_MAGIC "weir sem"
#define NM_VERSION 3u
#define NM_ORDER UINT32_C(0x01020304)
#define NM_SLOTS ((uint32_t)WEIR_NAMED_PARTICIPANTS_MAX)
#define NM_RECORDS ((uint32_t)WEIR_NAMED_WAITERS_MAX)

/*
 * Values of `closed`.  NM_PAUSED: the semaphore is open and grants no permits.
 * Only NM_OPEN is 0, so that the fast path needs one comparison.  A close
 * replaces NM_PAUSED.
 */
#define NM_OPEN 0u
#define NM_DRAIN 1u
#define NM_CLOSED 2u
#define NM_PAUSED 4u

struct nm_header {
	/* These fields are constant once the file has a name. */
	char magic[8];
	uint32_t version;
	uint32_t order;			/* byte order: NM_ORDER */
	uint32_t header_size, slot_size, record_size;
	uint32_t slots, records;
	uint32_t policy;
	uint64_t file_size;
	uint8_t boot[16];		/* boot id of the machine */
	uint8_t unused0[64];

	/* The cache line that the fast path touches. */
	uint64_t lock;			/*    atomic; lock.h */
	uint32_t closed;		/* T */
	uint32_t in_use;		/* D  records that are linked */
	int64_t value;			/* D  capacity - held - granted */
	int64_t capacity;		/* T */
	uint32_t queue_first;		/* D  oldest record of the queue */
	uint32_t queue_last;		/* D */
	uint64_t next_ticket;		/* T  above every ticket in use */
	uint32_t awaited;		/*    atomic; lock.c */
	uint32_t stale;			/*    atomic; file needs a repair */
	uint32_t unused1[2];

	uint32_t slots_high;		/* T  atomic; above every used slot */
	uint32_t generations;		/* T  atomic; slots ever taken */
	uint32_t records_high;		/* T  above every record ever used */
	uint32_t records_room;		/* T  atomic; records with storage */
	uint32_t free_record;		/* D  first record of the free list */
	uint32_t waiters;		/* D  records in the queue */
	uint32_t idlers;		/* D  records that wait for idle */
	uint32_t oversized;		/* D  records on the oversized list */
	uint32_t repairs;		/*    how often repaired; for display */
	uint32_t misuses;		/*    releases refused; for display */
	/*
	 * For display: a lock word that a waiting thread has found unchanged
	 * for long, and the time at which the thread noted it.
	 */
	uint64_t stuck;			/*    atomic */
	int64_t stuck_ns;		/*    atomic */
	/* For display: permits taken back from dead owners, so far. */
	uint64_t reclaimed;		/*    atomic */

	/*
	 * The obituary word: keepers sleep on it, and the kernel wakes one of
	 * them at each death.  Always 0.
	 */
	uint32_t obituary;
	uint8_t unused3[3836];
};

/*
 * States of a slot: the low bits of `state`.  The other bits are the slot's
 * generation.
 */
#define NM_SLOT_FREE 0u
#define NM_SLOT_CLAIMED 1u		/* a joining process sets it up */
#define NM_SLOT_LIVE 2u
#define NM_SLOT_MASK 3u

/* One participant: a handle in a process. */
struct nm_slot {
	uint32_t state;			/* T  atomic; by CAS */
	uint32_t kick;			/*    atomic; the keeper sleeps on it */
	int64_t held;			/* T  by the owner; bury sets 0 */
	int64_t since_ticks;		/*    start of the hold */
	struct weir_alive_word_ alive;	/* T  kernel */
	struct weir_alive_word_ death;	/*    kernel; waiting threads sleep on
					      it, too: wait.c */
	uint64_t pid_namespace;
	uint64_t id;
	uint64_t lent;			/* T  atomic; number of the lent file,
					      by the owner; 0: none */
	char label[WEIR_NAMED_LABEL_MAX + 1];
	uint32_t lingers;		/* D  atomic; dead, but keeps its
					      permits; for display */
	uint32_t pid;			/*    for display */
	uint8_t unused1[120];
};

/*
 * States of a record: the low bits of `state`.  Records in an undecided state
 * are linked: they are in the queue, on the oversized list, or wait for idle.
 * A record in the state LEFT may still be linked.
 *
 *    31 .. 12                 11 .. 4            3 .. 0
 *   +------------------------+------------------+---------+
 *   | times it was reused    | times it was     | state   |
 *   |                        | woken to check   |         |
 *   +------------------------+------------------+---------+
 */
#define NM_REC_FREE 0u
#define NM_REC_WAITS 1u			/* undecided: in the queue */
#define NM_REC_OVERSIZED 2u		/* undecided: weight above capacity */
#define NM_REC_IDLE 3u			/* undecided: waits for idle */
#define NM_REC_GRANTED 4u		/* has been granted `got` permits */
#define NM_REC_TAKEN 5u			/* the same, and its call returned */
#define NM_REC_REVOKED 6u		/* the same, and it was cancelled */
#define NM_REC_ENDED 7u			/* has `outcome`; holds nothing */
#define NM_REC_LEFT 8u			/* its call gave up; holds nothing */
#define NM_REC_MASK 15u
#define NM_REC_CHECKS 0xff0u
#define NM_REC_CHECK 0x10u		/* one more check */
#define NM_REC_USE 0x1000u		/* one more use */

/* Flags of a record. */
#define NM_REC_HAS_CTX 1u

/* One waiting call. */
struct nm_record {
	uint32_t state;			/* T  atomic; the waiter sleeps on it */
	uint32_t linked;		/* D  undecided state it is linked as */
	uint32_t owner;			/* T  reference to a slot */
	uint32_t owner_state;		/* T  state of that slot at enqueue */
	int64_t min, max;		/* T */
	int64_t got;			/* T  set before state is GRANTED */
	uint64_t ticket;		/* T  order in the queue */
	int64_t since;			/*    start of the wait, ns; of the
					      hold, ticks, if TAKEN */
	uint32_t next;			/* D  in the queue or free list */
	uint32_t prev;			/* D */
	int32_t outcome;		/* T  set before state is ENDED */
	uint32_t flags;			/* T */
	uint64_t apart;			/* T  order in the oversized list */
	uint8_t unused[48];
};

_Static_assert(sizeof(struct nm_header) == 4096, "file format");
_Static_assert(sizeof(struct nm_slot) == 256, "file format");
_Static_assert(offsetof(struct nm_slot, death) ==
	       offsetof(struct nm_slot, alive) + sizeof(struct weir_alive_word_),
	       "an array of two words");
_Static_assert(sizeof(struct nm_record) == 128, "file format");

#define NM_FILE_SIZE                                                           \
	(sizeof(struct nm_header) + NM_SLOTS * sizeof(struct nm_slot) +        \
	 NM_RECORDS * sizeof(struct nm_record))

/*
 * Bytes that carry file locks.  They lie beyond the end of the file, so they
 * need no storage, and are not adjacent, so the kernel does not merge two locks
 * into one.
 */
#define NM_BYTE_JOIN ((int64_t)1 << 40)
#define NM_BYTE_ALIVE(index) (NM_BYTE_JOIN + 2 + 2 * (int64_t)(index))

/* The temporary name of a new file: this and 16 hexadecimal digits. */
#define NM_NEW_PREFIX ".weir-temp-"

/* A lent file beside the semaphore: this and 16 hexadecimal digits (lent.c). */
#define NM_LENT_PREFIX ".weir-lent-"

/*
 * Read a reference from the file: copy it once, check its bounds, then use the
 * copy.  Returns the index, or `limit` if the reference is none or out of
 * bounds.
 */
static inline uint32_t nm_index(const uint32_t *reference, uint32_t limit)
{
	/* relaxed: the copy is checked next; the lock orders it. */
	uint32_t copy = at_load_relaxed(reference);

	return copy - 1 < limit ? copy - 1 : limit;
}

/*
 * Add and subtract counts from the file, with wrap-around: in a damaged file
 * they can have any value.  A wrong result is harmless: repair corrects it, or
 * the process that damaged the file is responsible for it.
 */
static inline int64_t nm_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t nm_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif /* WEIR_NAMED_FORMAT_H */
