/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_KEYED_H
#define WEIR_PATTERN_KEYED_H

/*
 * Internals shared by the files of the rate limits by key.  The head of keyed.c
 * explains them, the head of keyed_table.c the table of entries.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/ring.h"
#include "weir/rate.h"

struct weir_keyed_entry_ {
	struct weir_ring_ used;		/* in keyed->used_; under the lock */
	struct weir_keyed_entry_ *next;	/* in its row, or in keyed->free_ */
	uint32_t users;			/* calls that use it; under the lock */
	uint32_t length;
	unsigned char key[WEIR_KEY_MAX];
	weir_rate limit;
};

/*
 * Set up the table in `memory`, of WEIR_KEYED_BYTES(max_keys): all entries are
 * free.  Requires: max_ is set.
 */
void weir_keyed_table_init_(weir_keyed *keyed, void *memory);

/* Returns the entry of the key, or null.  Requires: the lock is held. */
struct weir_keyed_entry_ *weir_keyed_find_(const weir_keyed *keyed,
					   const void *key, size_t length);

/*
 * Add an entry for a key that has none.  The new entry is not in keyed->used_
 * yet.  Returns null if no entry is free and none can be forgotten.  Requires:
 * the lock is held.
 */
struct weir_keyed_entry_ *weir_keyed_add_(weir_keyed *keyed, const void *key,
					  size_t length, int64_t now_ns);

#endif /* WEIR_PATTERN_KEYED_H */
