/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_REMOTE_SNAPSHOT_H
#define WEIR_CMD_LIB_REMOTE_SNAPSHOT_H

/* Snapshots of semaphores between machines, in the form of local ones. */
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/remote.h"
#include "weir/named.h"

/*
 * As snapshot_read.  The id of a lease is its fencing token; since_ns is that of
 * this machine's clock and differs a little from call to call.
 */
weir_err remote_snapshot_read(weir_cluster *c, weir_named_info *info,
			      weir_named_entry **entries);
/*
 * As remote_snapshot_read.  *leases has what the entries lack: the host, the
 * whole label, the lease.  Its element i is about entry i; the caller frees it.
 */
weir_err remote_snapshot_leases(weir_cluster *c, weir_named_info *info,
				weir_named_entry **entries,
				weir_cluster_entry **leases);
/* As describe_holder; "" also if the engine does not answer. */
const char *remote_describe_holder(weir_cluster *c, char room[HOLDER_ROOM]);

#endif /* WEIR_CMD_LIB_REMOTE_SNAPSHOT_H */
