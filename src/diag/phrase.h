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
/*
 * "0 of 20 free"; for a reader-writer lock "2 readers inside"; for a rate limit
 * "a call waits for tokens".  The semaphore of a rate limit has one permit, which
 * the first of the calls that wait for tokens holds: reports do not show it.
 */
void weir_diag_put_free_(struct dg_text *text, const struct dg_object *object);
/*
 * A reader-writer lock is a semaphore of which a reader takes one permit and
 * the writer all of them.  Reports name the role instead of the number.
 *
 *     weight_   "     2", "reader", "writer": a column of six characters, which
 *               is empty for a rate limit
 *     share_    " 2", " as a reader", " as the writer"; nothing for a rate limit
 *     permits_  "2 permits", "1 reader", "1 writer"; returns true for one
 */
void weir_diag_put_weight_(struct dg_text *text, const struct dg_object *object,
			   int64_t weight);
void weir_diag_put_share_(struct dg_text *text, const struct dg_object *object,
			  int64_t weight);
bool weir_diag_put_permits_(struct dg_text *text,
			    const struct dg_object *object, int64_t n);
/* "db_pool 2", "table as a reader", "an item of jobs" */
void weir_diag_put_wanted_(struct dg_text *text, const struct dg_object *object,
			   const struct dg_wait *wait);
/*
 * Write what stands before wait number n of its context, from 0: `before`, and "one of "
 * if the context waits for one of several; then "or" or "and".
 */
void weir_diag_put_joint_(struct dg_text *text, const struct dg_wait *wait,
			  uint32_t n, const char *before);
/* ", times out in 3.0 s, can be cancelled" */
void weir_diag_put_deadline_(struct dg_text *text, const struct dg_wait *wait);

/* "; 1 permit is lost for good"; nothing if no thread has leaked any */
void weir_diag_put_loss_(struct dg_text *text, const struct dg_object *object);

/*
 * The lines about the calls that have ended, their waits and their holds; of times
 * only what the buckets of the histograms tell.
 */
void weir_diag_put_history_(struct dg_text *text, const struct dg_model *model,
			    const struct dg_object *object);

/*
 * "  more  weir explain 8123 db_pool   weir dump 8123 > hang.weir", a line; without
 * the name if a shell would not take it as it is.  A null object: without a name.
 */
void weir_diag_put_more_(struct dg_text *text, const struct dg_model *model,
			 const struct dg_object *object);

#endif /* WEIR_DIAG_PHRASE_H */
