/* SPDX-License-Identifier: MIT */
/*
 * The table of contexts (context.h): how a record of it is found and freed.
 *
 *   state    FREE     -> MAKING by any thread (CAS)
 *            MAKING   -> LIVE, ENDED or FREE by that thread
 *            LIVE     -> FREE or ENDED by its thread, when the thread ends
 *            ENDED    -> MAKING by any thread (CAS), which frees the record if
 *                        it holds nothing any more
 *
 * Pairs
 *
 *   [D5] reuse  release: weir_context_free_, sweep, end_thread,
 *               weir_wait_free_
 *               acquire: become, take
 *               The next user of a record writes it after the last access of
 *               the previous user.
 */
#include "record/context.h"

#include <stddef.h>

#include "base/thread.h"
#include "base/ticks.h"

/* How many records are examined before the table grows, and if it is full. */
#define SCAN 8u
#define SCAN_FULL 1024u

/* Change the state.  Returns false if it is not `from`. */
static bool become(struct rg_context *context, uint32_t from, uint32_t to)
{
	uint32_t seen = from;

	/* [D5] acquire */
	while (!at_cas_weak_acquire(&context->state, &seen, to))
		/* A failed CAS stores the state that it found. */
		// cppcheck-suppress knownConditionTrueFalse
		if (seen != from)
			return false;
	return true;
}

void weir_context_free_(char *base, struct rg_context *context)
{
	while (context) {
		struct rg_context *more = weir_context_more_(base, context);
		uint32_t index = (uint32_t)(context->id & 0xffff);

		/* relaxed: all; the next user sets every field. */
		at_store_relaxed(&context->id, 0);
		at_store_relaxed(&context->more, 0);
		at_store_relaxed(&context->first, 0);
		/* [D5] release */
		at_store_release(&context->state, RG_FREE);
		/* relaxed: a hint. */
		at_store_relaxed(&weir_registry_->free_context, index + 1);
		context = more;
	}
}

/* Free a record whose thread has ended, if it holds nothing any more. */
static void sweep(char *base, struct rg_context *context)
{
	/* relaxed: all; become() decides which thread does this. */
	if (at_load_relaxed(&context->state) != RG_ENDED ||
	    at_load_relaxed(&context->first) ||
	    !become(context, RG_ENDED, RG_MAKING))
		return;
	if (weir_context_empty_(base, context))
		weir_context_free_(base, context);
	/* [D5] release */
	else
		at_store_release(&context->state, RG_ENDED);
}

/*
 * Examine up to `count` records.  Returns one that was FREE and is MAKING now.
 */
static struct rg_context *scan(char *base, uint32_t high, uint32_t count)
{
	struct weir_registry_ *registry = weir_registry_;

	for (uint32_t i = 0; high && i < count && i < high; i++) {
		/* relaxed: a hint. */
		uint32_t at = at_add_relaxed(&registry->context_cursor, 1);
		struct rg_context *context = weir_rg_context_(base, at % high);

		sweep(base, context);
		/* relaxed: become() checks it. */
		if (at_load_relaxed(&context->state) == RG_FREE &&
		    become(context, RG_FREE, RG_MAKING))
			return context;
	}
	return NULL;
}

static struct rg_context *find_free(char *base)
{
	struct weir_registry_ *registry = weir_registry_;
	struct rg_header *header = weir_rg_header_(base);
	struct rg_context *context;
	/* relaxed: a hint; become() decides. */
	uint32_t hint = at_load_relaxed(&registry->free_context), high;

	if (hint) {
		/* relaxed: as above. */
		at_store_relaxed(&registry->free_context, 0);
		context = weir_rg_context_(base, hint - 1);
		if (become(context, RG_FREE, RG_MAKING))
			return context;
	}
	/* relaxed: weir_registry_grow_ checks it. */
	high = at_load_relaxed(&header->contexts_high);
	context = scan(base, high, SCAN);
	if (context)
		return context;
	for (uint32_t tries = 0; high < RG_CONTEXTS && tries < SCAN_FULL;
	     tries++) {
		context = weir_rg_context_(base, high);
		if (weir_registry_grow_(&header->contexts_high, high, context,
					sizeof(*context)) &&
		    become(context, RG_FREE, RG_MAKING))
			return context;
		/* relaxed: as above. */
		high = at_load_relaxed(&header->contexts_high);
	}
	return scan(base, high, SCAN_FULL);
}

/*
 * Write a record that is MAKING.  relaxed: all of it; the state publishes it, and
 * a reader that copies it meanwhile reads the state again.
 */
static void fill(struct rg_context *context, enum rg_kind kind,
		 const void *address)
{
	uint64_t *slots = (uint64_t *)(void *)context->slots;
	char name[sizeof(context->name)] = { 0 };

	if (kind == RG_THREAD)
		weir_thread_name_(name);
	/* relaxed: as above. */
	at_store_relaxed(&context->kind, kind);
	at_store_relaxed(&context->tid,
			 kind == RG_THREAD ? weir_thread_id_() : 0);
	at_store_relaxed(&context->address, (uintptr_t)address);
	at_store_relaxed(&context->since, (uint64_t)weir_ticks_());
	at_store_relaxed(&context->ended, 0);
	/* relaxed: as above. */
	at_store_relaxed(&context->more, 0);
	at_store_relaxed(&context->first, 0);
	at_store_relaxed(&context->named_since, 0);
	for (size_t i = 0; i < sizeof(name); i++)
		/* relaxed: as above. */
		at_store_relaxed(&context->name[i], name[i]);
	for (size_t i = 0; i < RG_SLOTS * sizeof(struct rg_slot) / 8; i++)
		/* relaxed: as above. */
		at_store_relaxed(&slots[i], 0);
}

struct rg_context *weir_context_make_(char *base, enum rg_kind kind,
				      const void *address)
{
	struct rg_context *context = find_free(base);
	uint32_t index;

	if (!context) {
		weir_registry_lost_(base);
		return NULL;
	}
	index = (uint32_t)(context - weir_rg_context_(base, 0));
	fill(context, kind, address);
	/* relaxed: published by the state. */
	at_store_relaxed(&context->id, weir_registry_id_(base, index));
	at_add_relaxed(&context->seq, 2);
	/* [D1] release */
	at_store_release(&context->state, RG_LIVE);
	return context;
}
