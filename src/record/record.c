/* SPDX-License-Identifier: MIT */
/*
 * Recording acquires in the slots of the calling thread.  release.c records
 * releases, permit.c permit objects.  docs/design/diag.md.
 */
#include "record/record.h"

#include "base/atomic.h"
#include "base/ticks.h"
#include "record/context.h"
#include "record/holds.h"
#include "record/lockorder.h"

/* Returns true if handed_over may be other than 0. */
static bool is_owed(uint32_t flags)
{
	return flags & (RG_HANDED_OVER | RG_DEFERRED);
}

void weir_holds_hand_over_(struct rg_object *object, int64_t n, uint32_t flag)
{
	/* Set the flag first: it says that the slots are no longer exact. */
	weir_registry_flag_(object, flag);
	/* relaxed: a count. */
	if (at_add_relaxed(&object->handed_over, n) + n > 0)
		weir_registry_flag_(object, RG_OWED);
}

/*
 * Subtract from the slots of this thread the permits that other contexts have
 * released.
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

/*
 * Let the fast paths use this slot from now on.  They do not use it if the
 * object is unbounded or has RG_OWED, or with WEIR_DIAG=order.
 */
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

void weir_holds_add_(char *base, uint64_t id, int64_t n, uint64_t site,
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
		/* relaxed: the flag never changes. */
		if (!(at_load_relaxed(&object->flags) & RG_UNBOUNDED))
			/* The caller holds permits, so the object exists. */
			weir_holds_hand_over_(object, -n, RG_HANDED_OVER);
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
			weir_slot_set_since_(slot, since);
		/* relaxed: as above. */
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

/*
 * Returns the call site to record: that of the pattern's call, if there is one.
 */
static uint64_t outer_site(uint64_t site)
{
	return weir_mine_.outer ? weir_mine_.outer : site;
}

void weir_record_took_(uint64_t id, int64_t n, uint64_t site)
{
	char *base = weir_holds_base_();

	if (!id || n <= 0 || !base)
		return;
	site = outer_site(site);
	weir_holds_add_(base, id, n, site, (uint64_t)weir_ticks_(), true);
	/* relaxed: weir_order_request_ loads it again. */
	if (at_load_relaxed(&weir_registry_->order))
		weir_order_request_(base, id, n, site, true);
}

void weir_record_tried_(uint64_t id, int64_t n, uint64_t site)
{
	char *base = weir_holds_base_();

	if (id && n > 0 && base)
		weir_holds_add_(base, id, n, outer_site(site), (uint64_t)weir_ticks_(),
		    true);
}

void weir_record_call_(uint64_t site)
{
	weir_mine_.site = outer_site(site);
}

void weir_record_took_queued_(uint64_t id, int64_t n, uint64_t site)
{
	char *base = weir_holds_base_();

	if (id && n > 0 && base)
		weir_holds_add_(base, id, n, site, (uint64_t)weir_ticks_(), false);
}
