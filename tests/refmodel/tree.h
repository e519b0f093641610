/* SPDX-License-Identifier: MIT */
/*
 * Contexts and the contract's model of them: the tree, and the state that each
 * context must report.  Contexts are numbered from 1; 0 means none.
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
	weir_err ended;		/* by a cancel, its own or an ancestor's */
	int64_t deadline_ns;	/* the earliest from here to the root */
} tree_node;

typedef struct tree {
	tree_node node[TREE_SIZE + 1];	/* index 0 is unused */
} tree;

/* The context with that number; null for 0. */
weir_ctx *tree_ctx(tree *t, int at);

/*
 * The number of a live context, at or after `at`, and of a dead one; 0: none.
 */
int tree_live(const tree *t, int at);
int tree_dead(const tree *t);

/* The reason why the context has ended, or WEIR_OK; WEIR_OK for 0. */
weir_err tree_err(const tree *t, int at);

/* The context and its descendants, one bit for each number. */
uint32_t tree_below(const tree *t, int at);

/* The effects of weir_ctx_init and weir_ctx_cancel. */
void tree_make(tree *t, int at, int parent, int64_t deadline_ns);
void tree_cancel(tree *t, int at);

#endif /* TESTS_REFMODEL_TREE_H */
