/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_NAMED_H
#define WEIR_CMD_DIAG_NAMED_H

/*
 * A model of semaphores that have names, from snapshots of them.  A source reads
 * them twice, so that a wait that has changed meanwhile is recognised.
 */
#include "cmd/diag/source.h"
#include "weir/named.h"

struct named_one {
	const char *name;
	weir_named_info info;
	weir_named_entry *entries;
};

struct named_all {
	struct named_one *list;
	uint32_t used;
	uint32_t entries;	/* of all together */
};

/* Make an empty list with this room; free it and the entries. */
void named_make(struct named_all *all, size_t room);
void named_free(struct named_all *all);
/*
 * Returns the next element, for the caller to fill in; named_add then adds it.
 * Its name must live as long as the list.
 */
struct named_one *named_next(struct named_all *all, const char *name);
void named_add(struct named_all *all);

/* Fill in the model of *diag. */
void named_model(struct diag *diag, const struct named_all *before,
		 const struct named_all *now);

#endif /* WEIR_CMD_DIAG_NAMED_H */
