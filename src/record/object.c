/* SPDX-License-Identifier: MIT */
/*
 * The table of watched objects: how an object is added, removed and found by its
 * number.  change.c has its changes.  The lock of the registry guards the list of
 * unused records, which are reused in the order in which they became unused, but
 * not while a late writer may change them (late.h).
 *
 * Pairs
 *
 *   [D1] key   release: weir_record_add_, weir_record_event_,
 *              weir_context_make_, use, weir_record_wait_,
 *              weir_order_log_
 *              acquire: read_object, read_word
 *              A reader that finds a record in use finds its contents.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/hook.h"
#include "base/lock.h"
#include "base/ticks.h"
#include "record/event.h"
#include "record/late.h"
#include "record/lockorder.h"
#include "record/record.h"
#include "record/registry.h"
#include "record/watchdog.h"
#include "record/words.h"

/*
 * While the table has room, a record is reused only after this number of other
 * records became unused: a late message may still print the old name.
 */
#ifndef WEIR_UNUSED_MAX_	/* the explorer reuses records at once */
#define WEIR_UNUSED_MAX_ 32u
#endif

const char *weir_record_user_name_(const char *name)
{
	const struct rg_object *object = weir_record_object_(name);

	return object ? (const char *)(uintptr_t)object->user_name : name;
}

/*
 * For each hash of an address, index + 1 of the record that was added last: a
 * hint.  The hint finds the record of a semaphore that was not destroyed before
 * its memory is used for another one.
 */
static uint16_t added[2 * RG_OBJECTS];

static uint16_t *added_at(const void *address)
{
	uintptr_t at = (uintptr_t)address >> 3;

	return &added[(at ^ at >> 9 ^ at >> 18) % (2 * RG_OBJECTS)];
}

/* Append a record to the list of unused ones.  Requires: the lock is held. */
static void append(char *base, uint32_t index)
{
	struct weir_registry_ *registry = weir_registry_;

	/* relaxed: both; only under the lock. */
	at_store_relaxed(&weir_rg_object_(base, index)->next_free, 0);
	if (registry->free_last)
		at_store_relaxed(&weir_rg_object_(base, registry->free_last - 1)
					  ->next_free, index + 1);
	else
		registry->free_first = index + 1;
	registry->free_last = index + 1;
	registry->free_count++;
}

/* Requires: the lock is held. */
static void make_unused(char *base, uint32_t index)
{
	struct rg_object *object = weir_rg_object_(base, index);

	/* relaxed: all; readers check the state and the id again. */
	at_store_relaxed(&object->state, RG_FREE);
	at_store_relaxed(&object->id, 0);
	at_store_relaxed(&object->address, 0);
	at_store_relaxed(&object->inner[0], 0);
	at_store_relaxed(&object->inner[1], 0);
	append(base, index);
	weir_registry_next_epoch_();
}

/*
 * Returns true if a thread may still write the record, for an earlier object.
 */
static bool is_late(struct rg_object *object)
{
	/* [D9] acquire, [D9] release: a read that is an RMW. */
	return at_add_acq_rel(&object->late, 0);
}

/*
 * Returns the record that has been unused longest, except for those that a late
 * writer may change; null: there is none.  Requires: the lock is held.
 */
static struct rg_object *reuse(char *base, uint32_t *index)
{
	struct weir_registry_ *registry = weir_registry_;

	for (uint32_t n = registry->free_count; n; n--) {
		struct rg_object *object;

		*index = registry->free_first - 1;
		object = weir_rg_object_(base, *index);
		registry->free_first = (uint32_t)object->next_free;
		if (!registry->free_first)
			registry->free_last = 0;
		registry->free_count--;
		if (!is_late(object))
			return object;
		append(base, *index);
	}
	return NULL;
}

/*
 * Returns an unused object; null: the table is full.  Requires: the lock is
 * held.
 */
static struct rg_object *take_unused(char *base, uint32_t *index)
{
	struct weir_registry_ *registry = weir_registry_;
	struct rg_header *header = weir_rg_header_(base);
	struct rg_object *object;

	if (registry->free_count > WEIR_UNUSED_MAX_) {
		object = reuse(base, index);
		if (object)
			return object;
	}
	/* relaxed: changed only under the lock. */
	*index = at_load_relaxed(&header->objects_high);
	object = weir_rg_object_(base, *index);
	if (*index < RG_OBJECTS &&
	    weir_registry_grow_(&header->objects_high, *index, object,
				sizeof(*object)))
		return object;
	return reuse(base, index);
}

/*
 * Write a record that is not in use.  relaxed: all of it; the state publishes
 * it, and a reader of the earlier object compares the id again.
 */
