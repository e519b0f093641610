/* SPDX-License-Identifier: MIT */
/* Recording holders: the slots of the calling thread.  docs/design/diag.md. */
#include "record/record.h"

#include "base/atomic.h"
#include "base/shared.h"
#include "record/context.h"
#include "record/late.h"
#include "record/lockorder.h"

#define SHORT_HOLDS 3u		/* buckets that are not counted: layout.h */

static char *registry_base(void)
{
	/* relaxed: as in weir_record_object_. */
	return at_load_relaxed(&weir_registry_->base);
}

/* The flags of handed_over: it may be other than 0. */
static bool is_owed(uint32_t flags)
{
	return flags & (RG_HANDED_OVER | RG_DEFERRED);
}

/*
 * n permits were taken or returned, and no slot says so.  Requires: the record of
 * the object is not reused.
 */
static void add_handed_over(struct rg_object *object, int64_t n, uint32_t flag)
{
	/* The flag first: it says that the slots are no longer exact. */
	weir_registry_flag_(object, flag);
	/* relaxed: a count. */
	if (at_add_relaxed(&object->handed_over, n) + n > 0)
		weir_registry_flag_(object, RG_OWED);
}

/*
 * Subtract permits that other contexts have released from the slots of this
 * thread.
 */
static void settle_handed_over(char *base, uint64_t id)
{
	struct rg_context *context = weir_mine_.context;

	for (; context; context = weir_context_more_(base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			struct rg_slot *slot = &context->slots[i];
			/* relaxed: this thread writes it. */
			uint64_t key = at_load_relaxed(&slot->object);

			if (!key)
				break;
			if (key == id)
				weir_context_absorb_(base, slot);
		}
}

/* The fast paths use this slot from now on, if its object is a usual one. */
static void remember(struct weir_self_ *my, struct rg_object *object,
		     struct rg_slot *slot)
{
	const uint32_t slow = RG_UNBOUNDED | RG_OWED;

	/*
	 * A signal handler that releases in between must not take the new slot
	 * for one of the old semaphore.
	 */
	my->sem = NULL;
	at_signal_fence();
	/* relaxed: all; if a flag is set later, the epoch changes. */
	my->epoch = at_load_relaxed(&weir_registry_->epoch);
	my->last = slot;
	my->last_site = at_load_relaxed(&slot->site);
	at_signal_fence();
	/* relaxed: as above. */
	my->sem = at_load_relaxed(&object->flags) & slow ||
				  at_load_relaxed(&weir_registry_->order) ?
			  NULL : (const void *)(uintptr_t)object->address;
}

/* Add n permits to a slot of this thread. */
static void add(char *base, uint64_t id, int64_t n, uint64_t site,
		uint64_t since, bool immediate)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_object *object = weir_rg_object_(base, id);
	struct rg_slot *slot = NULL;
	uint32_t flags;

	if (my->base == base || weir_context_enter_(base)) {
		/* relaxed: a signal handler of this thread reads it. */
		at_store_relaxed(&my->busy, true);
		at_signal_fence();
		slot = my->last;
		/* relaxed: both; this thread writes them. */
		if (at_load_relaxed(&slot->object) != id ||
		    at_load_relaxed(&slot->site) != site)
			slot = weir_context_slot_(base, id, site);
	}
	if (!slot) {
		weir_registry_lost_(base);
		/* relaxed: the flags of an object remain. */
		if (!(at_load_relaxed(&object->flags) & RG_UNBOUNDED))
			/* The call holds permits: the object exists. */
			add_handed_over(object, -n, RG_HANDED_OVER);
		at_signal_fence();
		/* relaxed: a signal handler of this thread reads it. */
		at_store_relaxed(&my->busy, false);
		return;
	}
	remember(my, object, slot);
	/* relaxed: all; this thread writes the slot, readers read it twice. */
	flags = at_load_relaxed(&object->flags);
	if (!(flags & RG_UNBOUNDED)) {
		if (is_owed(flags) && at_load_relaxed(&object->handed_over) > 0)
			settle_handed_over(base, id);
		if (weir_slot_holds_(slot) <= 0)
			/* relaxed: as above. */
			at_store_relaxed(&slot->since, since);
		at_store_relaxed(&slot->taken, at_load_relaxed(&slot->taken) +
						       (uint64_t)n);
	}
	if (immediate)
		/* relaxed: as above. */
		at_store_relaxed(&slot->acquires,
				 at_load_relaxed(&slot->acquires) + 1);
	at_signal_fence();
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, false);
}

/* The call site that is recorded: that of a pattern's call, if there is one. */
static uint64_t outer_site(uint64_t site)
{
	return weir_mine_.outer ? weir_mine_.outer : site;
}

void weir_record_took_(uint64_t id, int64_t n, uint64_t site)
{
	char *base = registry_base();

	if (!id || n <= 0 || !base)
		return;
	site = outer_site(site);
	add(base, id, n, site, (uint64_t)weir_ticks_(), true);
	/* relaxed: weir_order_request_ loads it again. */
	if (at_load_relaxed(&weir_registry_->order))
		weir_order_request_(base, id, n, site, true);
}

void weir_record_tried_(uint64_t id, int64_t n, uint64_t site)
{
	char *base = registry_base();

	if (id && n > 0 && base)
		add(base, id, n, outer_site(site), (uint64_t)weir_ticks_(),
		    true);
}

