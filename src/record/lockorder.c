/* SPDX-License-Identifier: MIT */
/*
 * The graph of the orders in which semaphores are acquired: lockorder.h.
 *
 * The tables are in memory of their own, whose address is in the page of the
 * registry: the child of a fork begins with new ones, and never finds their lock
 * held by a thread that does not exist there.
 *
 * Pairs
 *
 *   [D7] tables  release: weir_order_begin_   acquire: weir_order_request_
 *                The tables are zero when a thread finds them.
 *   [D8] lock    release: unlock   acquire: try_lock
 *                The next thread sees the changes of the graph.
 */
#include "record/lockorder.h"

#include <string.h>

#include "base/atomic.h"
#include "base/shared.h"
#include "record/context.h"
#include "record/registry.h"
#include "record/words.h"

#define SEEN 16384u		/* sequences; a power of 2 */
#define SEEN_REACH 32u		/* entries in which a hash may be */
#define NODES 512u
#define EDGES 2048u
#define WEIGHTS 16u		/* edges between two nodes */
#define REPORTED 256u		/* cycles */
#define STEPS_MAX 20000u	/* of the search for the cycles of one edge */
#define REPORTS_MAX 4u		/* of one edge */

struct node {
	uint64_t class_key;
	uint64_t made_at;
	int64_t capacity;
	uint32_t first;		/* edge that leaves it: index + 1; 0: none */
	bool on_path;
	char name[RG_NAME];
};

struct edge {
	uint32_t from, to;	/* nodes */
	uint32_t next;		/* of the same `from`: index + 1; 0: none */
	int64_t held, wants;
	uint64_t held_at, wanted_at;
};

struct weir_order_ {
	uint32_t lock;
	uint32_t full;		/* 1: a table is full */
	uint32_t nodes_n, edges_n, reported_n;
	uint64_t seen[SEEN];	/* hashes; 0: unused */
	struct node nodes[NODES];
	struct edge edges[EDGES];
	uint64_t reported[REPORTED];
};

