/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_OWN_H
#define WEIR_DIAG_OWN_H

/* A snapshot of the registry of this process, in separate memory. */
#include "diag/text.h"
#include "weir/base.h"

/* The size of the buffer of a text; a longer text is written in parts. */
#define DG_TEXT_ROOM 4096u

struct dg_own {
	struct dg_model model;
	void *memory;
	size_t size;
	char room[DG_TEXT_ROOM];
};

/*
 * Take a snapshot and judge it.  Async-signal-safe: it maps memory, and does not
 * use the heap.  If `exact` is not 0, the snapshot is repeated some times until
 * the holders of the object with this id are those of one instant.
 *
 * WEIR_ENOMEM: there is no memory.  WEIR_EAGAIN: the process watches nothing.
 */
weir_err weir_diag_own_(struct dg_own *own, uint64_t exact);
void weir_diag_own_free_(struct dg_own *own);

/*
 * Write the report on a wait that has timed out and is still in the model.
 * `record` is its index in the registry.  Returns false if the wait is not in
 * the model.
 */
bool weir_diag_report_timeout_(struct dg_text *text, struct dg_model *model,
			       uint32_t record);

#endif /* WEIR_DIAG_OWN_H */
