/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_ETCD_TXN_H
#define WEIR_CLUSTER_ETCD_TXN_H

/* Building transactions of etcd, and reading their answers. */
#include <jansson.h>

#include "cluster/engine.h"

#define ETCD_KEY 256

/* A transaction under construction.  bad: memory is exhausted. */
struct txn {
	json_t *compare, *success;
	int operations;
	bool bad;
};

/* A key and its value, decoded. */
struct kv {
	char key[ETCD_KEY];
	json_t *value;		/* an object, or null */
	int64_t create, mod;	/* revisions */
	int64_t lease;
};

void weir_cl_txn_begin_(struct txn *txn);
void weir_cl_txn_drop_(struct txn *txn);
/* Require that the key has this mod_revision; 0: that it does not exist. */
void weir_cl_txn_if_(struct txn *txn, const char *key, int64_t mod);
void weir_cl_txn_if_exists_(struct txn *txn, const char *key);
/* Consumes the reference to value. */
void weir_cl_txn_put_(struct txn *txn, const char *key, json_t *value,
		      int64_t lease);
void weir_cl_txn_delete_(struct txn *txn, const char *key);
/*
 * Read the key; if prefix is true, all keys that begin with it, at most limit
 * (0: all).
 */
void weir_cl_txn_range_(struct txn *txn, const char *key, bool prefix,
			int limit);
/* Returns the request.  Ends the transaction. */
json_t *weir_cl_txn_end_(struct txn *txn);

/* Returns a request for the first key in [from, end), without its value. */
json_t *weir_cl_etcd_first_(const char *from, const char *end);
/* Returns a range request {key, range_end} for a key or a prefix. */
json_t *weir_cl_etcd_range_(const char *key, bool prefix);

/*
 * Returns the number in the field, which the gateway sends as a string; 0 if
 * the field is missing; -1 if it is not a number.
 */
int64_t weir_cl_etcd_number_(const json_t *object, const char *field);
/* Returns the array of kvs of the i-th answer of a transaction, or null. */
json_t *weir_cl_etcd_kvs_(const json_t *answer, size_t i);
/*
 * Decode one kv.  Returns false if it is not valid.  The caller frees kv->value
 * with json_decref, also then.
 */
bool weir_cl_etcd_kv_(const json_t *item, struct kv *kv);

#endif /* WEIR_CLUSTER_ETCD_TXN_H */
