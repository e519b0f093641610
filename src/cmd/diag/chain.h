/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_CHAIN_H
#define WEIR_CMD_DIAG_CHAIN_H

#include "diag/model.h"

/*
 * Merge the contexts of processes that wait for each other.  Called after all
 * holds and waits have been added to the model.
 */
void chain_join(struct dg_model *model);

#endif /* WEIR_CMD_DIAG_CHAIN_H */
