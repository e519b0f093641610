/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_RECENT_H
#define WEIR_CMD_EXPORT_RECENT_H

/* Exemplars: recent waits and holds of a process, with their call sites. */
#include "cmd/diag/source.h"
#include "cmd/export/metrics.h"

/* Begin an answer, with the whole time for the names of call sites. */
void recent_begin(void);
/*
 * Add the newest exemplar of each bucket of each histogram.  `series` has the
 * series of each object of the model.  Requires: diag was read.
 */
void recent_add(struct metrics *m, struct diag *diag, const uint32_t *series);

#endif /* WEIR_CMD_EXPORT_RECENT_H */
