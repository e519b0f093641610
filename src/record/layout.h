/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_LAYOUT_H
#define WEIR_RECORD_LAYOUT_H

/*
 * The registry: the memory in which a process records the holders and the
 * waiters of its watched semaphores.  It is a memfd with the name "weir-diag",
 * so another process of the same user finds it in /proc/PID/maps and reads it
 * through /proc/PID/fd.  docs/design/diag.md describes it.
 *
 *   header | objects | contexts | waits | events | orders
 *
 * A reader does not trust the contents: it copies the memory, and checks every
 * index.  The tables have a fixed size, and only the pages in use are
 * allocated.
 *
 * Writers and their order.  A record has one writer at a time.  It is in use if
 * its `state` is not RG_FREE.  A writer that changes more than one word of a
 * record makes `seq` odd before and even after.  A reader copies the record and
 * reads `seq` again: if it was odd or has changed, the copy is torn.  A holder
 * slot has no `seq`: its `object` is stored last with release and cleared first.
 *
 * Times are in ticks of the clock that the header names.
 */
#include <stdint.h>

#define RG_MAGIC "weirdiag"
#define RG_VERSION 2u
#define RG_ORDER UINT32_C(0x01020304)
#define RG_FILE_NAME "weir-diag"

#define RG_OBJECTS 4096u
#define RG_CONTEXTS 16384u
#define RG_WAITS 16384u
#define RG_EVENTS 1024u
#define RG_ORDERS 2048u
#define RG_SLOTS 16u		/* holder slots of one context */
#define RG_NAME 48u		/* bytes of a name, with the terminating 0 */
#define RG_BUCKETS 18u		/* of a histogram: below 1, 3, 10 us ... 100 s */
#define RG_UNMEASURED 0u	/* index in `holds` of an object */

enum rg_clock {
	RG_CLOCK_NS = 0,	/* CLOCK_MONOTONIC in nanoseconds; of holds,
				   CLOCK_MONOTONIC_COARSE */
	RG_CLOCK_COUNTER = 1	/* the counter of the CPU */
};

enum rg_state {
	RG_FREE = 0,
	RG_LIVE = 1,
	RG_ENDED = 2,		/* a context: its thread has ended */
	RG_MAKING = 3		/* is being changed; not to be read */
};

enum rg_type {			/* of an object */
	RG_SEM = 0,
	RG_GROUP, RG_POOL, RG_CHAN, RG_RATE, RG_RWLOCK, RG_LIMITS,
	RG_ADAPTIVE, RG_BREAKER, RG_POSIX, RG_SHARDED,
	RG_TYPES
};

enum rg_kind {			/* of a context */
	RG_THREAD = 0,
	RG_OPERATION, RG_TASK, RG_LOAN,
	RG_KINDS
};

enum rg_outcome {
	RG_IMMEDIATE = 0,	/* granted without joining the queue */
	RG_QUEUED, RG_TIMEOUT, RG_CANCELLED, RG_CLOSED, RG_WOULD_BLOCK,
	RG_OUTCOMES
};

enum rg_misuse {		/* that a call refuses with an error */
	RG_OVER_RELEASE = 0,	/* more permits than are out */
	RG_BUSY_DESTROY,	/* the destroy of a semaphore that waiters use */
	RG_MISUSES
};

/* Flags of an object. */
#define RG_UNBOUNDED 1u
#define RG_BARGING 2u
#define RG_IS_CLOSED 4u
#define RG_HANDED_OVER 8u	/* permits were released by a context that held
				   none: see "Handing over" in diag.md */
#define RG_MOVED 16u		/* permits were passed on in another way than
				   `moved` counts: a holder may be another
				   thread than its slot says */
#define RG_DEFERRED 32u		/* a signal handler has added to handed_over */
#define RG_OWED 64u		/* handed_over was positive: the holders
				   subtract it when they acquire */
#define RG_PATTERN 128u		/* made of semaphores: these record the waits,
				   and the pattern records the rest */

/* Flags of a wait. */
#define RG_ANY_OF 1u		/* one of the waits of the same context is
				   enough; otherwise it needs all of them */
#define RG_HAS_CTX 2u		/* a weir_ctx can cancel it */
#define RG_GRANTED 4u		/* granted; its call has not returned */
#define RG_OVERSIZED 8u		/* more than the capacity: not in the queue */
#define RG_IDLE 16u		/* waits until no permit is out */
#define RG_RECEIVES 32u		/* of a channel: waits for an item.  Without it:
				   waits for a free slot */