/* Add the time of a hold to the sums. */
void weir_record_measure_(struct rg_slot *slot, uint64_t releases)
{
	/* relaxed: all; this thread writes the slot.  The rest are counts. */
	uint64_t id = at_load_relaxed(&slot->object);
	struct rg_object *object = weir_late_begin_(weir_mine_.base, id);
	uint64_t ticks = (uint64_t)weir_ticks_() - at_load_relaxed(&slot->since);
	uint64_t times = releases < WEIR_RECORD_EXACT_ ? 1 : WEIR_RECORD_SAMPLE_;

	if (!object)
		return;
	/* relaxed: as above. */
	at_add_relaxed(&object->hold_ticks, times * ticks);
	if (ticks >= weir_registry_->bounds[SHORT_HOLDS - 1])
		/* relaxed: as above. */
		at_add_relaxed(&object->holds[weir_registry_bucket_(ticks)],
			       times);
	weir_late_end_(weir_mine_.base, object);
}

/* Count a release. */
static void count_release(struct rg_slot *slot)
{
	/* relaxed: both; this thread writes it. */
	uint64_t releases = at_load_relaxed(&slot->releases);

	at_store_relaxed(&slot->releases, releases + 1);
	if (releases < WEIR_RECORD_EXACT_ ||
	    releases % WEIR_RECORD_SAMPLE_ == 0)
		weir_record_measure_(slot, releases);
}

/* Subtract up to n permits from the slot.  Returns what is left of n. */
static int64_t subtract(struct rg_slot *slot, int64_t n)
{
	int64_t holds = weir_slot_holds_(slot);
	int64_t part = holds < n ? holds : n;

	/* relaxed: both; this thread writes it. */
	if (part > 0)
		at_store_relaxed(&slot->given, at_load_relaxed(&slot->given) +
						       (uint64_t)part);
	return part > 0 ? n - part : n;
}

/* The slot of this thread with the newest hold of the object; null: none. */
static struct rg_slot *newest(char *base, uint64_t id, bool holding)
{
	struct rg_context *context = weir_mine_.context;
	struct rg_slot *found = NULL;

	for (; context; context = weir_context_more_(base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			struct rg_slot *slot = &context->slots[i];
			/* relaxed: all; this thread writes them. */
			uint64_t key = at_load_relaxed(&slot->object);

			if (!key)
				break;
			/* relaxed: as above. */
			if (key == id &&
			    (!holding || weir_slot_holds_(slot) > 0) &&
			    (!found || at_load_relaxed(&slot->since) >=
					       at_load_relaxed(&found->since)))
				found = slot;
		}
	return found;
}

/* Subtract n permits from the slots of this thread; returns what is left. */
static int64_t give(char *base, uint64_t id, int64_t n, bool counts)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_slot *slot = my->last;
	/*
	 * relaxed: all; this thread writes the slot.  If the flag is of a later
	 * object, then no reader uses the slot any more.
	 */
	bool unbounded = at_load_relaxed(&weir_rg_object_(base, id)->flags) &
			 RG_UNBOUNDED;

	if (at_load_relaxed(&slot->object) != id ||
	    (!unbounded && weir_slot_holds_(slot) < n))
		slot = newest(base, id, !unbounded);
	if (!slot)
		return n;
	if (counts)
		/* relaxed: as above. */
		count_release(slot);
	if (unbounded)
		return 0;
	n = subtract(slot, n);
	while (n > 0) {
		slot = newest(base, id, true);
		if (!slot)
			break;
		n = subtract(slot, n);
	}
	return n;
}

__attribute__((noinline))
static void gave(uint64_t id, int64_t n, bool counts)
{
	struct weir_self_ *my = &weir_mine_;
	char *base = registry_base();
	struct rg_object *object;
	uint32_t flag = RG_HANDED_OVER;
	int64_t all = n;

	if (!id || n <= 0 || !base)
		return;
	/* relaxed: all; only a signal handler finds the thread busy. */
	if (at_load_relaxed(&my->busy)) {
		flag = RG_DEFERRED;
	} else if (my->base == base) {
		at_store_relaxed(&my->busy, true);
		at_signal_fence();
		n = give(base, id, n, counts);
		at_signal_fence();
		/* relaxed: as above. */
		at_store_relaxed(&my->busy, false);
		if (!n)
			return;
	}
	/* A release that no slot of this thread has: the object has it. */
	object = weir_late_begin_(base, id);
	if (!object)
		return;
	/* relaxed: both; a count, and a flag that never changes. */
	if (counts && n == all)
		at_add_relaxed(&object->releases, 1);
	if (!(at_load_relaxed(&object->flags) & RG_UNBOUNDED))
		add_handed_over(object, n, flag);
	weir_late_end_(base, object);
}

void weir_record_gave_(uint64_t id, int64_t n, uint64_t site)
{
	(void)site;
	gave(id, n, true);
}

void weir_record_forgot_(uint64_t id, int64_t n)
{
	gave(id, n, false);
}

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
	char *base = registry_base();
	struct rg_slot *slot;

	if (!id || !base || my->base != base)
		return 0;
	/* relaxed: this thread writes it. */
	slot = at_load_relaxed(&my->last->object) == id ?
		       my->last : newest(base, id, true);
	return slot ? number_of(base, slot) : 0;
}

uint32_t weir_record_take_over_(uint64_t id, uint32_t number, int64_t n)
{
	char *base = registry_base();
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
	add(base, id, n, site, since, false);
	at_add_relaxed(&slot->returned, (uint64_t)n);
	weir_registry_flag_(weir_rg_object_(base, id), RG_MOVED);
	return weir_record_slot_(id);
}

void weir_record_call_(uint64_t site)
{
	weir_mine_.site = outer_site(site);
}

void weir_record_took_queued_(uint64_t id, int64_t n, uint64_t site)
{
	char *base = registry_base();

	if (id && n > 0 && base)
		add(base, id, n, site, (uint64_t)weir_ticks_(), false);
}
