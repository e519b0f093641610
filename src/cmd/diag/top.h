/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_TOP_H
#define WEIR_CMD_DIAG_TOP_H

#include "cmd/diag/rows.h"

/*
 * Show the table on the terminal.  Returns the exit status, or -1 if it cannot
 * be shown, with the reason in *why.
 */
int top_screen(struct rows *rows, int64_t interval_ns, const char **why);

#endif /* WEIR_CMD_DIAG_TOP_H */