#define RG_RECALL 64u		/* of a reader-writer lock: a reader that waits
				   until no writer waits or is inside, and joins
				   the queue then */
#define RG_ROOM 128u		/* of a group: waits until a task leaves the
				   backlog; wants no permit */
#define RG_REFUSED 256u		/* of an any-of request: this member has failed,
				   and the others still wait */

struct rg_header {
	char magic[8];
	uint32_t version, order;
	uint32_t header_size, object_size, context_size, wait_size, event_size;
	uint32_t objects, contexts, waits, events;
	uint32_t pid;
	uint32_t clock;			/* enum rg_clock */
	uint32_t unloaded;		/* 1: the library was unloaded, or the
					   process is in exit(3) */
	uint64_t size;			/* of the whole registry */
	uint64_t ticks_per_s;
	uint64_t start_ticks;		/* the same instant as the next two */
	int64_t start_ns;		/* CLOCK_MONOTONIC */
	int64_t start_realtime_ns;
	uint32_t objects_high;		/* records above were never in use */
	uint32_t contexts_high;
	uint32_t waits_high;
	uint32_t lost;			/* not recorded: a table was full */
	uint64_t next_event;		/* the number of events so far */
	uint64_t generations;		/* the last id that was given */
	char library[32];		/* version of the library */
	char program[64];		/* path of the program, its end if long */
	uint32_t order_size;		/* 0: there is no table of orders */
	uint32_t orders_high;		/* records in use; stored last */
	uint64_t reserved[10];
};

/*
 * A watched object.  `id` is unique in the process; records refer to an object
 * by it, so that an old reference does not name a later object.
 */
struct rg_object {
	uint32_t seq;
	uint32_t state;			/* enum rg_state */
	uint64_t id;			/* (generation << 16) | index */
	uint64_t address;		/* of the semaphore or the pattern */
	uint32_t type;			/* enum rg_type */
	uint32_t flags;
	int64_t capacity;
	char name[RG_NAME];
	uint64_t site;			/* where it was initialised */
	uint64_t since;
	uint64_t next_ticket;		/* of the queue; under its lock */
	uint64_t last_release;		/* ticks; of slow releases */
	int64_t handed_over;		/* permits that contexts released
					   without holding them, not yet
					   subtracted from a holder.  Negative:
					   permits that are out, and that no
					   slot contains */
	/* The counts of slow paths, and of slots that no longer exist. */
	uint64_t acquires[RG_OUTCOMES];
	uint64_t releases;
	uint64_t waits[RG_BUCKETS];	/* histogram of wait times */
	uint64_t wait_ticks;
	uint64_t holds[RG_BUCKETS];	/* histogram of hold times; a hold below
					   10 us is in `releases` only.
					   [RG_UNMEASURED]: releases of holds
					   whose time is not known, such as those
					   by another thread */
	uint64_t hold_ticks;
	uint64_t user_name;		/* address of the caller's name */
	uint64_t next_free;		/* private to the process */
	uint64_t released;		/* permits, by slow releases so far */
	int64_t queued;			/* permits that ungranted waits want */
	uint64_t class_key;		/* of the name or the place: rg_order */
	uint64_t inner[2];		/* private to the process; RG_PATTERN:
					   the semaphores whose waits are those
					   of the object.  Receivers wait on the
					   second one.  RG_RWLOCK: the first one
					   is that of RG_RECALL.  RG_GROUP: it
					   is that of waits for idle, and the
					   second one that of RG_ROOM */
	uint64_t late;			/* private to the process: late.h */
	uint64_t misuses[RG_MISUSES];	/* calls that were refused */
	uint64_t moved;			/* permit objects that were moved and not
					   used since, and requests of weir_all
					   that wait: the holder may be another
					   thread than the slot says */
};

/*
 * A channel (RG_CHAN) has no holders: any thread may receive an item.  Its
 * slots have no call site.  `taken` counts the items that the thread has sent,
 * and `acquires` its sends that did not wait.  `given` counts the items that it
 * has received, and `releases` its receives.  The items in the channel are the
 * sum of taken - given over all slots, minus handed_over.
 */

/*
 * The permits of one object that one context holds from one call site, and the
 * counts of that call site.  The slot holds taken - given - returned permits,
 * modulo 2^64.  If that is 0, the slot may be used for another object later;
 * its counts are then added to the object.  Its owner writes it, but other
 * threads add to `returned`.
 */
