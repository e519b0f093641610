/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_REGISTRY_H
#define WEIR_RECORD_REGISTRY_H

/*
 * The registry of this process: its creation, and access to its records.
 * layout.h describes the records.
 *
 * The address of the registry is in a page that the child of a fork finds
 * zeroed, however it was forked.  So a child never writes the registry of its
 * parent: it has none, until it initialises a watched semaphore.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ticks.h"
#include "record/layout.h"

/* The clock of this process: enum rg_clock. */
#ifdef WEIR_TICKS_CALL_
#define RG_CLOCK_ RG_CLOCK_NS
#else
#define RG_CLOCK_ RG_CLOCK_COUNTER
#endif

struct weir_registry_ {
	char *base;		/* null: no registry in this process */
	uint64_t epoch;		/* counts changes of objects; 0: no registry */
	uint32_t lock;		/* of the creation and of the list below */
	uint32_t failed;	/* the creation has failed: do not retry */
	uint32_t free_first;	/* unused objects: index + 1 of the first */
	uint32_t free_last;	/* and of the last; 0: none */
	uint32_t free_count;
	uint32_t free_context;	/* index + 1 of a context that became free */
	uint32_t context_cursor;
	uint32_t wait_cursor;
	uint32_t watchdog;	/* 1: the watchdog thread is starting; 2: runs */
	struct weir_order_ *order; /* WEIR_DIAG=order; null: off */
	uint64_t bounds[RG_BUCKETS - 1]; /* of the histograms, in ticks */
};

/*
 * The registry is in pages of its own, which are zero in the child of a fork, however it
 * was forked.  Their address is a constant: a fast path needs one load for the epoch.
 * The largest pages have 64 KB.  A machine with larger ones watches nothing.
 */
#if defined(__x86_64__) || defined(__i386__) || defined(__riscv)
#define WEIR_REGISTRY_ROOM_ 4096
#else
#define WEIR_REGISTRY_ROOM_ 65536
#endif

union weir_registry_page_ {
	struct weir_registry_ registry;
	char room[WEIR_REGISTRY_ROOM_];
};

extern _Alignas(WEIR_REGISTRY_ROOM_) union weir_registry_page_
	weir_registry_page_ __attribute__((visibility("hidden")));

static struct weir_registry_ *const weir_registry_ =
	&weir_registry_page_.registry;

static inline struct rg_header *weir_rg_header_(char *base)
{
	return (struct rg_header *)(void *)base;
}

/* The record of an id, which may be the id of an earlier object. */
static inline struct rg_object *weir_rg_object_(char *base, uint64_t id)
{
	return (struct rg_object *)(void *)(base + RG_OBJECTS_AT) +
	       (id & 0xffff) % RG_OBJECTS;
}

static inline struct rg_context *weir_rg_context_(char *base, uint32_t index)
{
	return (struct rg_context *)(void *)(base + RG_CONTEXTS_AT) +
	       index % RG_CONTEXTS;
}

static inline struct rg_wait *weir_rg_wait_(char *base, uint32_t index)
{
	return (struct rg_wait *)(void *)(base + RG_WAITS_AT) +
	       index % RG_WAITS;
}

/*
 * Returns the registry of this process, which is made if there is none; null if
 * it cannot be made.
 */
char *weir_registry_make_(void);

/* Called when an object begins, ends or gets a flag: weir_record_is_last_. */
void weir_registry_next_epoch_(void);

/* Count a record that was not written, because a table is full. */
void weir_registry_lost_(char *base);

/* A new id for the record with this index. */
uint64_t weir_registry_id_(char *base, uint32_t index);

/*
 * Raise *high from `index` to index + 1, and allocate the pages of the record
 * at `record`.  Returns false if that fails: another thread did it, or there is
 * no memory.
 */
bool weir_registry_grow_(uint32_t *high, uint32_t index, void *record,
			 size_t size);

/* Set flags of an object. */
void weir_registry_flag_(struct rg_object *object, uint32_t flags);

/* Returns the bucket of a histogram for a duration. */
unsigned weir_registry_bucket_(uint64_t ticks);

#endif /* WEIR_RECORD_REGISTRY_H */
