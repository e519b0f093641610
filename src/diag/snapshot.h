/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_SNAPSHOT_H
#define WEIR_DIAG_SNAPSHOT_H

/*
 * A snapshot of a registry: from its bytes to a model.  No byte is trusted:
 * every index, count and string is checked, and every loop is bounded by the
 * size of the tables.
 *
 * The process changes the registry meanwhile.  The order of reading makes the
 * verdict exact all the same:
 *
 *     1  the sequence numbers of the waits
 *     2  the objects
 *     3  the contexts with what they hold
 *     4  the contexts again, to see which objects' holders have changed
 *     5  the waits; a wait that has changed since 1 is marked as moving
 *     6  the objects again: flags, capacity, permits that were handed over
 *
 * All waits that are not moving were waiting at every instant between 1 and 5.
 * A context that waits does not change what it holds.  So what step 3 has read
 * of these contexts is the picture of one instant.  The permits of the other
 * contexts do not matter to the reduction, because they are released.
 */
#include "diag/model.h"
#include "diag/bytes.h"

/*
 * Fill in the model; weir_diag_finish_ was called then.  Requires: the model
 * was initialised with the limits of this header, and is otherwise unused.
 */
enum dg_error weir_diag_snapshot_(const struct dg_source *source,
				  const struct rg_header *header,
				  struct dg_model *model);

#endif /* WEIR_DIAG_SNAPSHOT_H */
