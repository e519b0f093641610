/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_MODEL_H
#define WEIR_DIAG_MODEL_H

/*
 * The model of a set of semaphores: objects, contexts, the permits that the
 * contexts hold, and their waits.  Snapshots of a registry (snapshot.h) and of
 * named semaphores (src/cmd/diag/named.c) fill it in; verdict.h judges it.
 *
 * The model lives in memory that the caller provides, so that weir_report can
 * use it in a signal handler.  Records refer to each other by index, and
 * DG_NONE ends a list.  Ages and times are in nanoseconds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/layout.h"
#include "weir/diag.h"

#define DG_NONE UINT32_MAX
#define DG_UNKNOWN INT64_MIN		/* an age that is not known */
#define DG_NO_DEADLINE INT64_MAX

/* Why a context does not proceed, or the state of an object. */
enum dg_verdict {
	DG_FINE = 0,		/* does not wait, or the verdict is SLOW */
	DG_SLOW,
	DG_STALLED,
	DG_STARVED,
	DG_STRANDED,
	DG_NO_RELEASER,
	DG_POSSIBLE_DEADLOCK,	/* a DEADLOCK if each sem_t is a lock, and no
				   other thread of a process releases */
	DG_UNSATISFIABLE,
	DG_LEAKED,
	DG_SELF_NESTED,
	DG_DEADLOCK,
	DG_VERDICTS
};

struct dg_object {
	uint64_t id, address, site;
	uint64_t class_key;	/* of the orders; 0: none */
	uint32_t record;	/* its index in the registry */
	uint32_t type, flags;	/* enum rg_type, RG_... */
	uint32_t holders, waiters;
	uint32_t contexts;	/* that hold; a holder is one of their call sites */
	/* Lists: next_of_object.  In a finished model the oldest is first. */
	uint32_t first_hold, first_wait;
	enum dg_verdict verdict;
	bool approximate;	/* its holders changed while they were read */
	bool paused;		/* no permit is granted now */
	int64_t capacity;
	int64_t held;		/* by known contexts, granted ones too; of a
				   channel: its items */
	int64_t unowned;	/* out, but held by no known context */
	int64_t free;		/* capacity - held - unowned; negative: debt,
				   at most INT64_MAX */
	int64_t waiting_permits;
	int64_t leaked;		/* of held: by contexts that have ended */
	int64_t age_ns, last_release_ns;
	int64_t quiet_ns;	/* without a release, of a judged model; a lower
				   bound */
	uint64_t acquires[RG_OUTCOMES];
	uint64_t releases;
	uint64_t released;	/* permits, by slow releases */
	uint64_t waits[RG_BUCKETS], holds[RG_BUCKETS];
	uint64_t unmeasured;	/* releases of holds whose time is not known */
	uint64_t wait_ns, hold_ns;
	uint64_t misuses[RG_MISUSES];
	char name[RG_NAME * 3];	/* a named semaphore's name is longer */
};

/* Returns the number of releases of holds whose time is known. */
static inline uint64_t dg_measured(const struct dg_object *object)
{
	return object->unmeasured < object->releases ?
		       object->releases - object->unmeasured : 0;
}

struct dg_context {
	uint64_t id, address;
	uint32_t record;	/* its index in the registry */
	uint32_t kind;		/* enum rg_kind; DG_PROCESS, DG_CLIENT */
	uint32_t tid;
	bool ended;		/* its thread has ended */
	bool moving;		/* its wait changed while it was read: it is
				   judged as if it did not wait */
	bool others;		/* a process that holds and waits: other threads
				   of it may release */
	uint32_t first_hold, first_wait;	/* list: next_of_context */
	uint32_t group;		/* of contexts that block each other, from 1;
				   0: none (verdict.h) */
	bool behind;		/* it blocks no other context of its group */
	bool receives;		/* it waits for the sender of an item, and
				   blocks no other context */
	enum dg_verdict verdict;
	int64_t age_ns, ended_ns;
	int64_t named_ns;	/* since when it waits for a semaphore between
				   processes; DG_UNKNOWN: it does not */
	char name[64];
	char named[RG_NAME];	/* the name of that semaphore */
	char host[64];		/* DG_CLIENT: its machine */
};
#define DG_PROCESS RG_KINDS		/* a context that is a process */
#define DG_CLIENT (RG_KINDS + 1)	/* ... of any machine */

