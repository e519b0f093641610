/* SPDX-License-Identifier: MIT */
/*
 * The requests of threads that hold permits: lockorder.h.  A thread hashes its
 * holds and its request without a lock.  If the hash is new, then the thread adds
 * the edges to the graph (lockgraph.h), under a lock, and reports the cycles that
 * they close.
 *
 * The tables are in separate memory, whose address is in the page of the
 * registry.  So the child of a fork begins with new tables, and never finds
 * their lock held by a thread that does not exist there.
 *
 * Pairs
 *
 *   [D7] tables  release: weir_order_begin_   acquire: weir_order_request_
 *                The tables are zero when a thread finds them.
 *   [D8] lock    release: unlock   acquire: try_lock
 *                The next thread sees the changes of the graph.
 */
#include "record/lockorder.h"

#include "base/atomic.h"
#include "base/shared.h"
#include "record/context.h"
#include "record/registry.h"
#include "record/words.h"

#define SEEN 16384u		/* sequences; a power of 2 */
#define SEEN_REACH 32u		/* entries in which a hash may be */
#define REPORTS_MAX 4u		/* of one edge */

struct weir_order_ {
	uint32_t lock;
	uint32_t full;		/* 1: a table is full */
	uint64_t seen[SEEN];	/* hashes; 0: unused */
	struct weir_graph_ graph;
};

uint64_t weir_order_class_(const char *name, uint64_t made_at)
{
	uint64_t key = weir_graph_mix_(1, name && *name ? 0 : made_at);

	for (size_t i = 0; name && i < RG_NAME - 1 && name[i]; i++)
		key = weir_graph_mix_(key, (unsigned char)name[i]);
	return key ? key : 1;
}

void weir_order_begin_(void)
{
	struct weir_registry_ *registry = weir_registry_;
	struct weir_order_ *none = NULL, *made;

	/* relaxed: the CAS checks it. */
	if (!weir_diag_words_()->order || at_load_relaxed(&registry->order))
		return;
	made = weir_map_zero_(sizeof(*made));
	if (!made)
		return;
	/* [D7] release */
	while (!at_cas_weak_release(&registry->order, &none, made))
		if (none) {
			weir_unmap_(made, sizeof(*made));
			return;
		}
}

static bool try_lock(struct weir_order_ *order)
{
	uint32_t unlocked = 0;

	/* [D8] acquire */
	while (!at_cas_weak_acquire(&order->lock, &unlocked, 1))
		/* A failed CAS stores the value that it found. */
		// cppcheck-suppress knownConditionTrueFalse
		if (unlocked)
			return false;
	return true;
}

static void unlock(struct weir_order_ *order)
{
	/* [D8] release */
	at_store_release(&order->lock, 0);
}

/*
 * Returns the entry with this hash, or an unused entry if there is none; null:
 * neither is among the SEEN_REACH entries.
 */
static uint64_t *find_seen(struct weir_order_ *order, uint64_t hash)
{
	for (uint32_t i = 0; i < SEEN_REACH; i++) {
		uint64_t *entry = &order->seen[(hash + i) & (SEEN - 1)];
		/* relaxed: a hash that is missed is examined again. */
		uint64_t found = at_load_relaxed(entry);

		if (found == hash || !found)
			return entry;
	}
	return NULL;
}

/*
 * Returns the object of a slot of the calling thread; null: the slot holds
 * nothing, or the object does not exist any more.
 */
static struct rg_object *held_object(char *base, const struct rg_slot *slot)
{
	/* relaxed: all; this thread writes the slot. */
	uint64_t id = at_load_relaxed(&slot->object);
	struct rg_object *object = weir_rg_object_(base, id);

	return id && weir_slot_holds_(slot) > 0 &&
	       at_load_relaxed(&object->id) == id ? object : NULL;
}

/* A request of the calling thread for n permits of `wanted` at `site`. */
struct request {
	char *base;
	const struct rg_object *wanted;
	int64_t n;
	uint64_t site;
	bool granted;
};

typedef void held_fn(const struct request *request, struct rg_object *object,
		     const struct rg_slot *slot, int64_t held, void *user);

/*
 * Returns the permits of the object in all slots of the calling thread: it may
 * have acquired some of them at another call site.
 */
