/* SPDX-License-Identifier: MIT */
/*
 * The slots of contexts (context.h): the permits that a context holds of one
 * object, acquired at one call site.
 *
 * A slot that holds nothing is spare.  Before it is used for another object, its
 * counts are added to those of its object.  If no slot of the context is spare,
 * then another record is chained to the context.
 */
#include "record/context.h"

#include <stddef.h>

#include "record/late.h"

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
 * Add the counts of a slot to its object, and empty the slot.  Requires: the slot
 * holds no permits, or is that of a channel.
 */
static void fold(char *base, struct rg_slot *slot)
{
	/* relaxed: only its owner reuses a slot. */
	struct rg_object *object = weir_late_begin_(
		base, at_load_relaxed(&slot->object));

	if (slot == weir_mine_.last)
		weir_mine_.sem = NULL;
	/* relaxed: all; the key is cleared first; readers check it again. */
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

bool weir_context_empty_(char *base, struct rg_context *context)
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
	weir_slot_set_since_(slot, 0);
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
