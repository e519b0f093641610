/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_FORMAT_H
#define WEIR_NAMED_FORMAT_H

/*
 * The file of a named semaphore.  docs/design/named-format.md has the diagram,
 * and says for each field who writes it and what a crash leaves behind.
 *
 * A reference to a slot or record is its index plus 1; 0 is none, so zeroed
 * memory is an empty table.  Truth (T) is what repair reads; derived (D) is
 * what it makes again.  Everything is written under the lock unless said
 * otherwise.
 */
#include <stdint.h>

#include "base/atomic.h"
#include "base/shared.h"
#include "weir/named.h"

#define NM_MAGIC "weir sem"
#define NM_VERSION 1u
#define NM_ORDER UINT32_C(0x01020304)
#define NM_SLOTS ((uint32_t)WEIR_NAMED_PARTICIPANTS_MAX)
#define NM_RECORDS ((uint32_t)WEIR_NAMED_WAITERS_MAX)

/* Values of `closed`. */
#define NM_OPEN 0u
#define NM_DRAIN 1u
#define NM_CLOSED 2u

/* The lock: 0, or its owner's slot (lock.c), or this. */
#define NM_LOCK_JOINER UINT32_MAX

/* Who watches whom (docs/design/named.md, "Watching"). */
#define NM_ROLES 2u

struct nm_header {
	/* Constant once published. */
	char magic[8];
	uint32_t version;
	uint32_t order;			/* byte order: NM_ORDER */
	uint32_t header_size, slot_size, record_size;
	uint32_t slots, records;
	uint32_t policy;
	uint64_t file_size;
	uint8_t boot[16];		/* which start of the machine */
	uint8_t unused0[64];

	/* The line that the short path touches. */
	uint32_t lock;			/*    atomic */
	uint32_t closed;		/* T */
	int64_t value;			/* D  capacity - held - granted */
	int64_t capacity;		/* T */
	uint32_t in_use;		/* D  records that are not free */
	uint32_t queue_first;		/* D  oldest in the queue */
	uint32_t queue_last;		/* D */
	uint32_t holders;		/* D  first of the list of holders */
	uint64_t next_ticket;		/* T  above every ticket given */
	uint32_t repairs;		/*    how often; for people */
	uint32_t awaited;		/*    atomic; somebody waits for it */
	uint32_t unused1[2];

	uint32_t slots_high;		/* T  above every slot ever used */
	uint32_t records_high;		/* T  above every record ever used */
	uint32_t free_record;		/* D  first of the list of free ones */
	uint32_t chain_first;		/* D  waiting participants, watching */
	uint32_t chain_last;		/* D */
	uint32_t waiters;		/* D  in the queue */
	uint32_t idlers;		/* D  records that wait for idleness */
	uint32_t oversized;		/* D  records outside the queue */
	uint32_t armed_by[NM_ROLES];	/* D  whose keeper has this role */
	uint32_t generations;		/* T  slots ever taken */
	uint8_t unused2[84];

	/* Whom that keeper watches: bit i is slot i. */
	uint64_t armed[NM_ROLES][NM_SLOTS / 64];	/* D */
	/* Who may sleep on words of this role, with or without it. */
	uint64_t asleep[NM_ROLES][NM_SLOTS / 64];	/*    each itself */
	uint8_t unused3[1728];
};

/* States of a slot, in the low bits of `state`; above them, its generation. */
#define NM_SLOT_FREE 0u
#define NM_SLOT_CLAIMED 1u		/* being set up by a joiner */
#define NM_SLOT_LIVE 2u
#define NM_SLOT_MASK 3u

/* The alive words of a slot. */
enum { NM_ALIVE_ROLE1, NM_ALIVE_ROLE2, NM_ALIVE_CHAIN, NM_ALIVE_LOCK };

/* One participant: a handle in a process. */
struct nm_slot {
	uint32_t state;			/* T  atomic; by CAS */
	uint32_t kick;			/*    atomic; its keeper sleeps on it */
	int64_t held;			/* T  by its owner or its reaper */
	int64_t since_ns;		/* T  when held left 0; rough */
	uint32_t listed;		/* D  on the list of holders */
	uint32_t holder_next;		/* D */
	uint32_t holder_prev;		/* D */
	uint32_t in_use;		/* D  its records that are not free */
	uint32_t chain_next;		/* D */
	uint32_t chain_prev;		/* D */
	uint32_t role;			/* D  1 or 2: first two of the chain */
	uint32_t armed_pred;		/* D  whom it watches as third.. */
	uint32_t pid;			/*    for people */
	uint32_t helped;		/*    its helpers may sleep on words */
	struct weir_alive_word_ alive[WEIR_ALIVE_WORDS_];	/* T  kernel */
	uint64_t pid_namespace;
	uint64_t id;
	char label[WEIR_NAMED_LABEL_MAX + 1];
	uint8_t unused1[80];
};

/* States of a record. */
#define NM_REC_FREE 0u
#define NM_REC_WAITS 1u			/* in the queue */
#define NM_REC_OVERSIZED 2u			/* wants more than the capacity */
#define NM_REC_IDLE 3u			/* waits for idleness */
#define NM_REC_GRANTED 4u		/* got has been set aside for it */
#define NM_REC_ENDED 5u			/* outcome says why; holds nothing */

/* Flags of a record. */
#define NM_REC_HAS_CTX 1u

/* One call that waits. */
struct nm_record {
	uint32_t word;			/*    atomic; its thread sleeps on it */
	uint32_t state;			/* T */
	uint32_t owner;			/* T  reference of a slot */
	uint32_t owner_state;		/* T  that slot's state: generation */
	int64_t min, max;		/* T */
	int64_t got;			/* T  before state is GRANTED */
	uint64_t ticket;		/* T  the order of the queue */
	int64_t since_ns;
	uint32_t next;			/* D  in the queue, or free */
	uint32_t prev;			/* D */
	int32_t outcome;		/* T  before state is ENDED */
	uint32_t flags;			/* T */
	uint64_t apart;			/* T  the order of those outside it */
	uint8_t unused[48];
};

_Static_assert(sizeof(struct nm_header) == 4096, "file format");
_Static_assert(sizeof(struct nm_slot) == 256, "file format");
_Static_assert(sizeof(struct nm_record) == 128, "file format");

#define NM_FILE_SIZE                                                           \
	(sizeof(struct nm_header) + NM_SLOTS * sizeof(struct nm_slot) +        \
	 NM_RECORDS * sizeof(struct nm_record))

/*
 * Bytes that are locked, not stored: beyond the end of the file, and apart, so
 * that the kernel does not make one lock of two.
 */
#define NM_BYTE_JOIN ((int64_t)1 << 40)
#define NM_BYTE_ALIVE(index) (NM_BYTE_JOIN + 2 + 2 * (int64_t)(index))

/*
 * A reference read from the file: copied once, bounded, then used.  Returns the
 * index, or `limit` if it is none or nonsense.
 */
static inline uint32_t nm_index(const uint32_t *reference, uint32_t limit)
{
	/* relaxed: a copy to be checked; the lock orders it. */
	uint32_t copy = at_load_relaxed(reference);

	return copy - 1 < limit ? copy - 1 : limit;
}

/*
 * Counts from the file can be anything if it is damaged: sums of them wrap
 * round.  Whatever comes of it, repair finds or the file's owner has asked for.
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
