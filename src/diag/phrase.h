/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_PHRASE_H
#define WEIR_DIAG_PHRASE_H

/* The phrases of which the lines of a report consist. */
#include "diag/text.h"

/* "1 context", "5 contexts" */
void weir_diag_put_count_(struct dg_text *text, int64_t n, const char *what);
/* " (mail.c:18, 40.0 s)" */
void weir_diag_put_origin_(struct dg_text *text, uint64_t site, int64_t age_ns);
/* "  40.0 s  mail.c:18" */
void weir_diag_put_columns_(struct dg_text *text, uint64_t site,
			    int64_t age_ns);
/* "0 of 20 free" */
void weir_diag_put_free_(struct dg_text *text, const struct dg_object *object);
/* "db_pool 2", "an item of jobs" */
void weir_diag_put_wanted_(struct dg_text *text, const struct dg_object *object,
			   const struct dg_wait *wait);
/* ", times out in 3.0 s, can be cancelled" */
void weir_diag_put_deadline_(struct dg_text *text, const struct dg_wait *wait);

#endif /* WEIR_DIAG_PHRASE_H */
