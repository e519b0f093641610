/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_CONTEXT_H
#define WEIR_RECORD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "record/layout.h"
#include "record/mine.h"
#include "record/registry.h"

/*
 * Contexts: the holders and waiters.  A thread has a context from its first
 * watched call until it ends; an operation has one while it waits.
 *
 * The slots of a context are written by its thread alone, without atomic
 * read-modify-writes.  `busy` of weir_mine_ is true meanwhile: a signal handler
 * that releases then does not access the slots.
 */

/* Make a context.  Returns null if that fails. */
struct rg_context *weir_context_make_(char *base, enum rg_kind kind,
				      const void *address);

/*
 * Free a context that holds nothing, with the records of its further slots.
 * Requires: its state is MAKING, or it belongs to the caller.
 */
void weir_context_free_(char *base, struct rg_context *context);

/* thread.c: make the context of the calling thread.  Returns false on failure. */
bool weir_context_enter_(char *base);

/* slot.c: */

/*
 * Empty the slots that hold nothing.  Returns true if none holds anything.
 * Requires: as weir_context_free_.
 */
bool weir_context_empty_(char *base, struct rg_context *context);

/*
 * Returns the slot of the calling thread for this object and call site, which is
 * made if there is none; null: no slot is free.  Requires: the thread has a
 * context and is busy.
 */
struct rg_slot *weir_context_slot_(char *base, uint64_t id, uint64_t site);

/*
 * Subtract from the slot the permits that other contexts have released.
 * Requires: the slot is of the calling thread, or its thread has ended.
 */
void weir_context_absorb_(char *base, struct rg_slot *slot);

/* The permits that the context holds in this slot. */
static inline int64_t weir_slot_holds_(const struct rg_slot *slot)
{
	/*
	 * relaxed: all; the thread of the slot writes it; `returned` may lag.
	 */
	return (int64_t)(at_load_relaxed(&slot->taken) -
			 at_load_relaxed(&slot->given) -
			 at_load_relaxed(&slot->returned));
}

/*
 * When the hold of the slot began, in ticks; 0: not known.  Between the two loads its
 * thread may store another time: the result is then less than a second off.
 */
static inline uint64_t weir_slot_since_(const struct rg_slot *slot)
{
	/* relaxed: both; its thread writes them. */
	return rg_since(RG_CLOCK_, at_load_relaxed(&slot->since[0]),
			at_load_relaxed(&slot->since[1]));
}

/* Requires: the slot is of the calling thread. */
static inline void weir_slot_set_since_(struct rg_slot *slot, uint64_t ticks)
{
	bool split = RG_CLOCK_ == RG_CLOCK_NS;

	/* relaxed: both; readers read it twice. */
	at_store_relaxed(&slot->since[0], split ? ticks / 1000000000 : ticks);
	at_store_relaxed(&slot->since[1], split ? ticks % 1000000000 : 0);
}

/* The next record with slots of the same context; null: none. */
static inline struct rg_context *weir_context_more_(
	char *base, const struct rg_context *context)
{
	/* relaxed: its own thread writes it. */
	uint32_t more = at_load_relaxed(&context->more);

	return more ? weir_rg_context_(base, more - 1) : NULL;
}

#endif /* WEIR_RECORD_CONTEXT_H */
