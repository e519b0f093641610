/* SPDX-License-Identifier: MIT */
/*
 * Contexts, and the contract's model of them: who is below whom, and what each
 * must say.  A context is known by its number, from 1; 0 is none.
 */
#ifndef TESTS_REFMODEL_TREE_H
#define TESTS_REFMODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/ctx.h"

#define TREE_SIZE 8

typedef struct tree_node {
	weir_ctx ctx;
	bool live;
	int parent;
	weir_err ended;		/* by a cancel, its own or one above */
	int64_t deadline_ns;	/* the earliest from here to the root */
} tree_node;

typedef struct tree {
	tree_node node[TREE_SIZE + 1];	/* the first is not used */
} tree;

/* The context of that number; null for 0. */
weir_ctx *tree_ctx(tree *t, int at);

/* A live one, at or after `at`; a dead one.  0 if there is none. */
int tree_live(const tree *t, int at);
int tree_dead(const tree *t);

/* Why it has ended; WEIR_OK also for 0. */
weir_err tree_err(const tree *t, int at);

/* Itself and those below it, one bit for each number. */
uint32_t tree_below(const tree *t, int at);

/* What init and cancel do. */
void tree_make(tree *t, int at, int parent, int64_t deadline_ns);
void tree_cancel(tree *t, int at);

#endif /* TESTS_REFMODEL_TREE_H */
