/* SPDX-License-Identifier: MIT */
/*
 * An exhaustive search over all orders of release, in small systems.  It shares
 * no code with src/diag.
 */
#ifndef TESTS_DIAG_SEARCH_H
#define TESTS_DIAG_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#define OBJECTS 3
#define CONTEXTS 4
#define WAITS 8

struct system_wait {
	int context, object;
	int weight;
	bool idle;		/* waits until no permit is out */
	bool oversized;		/* not in the queue */
};

struct system {
	int objects, contexts, waits;
	int capacity[OBJECTS];
	int held[CONTEXTS][OBJECTS];
	bool any_of[CONTEXTS];
	bool ended[CONTEXTS];
	/* The waits of one object are in the order of its queue. */
	struct system_wait wait[WAITS];
};

/*
 * Set proceeds[i] to whether some order of releases and grants lets context i
 * proceed.  Returns the number of states that were visited.
 */
unsigned search(const struct system *system, bool proceeds[CONTEXTS]);

#endif /* TESTS_DIAG_SEARCH_H */
