/* SPDX-License-Identifier: MIT */
/*
 * Contexts and their slots (context.h).
 *
 *   state    FREE     -> MAKING by any thread (CAS)
 *            MAKING   -> LIVE, ENDED or FREE by that thread
 *            LIVE     -> FREE or ENDED by its thread, when that ends
 *            ENDED    -> MAKING by any thread (CAS), which frees the record if
 *                        it holds nothing any more
 *
 * Pairs
 *
 *   [D5] reuse  release: free_chain, sweep, end_thread, release_wait
 *               acquire: become, take
 *               The next user of a record writes it after the last access of
 *               the previous user.
 */
#include "record/context.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "base/shared.h"
#include "base/thread.h"
#include "record/late.h"

/* How many records are examined before the table grows, and if it is full. */
#define SCAN 8u
#define SCAN_FULL 1024u

static pthread_key_t key;
static uint32_t has_key;

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

/* Returns the object of the slot; null: it does not exist any more. */
static struct rg_object *object_of(char *base, const struct rg_slot *slot)
{
	/* relaxed: all; only its owner reuses a slot. */
	uint64_t id = at_load_relaxed(&slot->object);
	struct rg_object *object = weir_rg_object_(base, id);

	return id && at_load_relaxed(&object->id) == id ? object : NULL;
}

void weir_context_absorb_(char *base, struct rg_slot *slot)
{
	/* relaxed: all; counts, of which only the sum matters. */
	struct rg_object *object = object_of(base, slot);
	int64_t over = object ? at_load_relaxed(&object->handed_over) : 0;
	int64_t n, holds = weir_slot_holds_(slot);

	if (over <= 0 || holds <= 0)
		return;
	/* relaxed: only its owner reuses a slot. */
	object = weir_late_begin_(base, at_load_relaxed(&slot->object));
	if (!object)
		return;
	do {
		n = over < holds ? over : holds;
		if (n <= 0)
			break;
	/* relaxed: as above. */
	} while (!at_cas_weak_relaxed(&object->handed_over, &over, over - n));
	/* relaxed: as above. */
	if (n > 0)
		at_store_relaxed(&slot->given, at_load_relaxed(&slot->given) +
						       (uint64_t)n);
	weir_late_end_(base, object);
}

/* Returns true if the slot holds nothing, or has the items of a channel. */
static bool is_spare(const struct rg_object *object, const struct rg_slot *slot)
{
	/* relaxed: it never changes for a channel. */
	return !object || at_load_relaxed(&object->type) == RG_CHAN ||
	       weir_slot_holds_(slot) <= 0;
}

/*
 * Add the counts of a slot to its object, and empty the slot.  Only that of a
 * channel may contain something.
 */
static void fold(char *base, struct rg_slot *slot)
{
	/* relaxed: only its owner reuses a slot. */
	struct rg_object *object = weir_late_begin_(
		base, at_load_relaxed(&slot->object));

	if (slot == weir_mine_.last)
		weir_mine_.sem = NULL;
	/* relaxed: all; the key goes first, and readers check it again. */
	at_store_relaxed(&slot->object, 0);
	if (object) {
		at_add_relaxed(&object->acquires[RG_IMMEDIATE],
			       at_load_relaxed(&slot->acquires));
		at_add_relaxed(&object->releases,
			       at_load_relaxed(&slot->releases));
		/* relaxed: as above. */
		if (weir_slot_holds_(slot))
			at_sub_relaxed(&object->handed_over,
				       weir_slot_holds_(slot));
		weir_late_end_(base, object);
	}
	/* relaxed: as above. */
	at_store_relaxed(&slot->taken, 0);
	at_store_relaxed(&slot->given, 0);
	at_store_relaxed(&slot->returned, 0);
	at_store_relaxed(&slot->acquires, 0);
	/* relaxed: as above. */
	at_store_relaxed(&slot->releases, 0);
}

