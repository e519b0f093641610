/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_NAMED_H
#define WEIR_CMD_DIAG_NAMED_H

/*
 * A model of semaphores that have names, from snapshots of them: those between
 * processes (named.c) or those of a server (remote.c).  A source reads them
 * twice, so that a wait that has changed meanwhile is recognised; if there is no
 * wait, `before` and `now` may be the same.
 */
#include "cmd/diag/source.h"
#include "weir/cluster.h"
#include "weir/named.h"

struct named_one {
	const char *name;
	char *own_name;		/* freed with the list; may be null */
	weir_named_info info;
	weir_named_entry *entries;
	weir_cluster_entry *leases;	/* of a server: element i is about
					   entry i */
};

struct named_all {
	struct named_one *list;
	uint32_t used;
	uint32_t entries;	/* of all together */
	bool clients;		/* of a server: the holders are clients */
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

/* remote.c: read those of diag->url.  Exits if that fails. */
void remote_read(struct diag *diag);

/*
 * clients.c: returns the context of a client, which is a process of any machine;
 * adds it if it is new.
 */
uint32_t clients_context(struct dg_model *model,
			 const weir_cluster_entry *lease);
/* clients.c: called when all entries were added. */
void clients_join(struct dg_model *model);

/* Fill in the model of *diag. */
void named_model(struct diag *diag, const struct named_all *before,
		 const struct named_all *now);

#endif /* WEIR_CMD_DIAG_NAMED_H */
