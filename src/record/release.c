/* SPDX-License-Identifier: MIT */
/* Recording releases in the slots of the calling thread.  docs/design/diag.md. */
#include "base/atomic.h"
#include "base/ticks.h"
#include "record/context.h"
#include "record/fast.h"
#include "record/holds.h"
#include "record/late.h"
#include "record/record.h"

#define SHORT_HOLDS 3u		/* buckets that are not counted: layout.h */

/* Add the time of a hold to the sums. */
void weir_record_measure_(struct rg_slot *slot, uint64_t releases)
{
	/* relaxed: all; this thread writes the slot.  The rest are counts. */
	uint64_t id = at_load_relaxed(&slot->object);
	struct rg_object *object = weir_late_begin_(weir_mine_.base, id);
	uint64_t since = weir_slot_since_(slot);
	uint64_t ticks = (uint64_t)weir_ticks_() - since;
	uint64_t times = releases < WEIR_RECORD_EXACT_ ? 1 : WEIR_RECORD_SAMPLE_;

	if (!object)
		return;
	/*
	 * A signal handler has interrupted the acquire before the clock has
	 * stored the time, or both halves of it: there is no time to measure.
	 */
	if (!since || (int64_t)ticks < 0) {
		/* relaxed: a count. */
		at_add_relaxed(&object->holds[RG_UNMEASURED], times);
		weir_late_end_(weir_mine_.base, object);
		return;
	}
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

/* Subtract up to n permits from the slot.  Returns the rest of n. */
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

struct rg_slot *weir_holds_newest_(char *base, uint64_t id, bool holding)
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
			    (!found || weir_slot_since_(slot) >=
					       weir_slot_since_(found)))
				found = slot;
		}
	return found;
}

/*
 * Subtract n permits from the slots of this thread.  Returns the number of permits
 * that no slot had.
 */
static int64_t give(char *base, uint64_t id, int64_t n, bool counts)
{
	struct weir_self_ *my = &weir_mine_;
	struct rg_slot *slot = my->last;
	/*
	 * relaxed: all; this thread writes the slot.  If the flag belongs to a
	 * later object, no reader uses the slot.
	 */
	bool unbounded = at_load_relaxed(&weir_rg_object_(base, id)->flags) &
			 RG_UNBOUNDED;

	if (at_load_relaxed(&slot->object) != id ||
	    (!unbounded && weir_slot_holds_(slot) < n))
		slot = weir_holds_newest_(base, id, !unbounded);
	if (!slot)
		return n;
	if (counts)
		/* relaxed: as above. */
		count_release(slot);
	if (unbounded)
		return 0;
	n = subtract(slot, n);
	while (n > 0) {
		slot = weir_holds_newest_(base, id, true);
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
	char *base = weir_holds_base_();
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
	/* No slot of this thread has these permits: record them in the object. */
	object = weir_late_begin_(base, id);
	if (!object)
		return;
	/* relaxed: all; counts, and a flag that never changes. */
	if (counts && n == all) {
		at_add_relaxed(&object->holds[RG_UNMEASURED], 1);
		at_add_relaxed(&object->releases, 1);
	}
	if (!(at_load_relaxed(&object->flags) & RG_UNBOUNDED))
		weir_holds_hand_over_(object, n, flag);
	weir_late_end_(base, object);
}

void weir_record_gave_(uint64_t id, int64_t n, uint64_t site)
{
	(void)site;
	gave(id, n, true);
}

void weir_record_gave_other_(const struct rg_slot *slot, int64_t n)
{
	/* relaxed: this thread writes it. */
	gave(at_load_relaxed(&slot->object), n, true);
}

void weir_record_forgot_(uint64_t id, int64_t n)
{
	gave(id, n, false);
}