struct dg_hold {
	uint32_t context, object;
	uint32_t next_of_context, next_of_object;
	int64_t weight;
	uint64_t site;
	int64_t age_ns;
	uint64_t fence;		/* of a lease: its fencing token; 0: no lease */
	int64_t lease_ns;	/* until its lease ends if it is not renewed */
};

struct dg_wait {
	uint32_t context, object;
	uint32_t next_of_context, next_of_object;
	uint32_t record, seq;
	uint32_t flags;		/* RG_ANY_OF ... */
	uint32_t overtaken;	/* how often the capacity went to others */
	uint32_t place;		/* in the queue, from 1; 0: not in it */
	int64_t min, max;
	uint64_t ticket, site, since;
	int64_t age_ns;
	int64_t granted_ns;	/* since the grant; DG_UNKNOWN */
	int64_t left_ns;	/* until the deadline; DG_NO_DEADLINE */
	int64_t limit_ns;	/* from the start to the deadline; DG_UNKNOWN */
	int64_t lease_ns;	/* as in dg_hold; DG_UNKNOWN */
};

/* A record of struct rg_order. */
struct dg_order {
	uint64_t from, to;
	int64_t age_ns;
};

struct dg_limits {
	uint32_t objects, contexts, holds, waits, orders;
};

struct dg_model {
	struct dg_limits max, used;
	struct dg_object *objects;
	struct dg_context *contexts;
	struct dg_hold *holds;
	struct dg_wait *waits;
	struct dg_order *orders;
	/* Indexes of the records of the registry; DG_NONE: not in use. */
	uint32_t *object_of, *context_of;
	uint64_t *prints;	/* of objects: fingerprints of the holders */
	struct dg_work *work;	/* of verdict.h */
	void *work_memory;
	uint32_t pid;
	uint32_t lost;		/* records that the process could not write */
	uint32_t groups;	/* of contexts that block each other */
	bool incomplete;	/* records were lost, torn or impossible */
	bool approximate;	/* it is not the picture of one instant */
	bool coarse;		/* holds are timed to some milliseconds */
	int64_t now_ns;		/* CLOCK_MONOTONIC of the snapshot */
	int64_t realtime_ns;	/* the same instant; 0: unknown */
	char program[256];	/* or the URL of a server */
	char library[32];
};

/* Returns the size of the arrays of a reduction, a part of a model's memory. */
size_t weir_diag_work_size_(const struct dg_limits *limits);
/* Return the size of a model's memory; initialise a model in such memory. */
size_t weir_diag_model_size_(const struct dg_limits *limits);
void weir_diag_model_init_(struct dg_model *model,
			   const struct dg_limits *limits, void *memory);

/*
 * Add a record.  Each returns its index, or DG_NONE if there is no room; the
 * model is marked as incomplete then.  The new record is zero except for its
 * references.  Requires: the given indexes exist.
 */
uint32_t weir_diag_add_object_(struct dg_model *model);
uint32_t weir_diag_add_context_(struct dg_model *model);
uint32_t weir_diag_add_hold_(struct dg_model *model, uint32_t context,
			     uint32_t object, int64_t weight);
uint32_t weir_diag_add_wait_(struct dg_model *model, uint32_t context,
			     uint32_t object, int64_t min, int64_t max);

/*
 * Called after the last record: compute the sums of the objects and sort the
 * lists of waits into the order of the queues.
 */
void weir_diag_finish_(struct dg_model *model);

/*
 * Returns the number of the verdict in weir/diag.h, which has no POSSIBLE
 * DEADLOCK: no sem_t is in the registry of libweir.
 */
weir_diag_verdict weir_diag_number_(enum dg_verdict verdict);
/* Return a word for the texts, such as "DEADLOCK", "semaphore" or "thread". */
const char *weir_diag_verdict_name_(enum dg_verdict verdict);
const char *weir_diag_type_name_(uint32_t type);
const char *weir_diag_kind_name_(uint32_t kind);

/*
 * Sort n indexes.  before(a, b, user) is true if a comes before b.  The sort
 * needs no memory, and n log n steps even if before() is inconsistent.
 */
typedef bool dg_before_fn(uint32_t a, uint32_t b, const void *user);
void weir_diag_sort_(uint32_t *indexes, uint32_t n, dg_before_fn *before,
		     const void *user);

/* Returns the sum; it saturates, because a registry may contain any number. */
int64_t weir_diag_add_(int64_t a, int64_t b);

#endif /* WEIR_DIAG_MODEL_H */
