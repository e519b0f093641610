/* SPDX-License-Identifier: MIT */
/*
 * The graph of lock orders (lockgraph.h).
 *
 * A new edge can close cycles.  A depth-first search from the end of the edge
 * to its beginning finds them: it follows at most WEIR_CYCLE_MAX_ edges in a
 * row, and at most STEPS_MAX in total.  The key of a cycle does not depend on
 * the node where it begins, nor on the weights, so each cycle is reported once.
 */
#include "record/lockgraph.h"

#include <stddef.h>
#include <string.h>

#include "base/atomic.h"

#define WEIGHTS 16u		/* edges between two nodes */
#define STEPS_MAX 20000u	/* of the search for the cycles of one edge */

/* A search for cycles. */
struct search {
	struct weir_graph_ *graph;
	const struct weir_edge_ *path[WEIR_CYCLE_MAX_];
	uint32_t length;
	uint32_t steps;		/* left */
	struct weir_cycle_ *best;
};

int64_t weir_order_callers_(int64_t capacity, int64_t held, int64_t wants)
{
	int64_t callers;

	if (held <= 0 || wants <= 0 || wants > capacity || held > capacity)
		return 0;
	callers = (capacity - wants) / held + 1;
	return callers <= capacity / held ? callers : 0;
}

/*
 * Returns the node of the object's class; WEIR_GRAPH_NODES_: the table is full.
 */
static uint32_t node_of(struct weir_graph_ *graph,
			const struct rg_object *object)
{
	uint32_t i = 0;
	struct weir_node_ *node;

	while (i < graph->nodes_n &&
	       graph->nodes[i].class_key != object->class_key)
		i++;
	if (i == WEIR_GRAPH_NODES_)
		return WEIR_GRAPH_NODES_;
	node = &graph->nodes[i];
	/* relaxed: all; the thread has seen the object's registration. */
	if (i == graph->nodes_n) {
		graph->nodes_n++;
		node->class_key = object->class_key;
		node->made_at = at_load_relaxed(&object->site);
		for (size_t k = 0; k < RG_NAME - 1; k++)
			/* relaxed: as above. */
			node->name[k] = at_load_relaxed(&object->name[k]);
	}
	/* relaxed: as above, both. */
	node->capacity = at_load_relaxed(&object->capacity);
	node->type = at_load_relaxed(&object->type);
	return i;
}

const struct weir_edge_ *weir_graph_add_(struct weir_graph_ *graph,
					 const struct rg_object *held,
					 const struct rg_object *wanted,
					 struct weir_edge_ *edge)
{
	struct weir_node_ *from;
	uint32_t weights = 0;

	edge->from = node_of(graph, held);
	edge->to = node_of(graph, wanted);
	if (edge->from == WEIR_GRAPH_NODES_ || edge->to == WEIR_GRAPH_NODES_)
		return NULL;
	from = &graph->nodes[edge->from];
	for (uint32_t e = from->first; e; e = graph->edges[e - 1].next) {
		const struct weir_edge_ *known = &graph->edges[e - 1];

		if (known->to != edge->to)
			continue;
		weights++;
		if (known->held == edge->held && known->wants == edge->wants)
			return NULL;
	}
	if (graph->edges_n == WEIR_GRAPH_EDGES_ || weights == WEIGHTS)
		return NULL;
	graph->edges[graph->edges_n] = *edge;
	graph->edges[graph->edges_n].next = from->first;
	from->first = ++graph->edges_n;
	return &graph->edges[graph->edges_n - 1];
}

/*
 * Returns the key of the cycle: the same for each of its rotations and weights.
 */
static uint64_t cycle_key(const struct search *s)
{
	const struct weir_node_ *nodes = s->graph->nodes;
	uint64_t key = 0;

	for (uint32_t i = 0; i < s->length; i++)
		key += weir_graph_part_(nodes[s->path[i]->from].class_key,
					nodes[s->path[i]->to].class_key);
	return key;
}

static bool is_reported(const struct weir_graph_ *graph, uint64_t key)
{
	for (uint32_t i = 0; i < graph->reported_n; i++)
		if (graph->reported[i] == key)
			return true;
	return false;
}

/*
 * The path is a cycle: keep it if it needs the fewest callers so far and has
 * not been reported.
 */
static void take_cycle(struct search *s)
{
	int64_t callers[WEIR_CYCLE_MAX_], arity = 0;
	uint64_t key = cycle_key(s);

	for (uint32_t i = 0; i < s->length; i++) {
		const struct weir_edge_ *in =
			s->path[i ? i - 1 : s->length - 1];

		callers[i] = weir_order_callers_(
			s->graph->nodes[s->path[i]->from].capacity,
			s->path[i]->held, in->wants);
		if (!callers[i] ||
		    __builtin_add_overflow(arity, callers[i], &arity))
			return;
	}
	if ((s->best->length && s->best->arity <= arity) ||
	    is_reported(s->graph, key))
		return;
	s->best->key = key;
	s->best->length = s->length;
	s->best->arity = arity;
	for (uint32_t i = 0; i < s->length; i++) {
		const struct weir_edge_ *e = s->path[i];
		const struct weir_node_ *node = &s->graph->nodes[e->from];
		struct weir_cycle_step_ *step = &s->best->steps[i];

		memcpy(step->name, node->name, sizeof(step->name));
		step->made_at = node->made_at;
		step->type = node->type;
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
	struct weir_node_ *node = &s->graph->nodes[at];

	if (at == s->path[0]->from) {
		take_cycle(s);
		return;
	}
	if (node->on_path || s->length == WEIR_CYCLE_MAX_)
		return;
	node->on_path = true;
	for (uint32_t e = node->first; e && s->steps;
	     e = s->graph->edges[e - 1].next) {
		s->steps--;
		s->path[s->length++] = &s->graph->edges[e - 1];
		follow(s);
		s->length--;
	}
	node->on_path = false;
}

bool weir_graph_find_cycle_(struct weir_graph_ *graph,
			    const struct weir_edge_ *edge,
			    struct weir_cycle_ *cycle)
{
	struct search s = { .graph = graph, .path = { edge }, .length = 1,
			    .steps = STEPS_MAX, .best = cycle };

	cycle->length = 0;
	if (graph->reported_n == WEIR_GRAPH_CYCLES_)
		return false;
	follow(&s);
	/* take_cycle() changes *cycle through s.best. */
	// cppcheck-suppress knownConditionTrueFalse
	if (!cycle->length)
		return false;
	graph->reported[graph->reported_n++] = cycle->key;
	return true;
}

bool weir_graph_is_full_(const struct weir_graph_ *graph)
{
	return graph->nodes_n >= WEIR_GRAPH_NODES_ ||
	       graph->edges_n >= WEIR_GRAPH_EDGES_ ||
	       graph->reported_n >= WEIR_GRAPH_CYCLES_;
}
