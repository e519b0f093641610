/* SPDX-License-Identifier: MIT */
/*
 * weir_diag_each: one pass over the objects, the contexts and the waits.  A
 * number that changes meanwhile is read as it was before or after.  An object
 * that ends meanwhile may be left out.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "base/ticks.h"
#include "record/record.h"
#include "weir/diag.h"

/* The last bucket of the holds that are counted as releases only: layout.h. */
#define SHORT_HOLDS 2u

_Static_assert(WEIR_DIAG_BUCKETS == RG_BUCKETS, "the buckets of weir/diag.h");

/* The properties of one object. */
struct found {
	weir_diag_object object;
	uint64_t id;		/* 0: none */
	uint64_t hold_ticks, wait_ticks;
	uint64_t oldest_hold, oldest_wait;	/* ticks; 0: none */
	uint32_t last_holder;	/* index + 1 of its first record; 0: none */
	char name[RG_NAME];
};

struct all {
	char *base;
	uint32_t count;
	struct found *found;
};

static struct found *find(const struct all *all, uint64_t id)
{
	uint64_t index = id & 0xffff;

	return id && index < all->count && all->found[index].id == id ?
		       &all->found[index] : NULL;
}

static void read_flags(weir_diag_object *to, uint32_t flags)
{
	to->unbounded = flags & RG_UNBOUNDED;
	to->barging = flags & RG_BARGING;
	to->closed = flags & RG_IS_CLOSED;
	to->handed_over = flags & RG_HANDED_OVER;
}

static void read_object(struct found *found, struct rg_object *object)
{
	weir_diag_object *to = &found->object;

	/* [D1] acquire */
	if (at_load_acquire(&object->state) != RG_LIVE)
		return;
	/* relaxed: all; for display.  The id is compared at the end. */
	found->id = at_load_relaxed(&object->id);
	to->address = (const void *)(uintptr_t)at_load_relaxed(&object->address);
	to->type = (weir_diag_type)at_load_relaxed(&object->type);
	read_flags(to, at_load_relaxed(&object->flags));
	to->capacity = at_load_relaxed(&object->capacity);
	to->held = -at_load_relaxed(&object->handed_over);
	/* relaxed: as above. */
	to->immediate = at_load_relaxed(&object->acquires[RG_IMMEDIATE]);
	to->queued = at_load_relaxed(&object->acquires[RG_QUEUED]);
	to->timed_out = at_load_relaxed(&object->acquires[RG_TIMEOUT]);
	to->cancelled = at_load_relaxed(&object->acquires[RG_CANCELLED]);
	to->refused = at_load_relaxed(&object->acquires[RG_CLOSED]);
	to->would_block = at_load_relaxed(&object->acquires[RG_WOULD_BLOCK]);
	/* relaxed: as above. */
	to->releases = at_load_relaxed(&object->releases);
	found->hold_ticks = at_load_relaxed(&object->hold_ticks);
	found->wait_ticks = at_load_relaxed(&object->wait_ticks);
	for (unsigned i = 0; i < RG_BUCKETS; i++) {
		/* relaxed: as above. */
		to->waits[i] = at_load_relaxed(&object->waits[i]);
		to->holds[i] = at_load_relaxed(&object->holds[i]);
	}
	for (unsigned i = 0; i < RG_NAME - 1; i++)
		/* relaxed: as above. */
		found->name[i] = at_load_relaxed(&object->name[i]);
	/* relaxed: as above. */
	if (at_load_relaxed(&object->id) != found->id)
		found->id = 0;
}

