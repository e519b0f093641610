/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_READING_H
#define WEIR_DIAG_READING_H

/*
 * Reading the records of a registry whose process changes them: the parts of a
 * snapshot (snapshot.h).
 *
 *     reading.c    a record as it was at one instant
 *     holders.c    the contexts and their holds: steps 3, 4 and a part of 6
 *     snapshot.c   the objects, the waits, and the order of the steps
 *
 * No byte is trusted: numbers of permits and references are checked here.
 */
#include "diag/bytes.h"

/* The most permits of a semaphore. */
#define DG_PERMITS_MAX (INT64_C(1) << 60)

struct dg_reading {
	const struct dg_source *source;
	const struct rg_header *header;
	struct dg_model *model;
	bool failed;		/* the source ended early */
};

/* In context_of: a record with further slots of another context. */
#define DG_FURTHER (DG_NONE - 1)

/*
 * Read record i of a table.  Returns false if it is not in use, or is being
 * changed all the time.
 */
bool weir_diag_read_object_(struct dg_reading *r, uint32_t i,
			    struct rg_object *raw);
bool weir_diag_read_context_(struct dg_reading *r, uint32_t i,
			     struct rg_context *raw);
bool weir_diag_read_wait_(struct dg_reading *r, uint32_t i,
			  struct rg_wait *raw);

/* Returns the time since `ticks`; DG_UNKNOWN if ticks is 0. */
int64_t weir_diag_since_(const struct dg_reading *r, uint64_t ticks);

/*
 * Returns n, or the nearest number of permits that is possible; the model is
 * marked as incomplete then.
 */
int64_t weir_diag_permits_(struct dg_model *model, int64_t n);

/* Returns the model's object or context with this id; DG_NONE: none. */
uint32_t weir_diag_find_object_(const struct dg_model *model, uint64_t id);
uint32_t weir_diag_find_context_(const struct dg_model *model, uint64_t id);

/*
 * holders.c.  weir_diag_take_contexts_ reads the contexts and their holds.
 * weir_diag_check_contexts_ reads them again, and marks the objects whose
 * holders have changed.
 */
void weir_diag_take_contexts_(struct dg_reading *r);
void weir_diag_check_contexts_(struct dg_reading *r);

/* Subtract permits that other threads have released from the object's holds. */
void weir_diag_hand_over_(struct dg_model *model, struct dg_object *object);

#endif /* WEIR_DIAG_READING_H */
