/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_ETCD_STREAM_H
#define WEIR_CLUSTER_ETCD_STREAM_H

/* The streams of watches.  Each function is called by the handle's thread. */
#include "cluster/etcd/etcd.h"

/*
 * Begin a watch of the keys that begin with sub and id, after w->revision;
 * `deletions`: only of their deletions.  Returns false on failure; then the
 * caller closes the watch.
 */
bool weir_cl_stream_begin_(struct engine *e, struct watch *w, const char *sub,
			   const char *id, bool deletions);
/* Close the watch if it is open.  Its revision stays. */
void weir_cl_stream_close_(struct engine *e, struct watch *w);

/*
 * Receive the bytes that have arrived for all watches.  A watch whose transfer
 * has ended is marked as broken: no watch ends by itself.  Returns false if
 * curl fails.
 */
bool weir_cl_stream_run_(struct engine *e);

/* Take one message.  Returns null if there is no complete one. */
json_t *weir_cl_stream_next_(struct watch *w);
/* Note the header of a message.  Returns its events, or null. */
json_t *weir_cl_stream_events_(struct watch *w, const json_t *message);

#endif /* WEIR_CLUSTER_ETCD_STREAM_H */
