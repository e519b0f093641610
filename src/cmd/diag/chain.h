/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_CHAIN_H
#define WEIR_CMD_DIAG_CHAIN_H

#include "diag/model.h"

/*
 * Merge the contexts of processes that wait for each other.  Called after all
 * holds and waits have been added to the model.
 */
void chain_join(struct dg_model *model);
/*
 * The same for the processes of `weir run` alone: threads of a process are not
 * taken into account.
 */
void chain_climb(struct dg_model *model);

#endif /* WEIR_CMD_DIAG_CHAIN_H */
