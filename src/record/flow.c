/* SPDX-License-Identifier: MIT */
/*
 * Calls of patterns: their call site, and the items of a channel.
 *
 * A thread adds the items that it sends and receives to a slot of its own, so a
 * channel needs no counter that its threads share.  The slot of a thread that
 * only receives is negative; a reader adds the slots of all threads.
 */
#include "base/atomic.h"
#include "record/context.h"
#include "record/late.h"
#include "record/record.h"

void weir_record_begin_(uint64_t site)
{
	weir_mine_.outer = site;
	weir_mine_.waited = false;
}

/* Count in the object, because the thread has no context or no slot is left. */
static void count_in_object(char *base, uint64_t id, int64_t sent,
			    int64_t received)
{
	struct rg_object *object = weir_late_begin_(base, id);

	weir_registry_lost_(base);
	if (!object)
		return;
	/* relaxed: all; counts. */
	at_add_relaxed(&object->acquires[RG_IMMEDIATE], sent > 0);
	at_add_relaxed(&object->releases, received > 0);
	/* relaxed: as above. */
	at_add_relaxed(&object->handed_over, received - sent);
	weir_late_end_(base, object);
}

/* Count an acquire that waited. */
static void count_queued(char *base, uint64_t id)
{
	struct rg_object *object = weir_late_begin_(base, id);

	if (!object)
		return;
	/* relaxed: a count. */
	at_add_relaxed(&object->acquires[RG_QUEUED], 1);
	weir_late_end_(base, object);
}

static void add(uint64_t id, int64_t sent, int64_t received, bool waited)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct weir_self_ *my = &weir_mine_;
	struct rg_slot *slot;

	if (!id || !base)
		return;
	if (my->base != base && !weir_context_enter_(base)) {
		count_in_object(base, id, sent, received);
		return;
	}
	/* relaxed: a signal handler of this thread reads it. */
	at_store_relaxed(&my->busy, true);
	at_signal_fence();
	slot = weir_context_slot_(base, id, 0);
	if (slot) {
		/* relaxed: all; this thread writes it, readers read it twice. */
		at_store_relaxed(&slot->taken, slot->taken + (uint64_t)sent);
		at_store_relaxed(&slot->given,
				 slot->given + (uint64_t)received);
		at_store_relaxed(&slot->acquires, slot->acquires +
						  (sent && !waited));
		/* relaxed: as above. */
		at_store_relaxed(&slot->releases,
				 slot->releases + (received > 0));
	} else {
		count_in_object(base, id, sent, received);
	}
	at_signal_fence();
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, false);
	if (sent && waited)
		count_queued(base, id);
}

void weir_record_sent_(uint64_t id, int64_t n, bool waited)
{
	add(id, n, 0, waited);
}

void weir_record_received_(uint64_t id, int64_t n)
{
	add(id, 0, n, false);
}

void weir_record_acquired_(uint64_t id, weir_err err, int64_t n, uint64_t site,
			   bool may_wait)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);

	if (!id || !base)
		return;
	if (err) {
		weir_record_failed_(id, err);
	} else if (weir_mine_.waited) {
		count_queued(base, id);
		weir_record_took_queued_(id, n, site);
	} else if (may_wait) {
		weir_record_took_(id, n, site);
	} else {
		weir_record_tried_(id, n, site);
	}
}
