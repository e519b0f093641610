/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <stddef.h>

weir_ctx *tree_ctx(tree *t, int at)
{
	return at ? &t->node[at].ctx : NULL;
}

int tree_live(const tree *t, int at)
{
	for (int i = 0; i < TREE_SIZE; i++) {
		int candidate = (at + i - 1) % TREE_SIZE + 1;

		if (t->node[candidate].live)
			return candidate;
	}
	return 0;
}

int tree_dead(const tree *t)
{
	for (int i = 1; i <= TREE_SIZE; i++)
		if (!t->node[i].live)
			return i;
	return 0;
}

/* C13.  In these tests a deadline has always passed or never passes. */
weir_err tree_err(const tree *t, int at)
{
	const tree_node *n = &t->node[at];

	if (!at || n->ended)
		return at ? n->ended : WEIR_OK;
	return n->deadline_ns <= weir_now_ns() ? WEIR_ETIMEDOUT : WEIR_OK;
}

uint32_t tree_below(const tree *t, int at)
{
	uint32_t set = UINT32_C(1) << at, before;

	do {
		before = set;
		for (int i = 1; i <= TREE_SIZE; i++)
			if (t->node[i].live && set >> t->node[i].parent & 1)
				set |= UINT32_C(1) << i;
	} while (set != before);
	return set;
}

void tree_make(tree *t, int at, int parent, int64_t deadline_ns)
{
	tree_node *n = &t->node[at];
	const tree_node *above = &t->node[parent];

	n->live = true;
	n->parent = parent;
	n->ended = parent ? above->ended : WEIR_OK;
	/* The library stores a deadline of 0 or less as 1. */
	n->deadline_ns = deadline_ns > 0 ? deadline_ns : 1;
	if (parent && above->deadline_ns < n->deadline_ns)
		n->deadline_ns = above->deadline_ns;
}

/* The first reason why a context ended is kept. */
void tree_cancel(tree *t, int at)
{
	uint32_t below = tree_below(t, at);

	for (int i = 1; i <= TREE_SIZE; i++)
		if (below >> i & 1) {
			weir_err why = tree_err(t, i);

			t->node[i].ended = why ? why : WEIR_ECANCELED;
		}
}