/* Empty the slots that hold nothing.  Returns true if none holds anything. */
static bool empty_slots(char *base, struct rg_context *context)
{
	bool empty = true;

	for (; context; context = weir_context_more_(base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			struct rg_slot *slot = &context->slots[i];

			weir_context_absorb_(base, slot);
			if (is_spare(object_of(base, slot), slot))
				fold(base, slot);
			else
				empty = false;
		}
	return empty;
}

/* Requires: the record is MAKING, or belongs to this thread. */
static void free_chain(char *base, struct rg_context *context)
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

void weir_context_free_(char *base, struct rg_context *context)
{
	free_chain(base, context);
}

/* The thread of an ENDED record is gone; its permits may have come back. */
static void sweep(char *base, struct rg_context *context)
{
	/* relaxed: all; become() decides which thread does this. */
	if (at_load_relaxed(&context->state) != RG_ENDED ||
	    at_load_relaxed(&context->first) ||
	    !become(context, RG_ENDED, RG_MAKING))
		return;
	if (empty_slots(base, context))
		free_chain(base, context);
	/* [D5] release */
	else
		at_store_release(&context->state, RG_ENDED);
}

/* Returns a record that was FREE and is MAKING now, among `count` records. */
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

/* The destructor of the key: the thread ends. */
static void end_thread(void *unused)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_context *context = my->context;
	char *base = my->base;

	(void)unused;
	/* relaxed: in the child of a fork it is another one, or null. */
	if (!base || base != at_load_relaxed(&weir_registry_->base))
		return;
	my->busy = true;
	my->base = NULL;
	my->context = NULL;
	my->last = NULL;
	my->sem = NULL;
	if (empty_slots(base, context)) {
		free_chain(base, context);
	} else {
		/* relaxed: for display. */
		at_store_relaxed(&context->ended, (uint64_t)weir_ticks_());
		/* [D5] release */
		at_store_release(&context->state, RG_ENDED);
	}
	my->busy = false;
}

/*
 * glibc has room for the values of the first 32 keys in every thread, and
 * allocates memory for those of others: C26.  Without a key, the end of a thread
 * goes unnoticed; a reader can tell by the thread's id.
 */
__attribute__((constructor)) static void make_key(void)
{
	if (pthread_key_create(&key, end_thread))
		return;
#ifdef __GLIBC__
	if (key >= 32) {
		pthread_key_delete(key);
		return;
	}
#endif
	/* relaxed: it orders nothing. */
	at_store_relaxed(&has_key, 1);
}

/*
 * At exit, and before the library is unloaded: a thread that ends later must not
 * call end_thread.
 */
__attribute__((destructor)) static void delete_key(void)
{
	/* relaxed: both; it orders nothing. */
	if (!at_load_relaxed(&has_key))
		return;
	at_store_relaxed(&has_key, 0);
	pthread_key_delete(key);
}

bool weir_context_enter_(char *base)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_context *context;

	my->busy = true;
	context = weir_context_make_(base, RG_THREAD, NULL);
	if (context) {
		my->context = context;
		my->last = &context->slots[0];
		my->sem = NULL;
		my->base = base;
		/* relaxed: it orders nothing. */
		if (at_load_relaxed(&has_key))
			(void)pthread_setspecific(key, my);
	}
	my->busy = false;
	return context;
}

/* Chain another record to the context of this thread. */
static struct rg_slot *add_slots(char *base, struct rg_context *tail)
{
	struct rg_context *first = weir_mine_.context, *context;

	context = weir_context_make_(base, RG_THREAD, NULL);
	if (!context)
		return NULL;
	/* relaxed: both; readers follow `more` only to a record of `first`. */
	at_store_relaxed(&context->first, (uint32_t)(first->id & 0xffff) + 1);
	at_store_relaxed(&tail->more, (uint32_t)(context->id & 0xffff) + 1);
	return &context->slots[0];
}

static struct rg_slot *use(char *base, struct rg_slot *slot, uint64_t id,
			   uint64_t site)
{
	/* relaxed: all; the key is stored last. */
	if (at_load_relaxed(&slot->object))
		fold(base, slot);
	at_store_relaxed(&slot->site, site);
	at_store_relaxed(&slot->since, 0);
	/* [D1] release */
	at_store_release(&slot->object, id);
	return slot;
}

struct rg_slot *weir_context_slot_(char *base, uint64_t id, uint64_t site)
{
	struct rg_context *context = weir_mine_.context, *tail = context;
	struct rg_slot *same = NULL, *spare = NULL, *slot;

	for (; context; context = weir_context_more_(base, context)) {
		tail = context;
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			/* relaxed: all; this thread writes them. */
			uint64_t key_of = at_load_relaxed(
				&context->slots[i].object);

			slot = &context->slots[i];
			if (key_of == id && at_load_relaxed(&slot->site) == site)
				return slot;
			if (key_of == id)
				same = slot;
			else if (!spare &&
				 (!key_of ||
				  is_spare(object_of(base, slot), slot)))
				spare = slot;
			if (!key_of)
				break;
		}
	}
	if (!spare)
		spare = add_slots(base, tail);
	return spare ? use(base, spare, id, site) : same;
}