static int64_t held_of(char *base, const struct rg_object *object)
{
	const struct rg_context *context = weir_mine_.context;
	int64_t sum = 0;

	for (; context; context = weir_context_more_(base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++)
			if (held_object(base, &context->slots[i]) == object)
				sum += weir_slot_holds_(&context->slots[i]);
	return sum;
}

/*
 * Call fn for each slot with permits that the thread held before the request,
 * with the sum of the permits that the thread had of this object.  If the request
 * has been granted already, the slot of its call site contains its n permits,
 * which are subtracted.
 */
static void each_held(const struct request *r, held_fn *fn, void *user)
{
	const struct rg_context *context = weir_mine_.context;
	int64_t own = r->granted ? r->n : 0;

	for (; context; context = weir_context_more_(r->base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			const struct rg_slot *slot = &context->slots[i];
			struct rg_object *object = held_object(r->base, slot);
			int64_t held, all;

			if (!object)
				continue;
			held = weir_slot_holds_(slot);
			all = held_of(r->base, object);
			if (object == r->wanted) {
				all -= r->granted ? r->n : 0;
				/* relaxed: this thread writes the slot. */
				if (at_load_relaxed(&slot->site) == r->site) {
					held -= own;
					own = 0;
				}
			}
			if (held > 0)
				fn(r, object, slot, all, user);
		}
}

/*
 * Returns true if other threads may release the permits that a thread acquired.
 */
static bool is_passed_on(const struct rg_object *object)
{
	/*
	 * relaxed: both; once set, a flag remains.  Of the moved permits this
	 * thread has none that it has not moved, or taken over, itself.
	 */
	return at_load_relaxed(&object->flags) & (RG_HANDED_OVER | RG_MOVED) ||
	       at_load_relaxed(&object->moved);
}

/* Returns true if a thread can exhaust the object by holding its permits. */
static bool is_exhaustible(const struct rg_object *object)
{
	/*
	 * relaxed: both; RG_UNBOUNDED never changes, and an object never becomes
	 * or ceases to be a channel or a rate limit.
	 */
	uint32_t type = at_load_relaxed(&object->type);

	return !(at_load_relaxed(&object->flags) & RG_UNBOUNDED) &&
	       type != RG_CHAN && type != RG_RATE;
}

/*
 * Two semaphores of one class make no edge: a program may acquire them in the
 * order of their addresses.
 */
static bool is_edge(const struct rg_object *held,
		    const struct rg_object *wanted)
{
	return is_exhaustible(held) && !is_passed_on(held) &&
	       (held == wanted || held->class_key != wanted->class_key);
}

static void add_hash(const struct request *r, struct rg_object *object,
		     const struct rg_slot *slot, int64_t held, void *user)
{
	uint64_t *hash = user;

	if (!is_edge(object, r->wanted))
		return;
	*hash = weir_graph_mix_(*hash ? *hash : 1, object->class_key);
	*hash = weir_graph_mix_(*hash, (uint64_t)held);
	/* relaxed: this thread writes the slot. */
	*hash = weir_graph_mix_(*hash, at_load_relaxed(&slot->site));
}

/* New cycles, which are reported after the unlock. */
struct found {
	struct weir_order_ *order;
	struct weir_cycle_ cycles[REPORTS_MAX];
	uint32_t n;
};

static void examine(const struct request *r, struct rg_object *object,
		    const struct rg_slot *slot, int64_t held, void *user)
{
	struct found *found = user;
	struct weir_graph_ *graph = &found->order->graph;
	struct weir_edge_ edge = { .held = held, .wants = r->n,
				   .wanted_at = r->site };
	const struct weir_edge_ *added;

	if (!is_edge(object, r->wanted))
		return;
	/* relaxed: this thread writes the slot. */
	edge.held_at = at_load_relaxed(&slot->site);
	added = weir_graph_add_(graph, object, r->wanted, &edge);
	if (added)
		weir_order_log_(r->base, object->class_key,
				r->wanted->class_key);
	while (added && found->n < REPORTS_MAX &&
	       weir_graph_find_cycle_(graph, added, &found->cycles[found->n]))
		weir_order_log_(r->base, found->cycles[found->n++].key, 0);
}

/* Returns true if a table is full; only once. */
static bool is_full(struct weir_order_ *order, const uint64_t *entry)
{
	if (order->full || (entry && !weir_graph_is_full_(&order->graph)))
		return false;
	order->full = 1;
	return true;
}

static void examine_all(struct weir_order_ *order, const struct request *r,
			uint64_t hash)
{
	struct found found;
	uint64_t *entry;
	bool full;

	if (!try_lock(order))
		return;
	found.order = order;
	found.n = 0;
	entry = find_seen(order, hash);
	if (entry) {
		/* relaxed: as in find_seen. */
		at_store_relaxed(entry, hash);
		each_held(r, examine, &found);
	}
	full = is_full(order, entry);
	unlock(order);
	for (uint32_t i = 0; i < found.n; i++)
		weir_diag_predict_(&found.cycles[i]);
	if (full) {
		found.cycles[0].length = 0;
		weir_diag_predict_(&found.cycles[0]);
	}
}

void weir_order_request_(char *base, uint64_t id, int64_t n, uint64_t site,
			 bool granted)
{
	/* [D7] acquire */
	struct weir_order_ *order = at_load_acquire(&weir_registry_->order);
	struct request r = { base, weir_rg_object_(base, id), n, site,
			     granted };
	const uint64_t *entry;
	uint64_t hash = 0;

	if (!order || weir_mine_.base != base || !is_exhaustible(r.wanted))
		return;
	each_held(&r, add_hash, &hash);
	if (!hash)
		return;
	hash = weir_graph_mix_(hash, r.wanted->class_key);
	hash = weir_graph_mix_(hash, (uint64_t)n);
	hash = weir_graph_mix_(hash, site);
	hash = hash ? hash : 1;
	entry = find_seen(order, hash);
	/* relaxed: as in find_seen. */
	if (entry ? at_load_relaxed(entry) == hash :
		    at_load_relaxed(&order->full))
		return;
	examine_all(order, &r, hash);
}