/* A search for cycles. */
struct search {
	struct weir_order_ *order;
	const struct edge *path[WEIR_CYCLE_MAX_];
	uint32_t length;
	uint32_t steps;		/* left */
	struct weir_cycle_ *best;
	uint64_t best_key;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

uint64_t weir_order_class_(const char *name, uint64_t made_at)
{
	uint64_t key = mix(1, name && *name ? 0 : made_at);

	for (size_t i = 0; name && i < RG_NAME - 1 && name[i]; i++)
		key = mix(key, (unsigned char)name[i]);
	return key ? key : 1;
}

int64_t weir_order_callers_(int64_t capacity, int64_t held, int64_t wants)
{
	int64_t callers;

	if (held <= 0 || wants <= 0 || wants > capacity || held > capacity)
		return 0;
	callers = (capacity - wants) / held + 1;
	return callers <= capacity / held ? callers : 0;
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
 * The entry of a hash; that of an unused one if it is not there; null: neither
 * is in reach.
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

/* Returns the node of the object's class; NODES: the table is full. */
static uint32_t node_of(struct weir_order_ *order,
			const struct rg_object *object)
{
	uint32_t i = 0;
	struct node *node;

	while (i < order->nodes_n &&
	       order->nodes[i].class_key != object->class_key)
		i++;
	if (i == NODES)
		return NODES;
	node = &order->nodes[i];
	/* relaxed: all; the thread has seen the object's registration. */
	if (i == order->nodes_n) {
		order->nodes_n++;
		node->class_key = object->class_key;
		node->made_at = at_load_relaxed(&object->site);
		for (size_t k = 0; k < RG_NAME - 1; k++)
			/* relaxed: as above. */
			node->name[k] = at_load_relaxed(&object->name[k]);
	}
	/* relaxed: as above. */
	node->capacity = at_load_relaxed(&object->capacity);
	return i;
}

/*
 * Returns a new edge; null: there is one already, or the table is full, or there
 * are enough with other weights.
 */
static const struct edge *add_edge(struct weir_order_ *order,
				   const struct edge *edge)
{
	struct node *from = &order->nodes[edge->from];
	uint32_t weights = 0;

	for (uint32_t e = from->first; e; e = order->edges[e - 1].next) {
		const struct edge *known = &order->edges[e - 1];

		if (known->to != edge->to)
			continue;
		weights++;
		if (known->held == edge->held && known->wants == edge->wants)
			return NULL;
	}
	if (order->edges_n == EDGES || weights == WEIGHTS)
		return NULL;
	order->edges[order->edges_n] = *edge;
	order->edges[order->edges_n].next = from->first;
	from->first = ++order->edges_n;
	return &order->edges[order->edges_n - 1];
}

/* The same for each rotation of the cycle, and for other weights. */
static uint64_t cycle_key(const struct search *s)
{
	uint64_t key = 0;

	for (uint32_t i = 0; i < s->length; i++)
		key += mix(mix(1, s->order->nodes[s->path[i]->from].class_key),
			   s->order->nodes[s->path[i]->to].class_key);
	return key;
}

static bool is_reported(const struct weir_order_ *order, uint64_t key)
{
	for (uint32_t i = 0; i < order->reported_n; i++)
		if (order->reported[i] == key)
			return true;
	return false;
}

/* The path is a cycle: keep it if it needs the fewest callers so far. */
static void take_cycle(struct search *s)
{
	int64_t callers[WEIR_CYCLE_MAX_], arity = 0;
	uint64_t key = cycle_key(s);

	for (uint32_t i = 0; i < s->length; i++) {
		const struct edge *in = s->path[i ? i - 1 : s->length - 1];

		callers[i] = weir_order_callers_(
			s->order->nodes[s->path[i]->from].capacity,
			s->path[i]->held, in->wants);
		if (!callers[i] ||
		    __builtin_add_overflow(arity, callers[i], &arity))
			return;
	}
	if ((s->best->length && s->best->arity <= arity) ||
	    is_reported(s->order, key))
		return;
	s->best_key = key;
	s->best->length = s->length;
	s->best->arity = arity;
	for (uint32_t i = 0; i < s->length; i++) {
		const struct edge *e = s->path[i];
		const struct node *node = &s->order->nodes[e->from];
		struct weir_cycle_step_ *step = &s->best->steps[i];

		memcpy(step->name, node->name, sizeof(step->name));
		step->made_at = node->made_at;
		step->capacity = node->capacity;
		step->held = e->held;
		step->wants = e->wants;
		step->held_at = e->held_at;
		step->wanted_at = e->wanted_at;
		step->callers = callers[i];
	}
}

/*
 * Follow the edges from the end of the path to its beginning.  The recursion is
 * at most WEIR_CYCLE_MAX_ deep.
 */
static void follow(struct search *s)
{
	uint32_t at = s->path[s->length - 1]->to;
	struct node *node = &s->order->nodes[at];

	if (at == s->path[0]->from) {
		take_cycle(s);
		return;
	}
	if (node->on_path || s->length == WEIR_CYCLE_MAX_)
		return;
	node->on_path = true;
	for (uint32_t e = node->first; e && s->steps;
	     e = s->order->edges[e - 1].next) {
		s->steps--;
		s->path[s->length++] = &s->order->edges[e - 1];
		follow(s);
		s->length--;
	}
	node->on_path = false;
}

/* Returns true if the edge closes a cycle that was not reported yet. */
static bool find_cycle(struct weir_order_ *order, const struct edge *edge,
		       struct weir_cycle_ *cycle)
{
	struct search s = { .order = order, .path = { edge }, .length = 1,
			    .steps = STEPS_MAX, .best = cycle };

	cycle->length = 0;
	if (order->reported_n == REPORTED)
		return false;
	follow(&s);
	/* take_cycle() changes it, as s.best. */
	// cppcheck-suppress knownConditionTrueFalse
	if (!cycle->length)
		return false;
	order->reported[order->reported_n++] = s.best_key;
	return true;
}

/* A hold of the calling thread, of an object that can be exhausted. */
static struct rg_object *held_object(char *base, const struct rg_slot *slot)
{
	/* relaxed: all; this thread writes the slot. */
	uint64_t id = at_load_relaxed(&slot->object);
	struct rg_object *object = weir_rg_object_(base, id);

	return id && weir_slot_holds_(slot) > 0 &&
	       at_load_relaxed(&object->id) == id ? object : NULL;
}

/*
 * Call fn for each slot with permits that the thread held before it got n of
 * `wanted` at `site`.  If the request has been granted already, its own slot
 * contains these n permits.
 */
struct request {
	char *base;
	const struct rg_object *wanted;
	int64_t n;
	uint64_t site;
	bool granted;
};

typedef void held_fn(const struct request *request, struct rg_object *object,
		     const struct rg_slot *slot, int64_t held, void *user);

static void each_held(const struct request *r, held_fn *fn, void *user)
{
	const struct rg_context *context = weir_mine_.context;
	int64_t own = r->granted ? r->n : 0;

	for (; context; context = weir_context_more_(r->base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			const struct rg_slot *slot = &context->slots[i];
			struct rg_object *object = held_object(r->base, slot);
			int64_t held;

			if (!object)
				continue;
			held = weir_slot_holds_(slot);
			/* relaxed: this thread writes the slot. */
			if (object == r->wanted &&
			    at_load_relaxed(&slot->site) == r->site) {
				held -= own;
				own = 0;
			}
			if (held > 0)
				fn(r, object, slot, held, user);
		}
}

/* Whether other threads may release the permits that a thread has acquired. */
static bool is_passed_on(const struct rg_object *object)
{
	/* relaxed: once set, a flag remains. */
	return at_load_relaxed(&object->flags) & (RG_HANDED_OVER | RG_MOVED);
}

/* Whether a thread can exhaust the object by holding its permits. */
static bool is_exhaustible(const struct rg_object *object)
{
	/* relaxed: both; they do not change. */
	return !(at_load_relaxed(&object->flags) & RG_UNBOUNDED) &&
	       object->type != RG_CHAN && object->type != RG_RATE;
}

/* Two semaphores of one class have no order: it is often that of addresses. */
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
	*hash = mix(*hash ? *hash : 1, object->class_key);
	*hash = mix(*hash, (uint64_t)held);
	/* relaxed: this thread writes the slot. */
	*hash = mix(*hash, at_load_relaxed(&slot->site));
}

/* New cycles, to be reported without the lock. */
struct found {
	struct weir_order_ *order;
	struct weir_cycle_ cycles[REPORTS_MAX];
	uint32_t n;
};

static void examine(const struct request *r, struct rg_object *object,
		    const struct rg_slot *slot, int64_t held, void *user)
{
	struct found *found = user;
	struct weir_order_ *order = found->order;
	struct edge edge = { .held = held, .wants = r->n,
			     .wanted_at = r->site };
	const struct edge *added;

	if (!is_edge(object, r->wanted))
		return;
	/* relaxed: this thread writes the slot. */
	edge.held_at = at_load_relaxed(&slot->site);
	edge.from = node_of(order, object);
	edge.to = node_of(order, r->wanted);
	if (edge.from == NODES || edge.to == NODES)
		return;
	added = add_edge(order, &edge);
	while (added && found->n < REPORTS_MAX &&
	       find_cycle(order, added, &found->cycles[found->n]))
		found->n++;
}

/* Whether a table has just become full. */
static bool is_full(struct weir_order_ *order, const uint64_t *entry)
{
	if (order->full || (entry && order->nodes_n < NODES &&
			    order->edges_n < EDGES &&
			    order->reported_n < REPORTED))
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
	hash = mix(mix(mix(hash, r.wanted->class_key), (uint64_t)n), site);
	hash = hash ? hash : 1;
	entry = find_seen(order, hash);
	/* relaxed: as in find_seen. */
	if (entry ? at_load_relaxed(entry) == hash :
		    at_load_relaxed(&order->full))
		return;
	examine_all(order, &r, hash);
}
