/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_RING_H
#define WEIR_BASE_RING_H

#include <stddef.h>

#include "weir/base.h"

/*
 * Doubly linked circular lists: *first is the oldest node, null if the list is
 * empty; the node before the oldest is the newest.  Append and remove are O(1).
 */

/* The address of the object that contains the node. */
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
 * Iterate over the nodes, oldest first.  `next` is read ahead, so the body may
 * remove `node`.  `end` limits the iteration to the nodes that are on the list
 * at its start.
 */
#define RING_EACH(node, next, end, first)                                      \
	for (struct weir_ring_ *node = (first),                                \
	     *end = node ? node->prev_ : NULL,                                 \
	     *next = node ? node->next_ : NULL;                                \
	     node;                                                             \
	     node = node == end ? NULL : next, next = node ? node->next_ : NULL)

#endif /* WEIR_BASE_RING_H */
