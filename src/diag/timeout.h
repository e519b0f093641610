/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_TIMEOUT_H
#define WEIR_DIAG_TIMEOUT_H

#include "weir/diag.h"

/* Returns the function that weir_diag_set_report has set; null: none. */
weir_diag_report_fn *weir_diag_reporter_(void);

#endif /* WEIR_DIAG_TIMEOUT_H */
