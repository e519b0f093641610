/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_ETCD_MODEL_H
#define WEIR_CLUSTER_ETCD_MODEL_H

/*
 * The semaphore in etcd.  Keys below weir/NAME/:
 *
 *     s            the state; every change is a transaction that compares its
 *                  mod_revision
 *     q/TICKET     a request in the queue, attached to the lease of its handle
 *     o/TICKET     a request outside the queue: oversized, or waiting for idle
 *     w/ID         the ticket of a request that waits
 *     g/ID         the outcome of a request: a lease of the semaphore (s is "G"),
 *                  or closed, too big, idle ("C", "T", "I")
 *
 * The keys of a handle that has died vanish with its etcd lease, without a
 * change of the state.  So `used`, nq and no of the state may be too large; a
 * view has the true values as far as it has read the keys.
 */
#include "cluster/etcd/txn.h"

#define VIEW_HEADS 8

/* A request that waits, or an outcome. */
struct entry {
	char id[ID_SIZE];
	char role;		/* W O I, or G C T I for an outcome */
	int64_t min, max, weight;
	uint64_t fence, ticket;
	int64_t lease;		/* of etcd */
	int64_t since_ms;
	bool outside;		/* ASK_OUTSIDE */
	char text[160];
};

struct model {
	int64_t mod;		/* of the state; 0: it does not exist */
	int64_t revision;	/* of the answer */
	int64_t cap, used, tick, nq, no;
	uint64_t fence;
	int closed;		/* 0, 1 at once, 2 drain */
	bool paused;
	/*
	 * The first keys of the queue; some of the requests outside it, above
	 * all those that can be decided.
	 */
	struct entry heads[VIEW_HEADS], outside[VIEW_HEADS];
	int head_count, outside_count;
	bool more;		/* more requests may be decidable: read again */
	struct entry own;	/* the outcome of the request; role 0: none */
	int64_t waits;		/* the ticket of the request; 0: none */
	bool waits_outside;
};

/* Write a key of a semaphore. */
void weir_cl_model_key_(char key[ETCD_KEY], const char *name, const char *sub,
			const char *id);
void weir_cl_model_ticket_key_(char key[ETCD_KEY], const char *name, char kind,
			       uint64_t ticket);

/* Parse the value of the state.  Returns false if it is damaged. */
bool weir_cl_model_parse_(const json_t *value, struct model *m);
json_t *weir_cl_model_format_(const struct model *m);
bool weir_cl_entry_parse_(const json_t *value, struct entry *e);
json_t *weir_cl_entry_format_(const struct entry *e);
/* Read an entry from one item of a range.  Returns false if it is damaged. */
bool weir_cl_entry_read_(const json_t *item, struct entry *e);

/*
 * Add to txn a read of the state, the first heads, the outcomes and the requests
 * outside the queue; if `id` is not null, also a read of that request.
 */
void weir_cl_model_read_(struct txn *txn, const char *name, const char *id);
/* Fill in *m from the answer.  Returns false if it is damaged. */
bool weir_cl_model_view_(const json_t *answer, bool has_id,
			 struct model *m);

/*
 * Steps of a change: each changes *m and adds operations to txn.
 * weir_cl_model_grant_ grants from the head as long as requests fit, and
 * decides the requests outside the queue that can be decided.
 */
void weir_cl_model_grant_(struct model *m, const char *name,
			  struct txn *txn);
/* Returns true if a request outside the queue can be decided. */
bool weir_cl_model_ripe_(const struct model *m, const struct entry *e);
void weir_cl_model_hold_(struct model *m, const char *name,
			 struct entry *e, struct txn *txn);
void weir_cl_model_outcome_(const char *name, struct entry *e, char role,
			    struct txn *txn);
void weir_cl_model_wait_(struct model *m, const char *name,
			 struct entry *e, char kind, struct txn *txn);
void weir_cl_model_leave_(struct model *m, const char *name,
			  const char *id, struct txn *txn);

#endif /* WEIR_CLUSTER_ETCD_MODEL_H */