struct rg_slot {
	uint64_t object;		/* id; 0: unused */
	uint64_t site;
	uint64_t taken;			/* permits, so far */
	uint64_t since[2];		/* when `taken` - `given` - `returned`
					   was 0 last: rg_since */
	uint64_t acquires;		/* RG_IMMEDIATE only */
	uint64_t releases;
	uint64_t given;			/* permits, so far */
	uint64_t returned;		/* permits that other threads have
					   released or taken over, so far */
	uint64_t reserved;
};

/*
 * The ticks of two words of `since`.  With RG_CLOCK_NS the words are the seconds and
 * the nanoseconds, as the kernel stores them.  Seconds of 0: not known, or being
 * stored.
 */
static inline uint64_t rg_since(uint32_t clock, uint64_t first, uint64_t second)
{
	return clock == RG_CLOCK_NS && first ? first * 1000000000 + second : first;
}

struct rg_context {
	uint32_t seq;
	uint32_t state;			/* enum rg_state */
	uint32_t kind;			/* enum rg_kind */
	uint32_t tid;			/* of the thread; 0: none */
	uint64_t id;			/* (generation << 16) | index */
	uint64_t address;		/* of an operation or a loan */
	uint64_t since;
	uint64_t ended;			/* when the thread ended; 0: alive */
	char name[16];			/* of the thread */
	uint32_t more;			/* index + 1 of a context record with
					   further slots of this context; 0: none */
	uint32_t first;			/* in such a record: index + 1 of the
					   first record of the context */
	uint64_t named_since;		/* the thread waits for a semaphore
					   between processes since then; 0: not */
	char named[RG_NAME];		/* the name of that semaphore */
	struct rg_slot slots[RG_SLOTS];
};

struct rg_wait {
	uint32_t seq;
	uint32_t state;			/* enum rg_state */
	uint64_t context;		/* id */
	uint64_t object;		/* id */
	int64_t min, max;
	uint64_t site;
	uint64_t since;
	int64_t deadline_ns;		/* CLOCK_MONOTONIC; INT64_MAX: none */
	uint64_t ticket;		/* the order of the queue */
	uint32_t flags;
	uint32_t unused;
	uint64_t granted;		/* ticks, with RG_GRANTED */
	/* At the start of the wait: see "Overtaken" in diag.md. */
	uint64_t released;		/* `released` of the object */
	int64_t ahead;			/* `queued` of the object */
	int64_t limit_ns;		/* deadline_ns - the start; 0: none */
	uint64_t reserved[2];
};

/* A slow event; the ring keeps the last RG_EVENTS. */
struct rg_event {
	uint64_t number;		/* from 1; stored last.  0: unused */
	uint64_t ticks;
	uint64_t object, context;	/* ids */
	int64_t n;
	uint64_t site;
	uint32_t kind;			/* enum weir_event_kind_ (base/hook.h) */
	uint32_t err;			/* weir_err */
	uint64_t reserved;
};

/*
 * WEIR_DIAG=order: a thread asked for permits of the class `to` while it held
 * permits of the class `from`; or, if `to` is 0, `from` is the key of a cycle that was
 * predicted.  A record is written once.
 */
struct rg_order {
	uint64_t from, to;		/* class_key of objects */
	uint64_t since;
	uint64_t reserved;
};

#define RG_OBJECTS_AT sizeof(struct rg_header)
#define RG_CONTEXTS_AT (RG_OBJECTS_AT + RG_OBJECTS * sizeof(struct rg_object))
#define RG_WAITS_AT (RG_CONTEXTS_AT + RG_CONTEXTS * sizeof(struct rg_context))
#define RG_EVENTS_AT (RG_WAITS_AT + RG_WAITS * sizeof(struct rg_wait))
#define RG_ORDERS_AT (RG_EVENTS_AT + RG_EVENTS * sizeof(struct rg_event))
#define RG_SIZE (RG_ORDERS_AT + RG_ORDERS * sizeof(struct rg_order))

_Static_assert(sizeof(struct rg_header) % 64 == 0, "header");
_Static_assert(sizeof(struct rg_object) % 64 == 0, "object");
_Static_assert(sizeof(struct rg_slot) == 80, "slot");
_Static_assert(sizeof(struct rg_context) == 128 + 80 * RG_SLOTS, "context");
_Static_assert(sizeof(struct rg_wait) == 128, "wait");
_Static_assert(sizeof(struct rg_event) == 64, "event");
_Static_assert(sizeof(struct rg_order) == 32, "order");

#endif /* WEIR_RECORD_LAYOUT_H */