static uint64_t older(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* `owner` is the index + 1 of the first record of the thread. */
static void read_slot(const struct all *all, const struct rg_slot *slot,
		      uint32_t owner)
{
	/* relaxed: all; for display. */
	struct found *found = find(all, at_load_relaxed(&slot->object));
	int64_t holds;

	if (!found)
		return;
	holds = weir_slot_holds_(slot);
	found->object.held += holds;
	/* relaxed: as above. */
	found->object.immediate += at_load_relaxed(&slot->acquires);
	found->object.releases += at_load_relaxed(&slot->releases);
	/* The items of a channel have no holders. */
	if (holds <= 0 || found->object.type == WEIR_DIAG_CHAN)
		return;
	/* A thread may hold permits of several call sites. */
	found->object.holders += found->last_holder != owner;
	found->last_holder = owner;
	found->oldest_hold = older(found->oldest_hold, weir_slot_since_(slot));
}

static void read_contexts(const struct all *all)
{
	/* relaxed: for display. */
	uint32_t high = at_load_relaxed(
		&weir_rg_header_(all->base)->contexts_high);

	for (uint32_t i = 0; i < high; i++) {
		struct rg_context *context = weir_rg_context_(all->base, i);
		/* relaxed: both; for display. */
		uint32_t state = at_load_relaxed(&context->state);
		uint32_t first = at_load_relaxed(&context->first);

		for (unsigned k = 0; k < RG_SLOTS; k++)
			if (state == RG_LIVE || state == RG_ENDED)
				read_slot(all, &context->slots[k],
					  first ? first : i + 1);
	}
}

static void read_waits(const struct all *all)
{
	/* relaxed: for display. */
	uint32_t high = at_load_relaxed(&weir_rg_header_(all->base)->waits_high);

	for (uint32_t i = 0; i < high; i++) {
		struct rg_wait *wait = weir_rg_wait_(all->base, i);
		struct found *found;

		/* relaxed: all; for display. */
		if (at_load_relaxed(&wait->state) != RG_LIVE ||
		    at_load_relaxed(&wait->flags) & RG_REFUSED)
			continue;
		found = find(all, at_load_relaxed(&wait->object));
		if (!found)
			continue;
		found->object.waiters++;
		/* relaxed: as above. */
		found->object.waiting_permits += at_load_relaxed(&wait->min);
		found->oldest_wait = older(found->oldest_wait,
					   at_load_relaxed(&wait->since));
	}
}

static int64_t to_ns(uint64_t ticks, uint64_t ticks_per_s)
{
	return (int64_t)(ticks / ticks_per_s * 1000000000 +
			 ticks % ticks_per_s * 1000000000 / ticks_per_s);
}

static int64_t age_ns(uint64_t since, uint64_t ticks_per_s)
{
	uint64_t now = (uint64_t)weir_ticks_exact_();

	return since && since < now ? to_ns(now - since, ticks_per_s) : 0;
}

/*
 * The registry counts the short holds in `releases` only, and the releases of holds
 * whose time is not known in holds[RG_UNMEASURED].
 */
static void add_short_holds(weir_diag_object *object)
{
	uint64_t shorter = object->releases;

	shorter -= object->holds[RG_UNMEASURED] < shorter ?
			   object->holds[RG_UNMEASURED] : shorter;
	object->holds[RG_UNMEASURED] = 0;
	if (object->unbounded || object->type == WEIR_DIAG_CHAN)
		return;
	for (unsigned i = SHORT_HOLDS + 1; i < RG_BUCKETS; i++)
		shorter -= object->holds[i] < shorter ? object->holds[i] :
							shorter;
	object->holds[SHORT_HOLDS] = shorter;
}

/* Compute the properties that follow from the others. */
static void complete(struct found *found, const struct rg_header *header)
{
	weir_diag_object *object = &found->object;
	/* relaxed: for display. */
	uint64_t per_s = at_load_relaxed(&header->ticks_per_s);

	object->incomplete = at_load_relaxed(&header->lost);
	object->name = found->name[0] ? found->name : NULL;
	if (object->held < 0 || object->unbounded)
		object->held = 0;
	if (!object->unbounded && object->capacity > object->held)
		object->free = object->capacity - object->held;
	object->waited_ns = to_ns(found->wait_ticks, per_s);
	object->held_ns = to_ns(found->hold_ticks, per_s);
	add_short_holds(object);
	object->oldest_hold_ns = age_ns(found->oldest_hold, per_s);
	object->oldest_wait_ns = age_ns(found->oldest_wait, per_s);
}

weir_err weir_diag_each(weir_diag_fn *fn, void *user)
{
	struct all all = { 0 };

	if (!fn)
		return WEIR_EINVAL;
	/* relaxed: as in weir_record_object_. */
	all.base = at_load_relaxed(&weir_registry_->base);
	if (!all.base)
		return WEIR_OK;
	all.count = at_load_relaxed(&weir_rg_header_(all.base)->objects_high);
	all.found = weir_mem_alloc_((all.count + 1) * sizeof(*all.found));
	if (!all.found)
		return WEIR_ENOMEM;
	for (uint32_t i = 0; i < all.count; i++)
		read_object(&all.found[i], weir_rg_object_(all.base, i));
	read_contexts(&all);
	read_waits(&all);
	for (uint32_t i = 0; i < all.count; i++)
		if (all.found[i].id) {
			complete(&all.found[i], weir_rg_header_(all.base));
			fn(&all.found[i].object, user);
		}
	weir_mem_free_(all.found);
	return WEIR_OK;
}
