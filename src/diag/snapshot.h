/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_SNAPSHOT_H
#define WEIR_DIAG_SNAPSHOT_H

/*
 * A snapshot of a registry: from its bytes to a model.  No byte is trusted:
 * every index, count and string is checked, and every loop is bounded by the
 * size of the tables.
 *
 * The process changes the registry meanwhile.  The verdict is exact
 * nevertheless, because of the order of reading:
 *
 *     1  the sequence numbers of the waits
 *     2  the objects, and the orders of WEIR_DIAG=order
 *     3  the contexts and their holds
 *     4  the contexts again, to see which objects' holders have changed
 *     5  the waits; a wait that has changed since 1 is marked as moving
 *     6  the objects again: flags, capacity, permits that were handed over
 *
 * All waits that are not moving were waiting at every instant between 1 and 5.
 * The holds of a context do not change while the context waits.  So the holds
 * of these contexts, as step 3 has read them, are those of one instant.  The
 * permits of the other contexts do not matter to the reduction, because they
 * are released.
 */
#include "diag/model.h"
#include "diag/bytes.h"

/*
 * Fill in the model, and call weir_diag_finish_.  Requires: the model was
 * initialised with the limits of this header, and is otherwise unused.
 */
enum dg_error weir_diag_snapshot_(const struct dg_source *source,
				  const struct rg_header *header,
				  struct dg_model *model);

#endif /* WEIR_DIAG_SNAPSHOT_H */
