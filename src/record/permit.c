/* SPDX-License-Identifier: MIT */
/* The slots of permit objects.  docs/design/diag.md, "Handing over". */
#include "base/atomic.h"
#include "record/context.h"
#include "record/holds.h"
#include "record/record.h"

/*
 * The number of a slot, for permit objects: 14 bits each for the index of its
 * record and for the generation of its context, 4 bits for the slot.  Never 0.
 */
static uint32_t number_of(char *base, const struct rg_slot *slot)
{
	size_t at = (size_t)((const char *)slot - base) - RG_CONTEXTS_AT;
	uint32_t index = (uint32_t)(at / sizeof(struct rg_context));
	const struct rg_context *context = weir_rg_context_(base, index);
	uint32_t generation = (uint32_t)(context->id >> 16) % 0x3fff + 1;

	return generation << 18 | (uint32_t)(slot - context->slots) << 14 |
	       index;
}

/* Returns the slot with this number; null: its context has ended. */
static struct rg_slot *slot_of(char *base, uint32_t number)
{
	struct rg_context *context = weir_rg_context_(base, number & 0x3fff);
	struct rg_slot *slot = &context->slots[number >> 14 & 15];

	return number && number_of(base, slot) == number ? slot : NULL;
}

/* Returns true if the slot belongs to the calling thread. */
static bool is_mine(char *base, const struct rg_slot *slot)
{
	const struct rg_context *context = weir_mine_.context;

	if (weir_mine_.base != base)
		return false;
	for (; context; context = weir_context_more_(base, context))
		if (slot >= context->slots && slot < context->slots + RG_SLOTS)
			return true;
	return false;
}

uint32_t weir_record_slot_(uint64_t id)
{
	struct weir_self_ *my = &weir_mine_;
	char *base = weir_holds_base_();
	struct rg_slot *slot;

	if (!id || !base || my->base != base)
		return 0;
	/* relaxed: this thread writes it. */
	slot = at_load_relaxed(&my->last->object) == id ?
		       my->last : weir_holds_newest_(base, id, true);
	return slot ? number_of(base, slot) : 0;
}

uint32_t weir_record_take_over_(uint64_t id, uint32_t number, int64_t n)
{
	char *base = weir_holds_base_();
	struct rg_slot *slot;
	uint64_t since, site;

	if (!id || !base || n <= 0)
		return 0;
	slot = slot_of(base, number);
	if (!slot)
		return 0;
	/* relaxed: all; the slot has at least these n permits, so its owner
	   does not use it for another object. */
	if (at_load_relaxed(&slot->object) != id)
		return 0;
	if (is_mine(base, slot))
		return number;
	since = at_load_relaxed(&slot->since);
	/* relaxed: as above. */
	site = at_load_relaxed(&slot->site);
	/*
	 * The flag comes first: until the last step both slots have the n
	 * permits, and a reader must not conclude DEADLOCK from that.  relaxed:
	 * as above.
	 */
	weir_registry_flag_(weir_rg_object_(base, id), RG_MOVED);
	weir_holds_add_(base, id, n, site, since, false);
	at_add_relaxed(&slot->returned, (uint64_t)n);
	return weir_record_slot_(id);
}