static void fill(struct rg_object *object, const struct weir_watched_ *what)
{
	size_t length = what->name ? strnlen(what->name, RG_NAME - 1) : 0;

	for (size_t i = 0; i < RG_NAME; i++)
		/* relaxed: as above. */
		at_store_relaxed(&object->name[i],
				 i < length ? what->name[i] : '\0');
	for (unsigned i = 0; i < RG_OUTCOMES; i++)
		/* relaxed: as above. */
		at_store_relaxed(&object->acquires[i], 0);
	for (unsigned i = 0; i < RG_MISUSES; i++)
		/* relaxed: as above. */
		at_store_relaxed(&object->misuses[i], 0);
	for (unsigned i = 0; i < RG_BUCKETS; i++) {
		/* relaxed: as above. */
		at_store_relaxed(&object->waits[i], 0);
		at_store_relaxed(&object->holds[i], 0);
	}
	/* relaxed: as above. */
	at_store_relaxed(&object->type, what->type);
	at_store_relaxed(&object->flags,
			 what->flags | (what->out ? RG_HANDED_OVER : 0));
	at_store_relaxed(&object->capacity, what->capacity);
	at_store_relaxed(&object->site, what->site);
	/* relaxed: as above. */
	at_store_relaxed(&object->since, (uint64_t)weir_ticks_());
	at_store_relaxed(&object->next_ticket, 0);
	at_store_relaxed(&object->last_release, 0);
	at_store_relaxed(&object->handed_over, -what->out);
	/* relaxed: as above. */
	at_store_relaxed(&object->releases, 0);
	at_store_relaxed(&object->released, 0);
	at_store_relaxed(&object->queued, 0);
	at_store_relaxed(&object->moved, 0);
	at_store_relaxed(&object->class_key,
			 weir_order_class_(what->name, what->site));
	/* relaxed: as above. */
	at_store_relaxed(&object->wait_ticks, 0);
	at_store_relaxed(&object->hold_ticks, 0);
	at_store_relaxed(&object->user_name, (uintptr_t)what->name);
	at_store_relaxed(&object->address, (uintptr_t)what->address);
	at_store_relaxed(&object->inner[0], (uintptr_t)what->inner[0]);
	at_store_relaxed(&object->inner[1], (uintptr_t)what->inner[1]);
	/* relaxed: as above. */
	at_add_relaxed(&object->seq, 2);
}

const char *weir_record_add_(const struct weir_watched_ *what, bool asked)
{
	const struct weir_diag_words_ *words = weir_diag_words_();
	struct rg_object *object;
	uint32_t index;
	char *base;

	if (words->off || (!what->name && !asked && !words->all))
		return NULL;
	base = weir_registry_make_();
	if (!base)
		return NULL;
	weir_hook_set_recorder_(weir_record_heard_);
	weir_order_begin_();
	weir_lock_(&weir_registry_->lock);
	index = *added_at(what->address);
	if (index &&
	    weir_rg_object_(base, index - 1)->address ==
		    (uintptr_t)what->address)
		make_unused(base, index - 1);
	object = take_unused(base, &index);
	if (object)
		*added_at(what->address) = (uint16_t)(index + 1);
	weir_unlock_(&weir_registry_->lock);
	if (!object) {
		weir_registry_lost_(base);
		return NULL;
	}
	fill(object, what);
	/* relaxed: published by the state. */
	at_store_relaxed(&object->id, weir_registry_id_(base, index));
	weir_registry_next_epoch_();
	/* [D1] release */
	at_store_release(&object->state, RG_LIVE);
	if (words->watchdog_ms)
		weir_diag_watch_();
	return object->name;
}

void weir_record_remove_(uint64_t id)
{
	struct weir_registry_ *registry = weir_registry_;

	if (!id)
		return;
	weir_lock_(&registry->lock);
	make_unused(registry->base, (uint32_t)(id & 0xffff));
	weir_unlock_(&registry->lock);
}

uint32_t weir_record_number_(const char *name)
{
	const struct rg_object *object = weir_record_object_(name);

	/* relaxed: this thread has just added it. */
	return object ? (uint32_t)(at_load_relaxed(&object->id) & 0xffff) + 1 :
			0;
}

uint64_t weir_record_numbered_(uint32_t number, const void *address)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	const struct rg_object *object;

	if (!number || !base)
		return 0;
	object = weir_rg_object_(base, number - 1);
	/* relaxed: as above. */
	return at_load_relaxed(&object->address) == (uintptr_t)address ?
		       at_load_relaxed(&object->id) : 0;
}
