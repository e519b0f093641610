/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_MODEL_H
#define WEIR_CMD_EXPORT_MODEL_H

/* From the model of a process (src/diag) to samples. */
#include "cmd/export/metrics.h"
#include "diag/model.h"

/*
 * Add the present state of an object.  Requires: the model was judged.  Returns
 * its series.
 */
uint32_t model_add_state(struct metrics *m, const struct dg_model *model,
			 const struct dg_object *object);
/* Add the counters and histograms of an object to a series. */
void model_add_counts(struct metrics *m, uint32_t series,
		      const struct dg_object *object);
/* Returns the number of deadlocked requests of an object. */
int64_t model_deadlocked(const struct dg_model *model,
			 const struct dg_object *object);
/* Return the labels of an object. */
const char *model_name(const struct dg_object *object);
enum metrics_policy model_policy(const struct dg_object *object);

#endif /* WEIR_CMD_EXPORT_MODEL_H */
