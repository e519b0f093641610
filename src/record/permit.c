/* SPDX-License-Identifier: MIT */
/*
 * The slots of permit objects.  docs/design/diag.md, "Handing over".
 *
 * Pairs
 *
 *   [D11] used  release: weir_record_end_lend_   acquire: read_word
 *               A reader that does not find the moved permit in the count finds
 *               its new holder.
 */
#include "base/atomic.h"
#include "record/context.h"
#include "record/holds.h"
#include "record/record.h"

/*
 * The number of a slot, for permit objects: 14 bits for the index of its record, 4
 * bits for the slot, 13 bits for the generation of its context.  Never 0.  The last
 * bit is that of a moved object.
 */
static uint32_t number_of(char *base, const struct rg_slot *slot)
{
	size_t at = (size_t)((const char *)slot - base) - RG_CONTEXTS_AT;
	uint32_t index = (uint32_t)(at / sizeof(struct rg_context));
	const struct rg_context *context = weir_rg_context_(base, index);
	/* relaxed: a context with permits keeps its id; without, any id will do. */
	uint64_t id = at_load_relaxed(&context->id);
	uint32_t generation = (uint32_t)(id >> 16) % 0x1fff + 1;

	return generation << 18 | (uint32_t)(slot - context->slots) << 14 |
	       index;
}

static struct rg_slot *slot_at(char *base, uint32_t number)
{
	struct rg_context *context = weir_rg_context_(base, number & 0x3fff);

	return &context->slots[number >> 14 & 15];
}

/* Returns the slot with this number; null: its context has ended. */
static struct rg_slot *slot_of(char *base, uint32_t number)
{
	struct rg_slot *slot = slot_at(base, number);

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

/*
 * Subtract n permits, which another thread has taken over, from the slot.  The slot
 * has fewer if a release of other permits took them from it, or if the object was
 * made by weir_permit_adopt of several acquires.  The others then count as handed
 * over.
 */
static void give_back(struct rg_object *object, struct rg_slot *slot, int64_t n)
{
	int64_t holds = weir_slot_holds_(slot);
	int64_t here = holds < 0 ? 0 : holds < n ? holds : n;

	/* relaxed: both; the flag never changes; `returned` is a sum. */
	if (at_load_relaxed(&object->flags) & RG_UNBOUNDED)
		return;
	if (here < n)
		weir_holds_hand_over_(object, n - here, RG_HANDED_OVER);
	/* relaxed: as above. */
	at_add_relaxed(&slot->returned, (uint64_t)here);
}

/*
 * Move n permits from the slot to one of this thread.  Returns its number; 0: they
 * are recorded elsewhere, because the slot was emptied and is not one of the object
 * any more.
 */
static uint32_t take_over(char *base, uint64_t id, uint32_t number, int64_t n,
			  bool moved)
{
	struct rg_object *object = weir_rg_object_(base, id);
	struct rg_slot *slot = slot_at(base, number);
	uint64_t since, site;
	bool found;

	/*
	 * The usual case: the slot that this thread used last.
	 * relaxed: this thread writes it.
	 */
	if (weir_mine_.base == base && slot == weir_mine_.last &&
	    at_load_relaxed(&slot->object) == id)
		return number;
	slot = slot_of(base, number);
	/*
	 * relaxed: all; as long as the slot has permits of the object, its
	 * owner does not use it for another one.
	 */
	found = slot && at_load_relaxed(&slot->object) == id;
	if (slot && is_mine(base, slot))
		return found ? number : 0;
	/*
	 * The mark comes first: until the last step both slots have the n
	 * permits, and a reader must not conclude DEADLOCK from that.  An object
	 * that several threads use without a move may be used by another one
	 * again, so its mark remains.
	 */
	if (!moved || !found)
		weir_registry_flag_(object, RG_MOVED);
	if (!found)
		return 0;
	since = weir_slot_since_(slot);
	/* relaxed: as above. */
	site = at_load_relaxed(&slot->site);
	weir_holds_add_(base, id, n, site, since, false);
	give_back(object, slot, n);
	return weir_record_slot_(id);
}

uint32_t weir_record_take_over_(uint64_t id, uint32_t number, int64_t n)
{
	bool moved = number & WEIR_RECORD_MOVED_;
	char *base = weir_holds_base_();

	number &= ~WEIR_RECORD_MOVED_;
	if (!id || !base || !number || n <= 0)
		return 0;
	number = take_over(base, id, number, n, moved);
	if (moved)
		weir_record_end_lend_(id);
	return number;
}

void weir_record_join_(uint64_t id, uint32_t to, uint32_t from, int64_t n)
{
	struct weir_self_ *my = &weir_mine_;
	char *base = weir_holds_base_();
	struct rg_slot *old, *slot;
	int64_t holds;

	if (!id || !base || !to || !from || to == from ||
	    (to | from) & WEIR_RECORD_MOVED_)
		return;
	slot = slot_of(base, to);
	old = slot_of(base, from);
	/* relaxed: all; this thread writes them. */
	if (!slot || !old || !is_mine(base, slot) || !is_mine(base, old) ||
	    at_load_relaxed(&slot->object) != id ||
	    at_load_relaxed(&old->object) != id)
		return;
	/* relaxed: a signal handler of this thread reads it. */
	at_store_relaxed(&my->busy, true);
	at_signal_fence();
	holds = weir_slot_holds_(old);
	if (holds < n)
		n = holds;
	if (n > 0) {
		/* relaxed: as above. */
		at_store_relaxed(&slot->taken, at_load_relaxed(&slot->taken) +
						       (uint64_t)n);
		at_store_relaxed(&old->given, at_load_relaxed(&old->given) +
						      (uint64_t)n);
	}
	at_signal_fence();
	/* relaxed: as above. */
	at_store_relaxed(&my->busy, false);
}

void weir_record_lend_(uint64_t id)
{
	char *base = weir_holds_base_();

	/*
	 * relaxed: the permits are passed on with more than this; and if this
	 * thread waits later, a reader that finds the wait finds the count.
	 */
	if (id && base)
		at_add_relaxed(&weir_rg_object_(base, id)->moved, 1);
}

void weir_record_end_lend_(uint64_t id)
{
	char *base = weir_holds_base_();

	/* The caller holds permits, so the object exists. */
	if (id && base)
		/* [D11] release */
		at_sub_release(&weir_rg_object_(base, id)->moved, 1);
}

uint64_t weir_record_self_(void)
{
	char *base = weir_holds_base_();

	return base && weir_mine_.base == base ? weir_mine_.context->id : 0;
}

uint32_t weir_record_move_(uint64_t id, uint32_t number)
{
	char *base = weir_holds_base_();

	if (!id || !base || number & WEIR_RECORD_MOVED_)
		return number;
	/* The thread that uses the object next cannot take its permits over. */
	if (!number) {
		weir_record_moved_(id);
		return 0;
	}
	weir_record_lend_(id);
	return number | WEIR_RECORD_MOVED_;
}
