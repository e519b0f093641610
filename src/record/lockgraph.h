/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_LOCKGRAPH_H
#define WEIR_RECORD_LOCKGRAPH_H

/*
 * The graph of WEIR_DIAG=order: its nodes are classes of semaphores, its edges
 * are the orders in which threads acquire them.  lockorder.h explains both, and
 * decides which edges are added.
 *
 * A cycle is a deadlock that can happen if enough threads are on it at the same
 * time.  Their number is its arity.
 *
 * Arity.  Let c be the capacity of a semaphore of the cycle.  A caller on the
 * edge that leaves it holds h permits; a caller on the edge that enters it wants
 * w.  The callers that enter wait if m callers hold m * h > c - w permits.  All
 * callers of the cycle wait if that holds at each of its semaphores; the arity
 * is the sum of the least m.  If m * h > c, the cycle is no deadlock.
 *
 * Each function requires that no other thread uses the graph.  A graph of zero
 * bytes is empty.
 */
#include <stdbool.h>
#include <stdint.h>

#include "record/layout.h"

#define WEIR_GRAPH_NODES_ 512u
#define WEIR_GRAPH_EDGES_ 2048u
#define WEIR_GRAPH_CYCLES_ 256u		/* that are reported */
#define WEIR_CYCLE_MAX_ 8u		/* semaphores of a cycle */

struct weir_node_ {
	uint64_t class_key;
	uint64_t made_at;
	int64_t capacity;
	uint32_t type;		/* enum rg_type */
	uint32_t first;		/* edge that leaves it: index + 1; 0: none */
	bool on_path;
	char name[RG_NAME];
};

struct weir_edge_ {
	uint32_t from, to;	/* nodes */
	uint32_t next;		/* of the same `from`: index + 1; 0: none */
	int64_t held, wants;
	uint64_t held_at, wanted_at;
};

struct weir_graph_ {
	uint32_t nodes_n, edges_n, reported_n;
	struct weir_node_ nodes[WEIR_GRAPH_NODES_];
	struct weir_edge_ edges[WEIR_GRAPH_EDGES_];
	uint64_t reported[WEIR_GRAPH_CYCLES_];
};

struct weir_cycle_step_ {
	/*
	 * The class that the callers hold; made_at identifies it if it has no
	 * name.
	 */
	char name[RG_NAME];
	uint64_t made_at;
	uint32_t type;			/* enum rg_type */
	int64_t capacity;
	int64_t held;			/* by each caller, of this class */
	int64_t wants;			/* of the class of the next step */
	uint64_t held_at, wanted_at;	/* call sites */
	int64_t callers;		/* that exhaust this class */
};

struct weir_cycle_ {
	uint32_t length;		/* 0: a table is full */
	int64_t arity;
	uint64_t key;
	struct weir_cycle_step_ steps[WEIR_CYCLE_MAX_];
};

/* Add b to the hash a. */
static inline uint64_t weir_graph_mix_(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

/*
 * Returns the part of an edge between two classes in the key of a cycle, which is
 * the sum over its edges.
 */
static inline uint64_t weir_graph_part_(uint64_t from, uint64_t to)
{
	return weir_graph_mix_(weir_graph_mix_(1, from), to);
}

/*
 * Returns the number of callers, each with `held` permits, that leave less than
 * `wants` of the capacity; 0: there is no such number.
 */
int64_t weir_order_callers_(int64_t capacity, int64_t held, int64_t wants);

/*
 * Add the edge from the class of `held` to that of `wanted`; *edge has its
 * weights and call sites.  Returns the new edge; null: the edge exists, or a
 * table is full, or there are enough edges with other weights between the
 * classes.
 */
const struct weir_edge_ *weir_graph_add_(struct weir_graph_ *graph,
					 const struct rg_object *held,
					 const struct rg_object *wanted,
					 struct weir_edge_ *edge);

/*
 * Returns true if the edge closes a cycle that has not been reported.  *cycle
 * is the cycle that needs the fewest callers.
 */
bool weir_graph_find_cycle_(struct weir_graph_ *graph,
			    const struct weir_edge_ *edge,
			    struct weir_cycle_ *cycle);

/* Returns true if a table of the graph is full. */
bool weir_graph_is_full_(const struct weir_graph_ *graph);

#endif /* WEIR_RECORD_LOCKGRAPH_H */
