/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_DIAG_KEEP_H
#define WEIR_CMD_DIAG_KEEP_H

/*
 * The symbols of processes, kept from one request to the next: to parse the
 * debug information of a large program takes longer than everything else.
 *
 *     if (diag_try(&diag, what)) {
 *             keep_use(&diag);
 *             ... symbols_name(&diag.modules, ...) ...
 *             keep(&diag);
 *     }
 *     diag_close(&diag);
 *     ... the other processes ...
 *     keep_drop_unused();
 */
#include "cmd/diag/source.h"

/* Use the symbols of the last request if the process maps the same files. */
void keep_use(struct diag *diag);
/* Keep the symbols for the next request. */
void keep(struct diag *diag);
/* Called at the end of a request: drop the symbols that it did not use. */
void keep_drop_unused(void);

#endif /* WEIR_CMD_DIAG_KEEP_H */
