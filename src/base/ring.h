/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_RING_H
#define WEIR_BASE_RING_H

#include <stddef.h>

#include "weir/base.h"

/*
 * Doubly linked lists: *first is the oldest node or null, and the node before
 * it is the newest.  Joining and leaving are O(1) wherever the node stands.
 */

/* The object that a node is part of. */
#define ring_entry(node, type, member)                                         \
	((type *)(void *)((char *)(node) - offsetof(type, member)))

static inline void ring_append(struct weir_ring_ **first,
			       struct weir_ring_ *node)
{
	if (*first) {
		node->next_ = *first;
		node->prev_ = (*first)->prev_;
		node->prev_->next_ = node;
		node->next_->prev_ = node;
	} else {
		node->next_ = node->prev_ = node;
		*first = node;
	}
}

static inline void ring_remove(struct weir_ring_ **first,
			       struct weir_ring_ *node)
{
	if (node->next_ == node) {
		*first = NULL;
	} else {
		node->prev_->next_ = node->next_;
		node->next_->prev_ = node->prev_;
		if (*first == node)
			*first = node->next_;
	}
}

/*
 * Go through the nodes, oldest first.  `next` is read ahead, so the body may
 * remove `node`; `end` bounds the walk to the nodes there at the start.
 */
#define RING_EACH(node, next, end, first)                                      \
	for (struct weir_ring_ *node = (first),                                \
	     *end = node ? node->prev_ : NULL,                                 \
	     *next = node ? node->next_ : NULL;                                \
	     node;                                                             \
	     node = node == end ? NULL : next, next = node ? node->next_ : NULL)

#endif /* WEIR_BASE_RING_H */
