/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_TEXT_H
#define WEIR_DIAG_TEXT_H

/*
 * Texts for people, written to a buffer of fixed size.  No function allocates,
 * locks or uses stdio, so weir_report can call them in a signal handler.
 */
#include "diag/snapshot.h"
#include "diag/verdict.h"

/*
 * Write the name of a call site, such as "mail.c:18 send", to `to`.  Returns
 * false if nothing is known about it.
 */
typedef bool dg_site_fn(void *user, uint64_t site, char *to, size_t size);

struct dg_text {
	char *to;
	size_t size;		/* 1 at least: the text is always terminated */
	size_t used;		/* without the terminating 0 */
	/* Called when the buffer is full; null: the rest is left out. */
	void (*flush)(struct dg_text *text);
	void *flush_user;
	dg_site_fn *site;	/* null: sites are printed as numbers */
	void *site_user;
	bool exact;		/* the source does not change */
};

void weir_diag_put_(struct dg_text *text, const char *string);
void weir_diag_put_int_(struct dg_text *text, int64_t number);
/* Write the number right-aligned in `width` columns. */
void weir_diag_put_right_(struct dg_text *text, int64_t number, int width);
/* "3.1 ms", "29.8 s", "15m12s", "6h02m", "2 days". */
void weir_diag_put_time_(struct dg_text *text, int64_t ns);
/* "30 s", "2.5 s", "1m30s": three digits, without zeros at the end. */
void weir_diag_put_limit_(struct dg_text *text, int64_t ns);
void weir_diag_put_site_(struct dg_text *text, uint64_t site);
/* "tid 8131 worker-1", "operation 0x5500", "pid 12 make". */
void weir_diag_put_context_(struct dg_text *text,
			    const struct dg_context *context);
/* Write the name of an object, or its type and address. */
void weir_diag_put_object_(struct dg_text *text,
			   const struct dg_object *object);

/*
 * Write the report on a model that was judged: its groups of contexts that
 * cannot proceed, then its objects.  If `only` is not null, only objects with
 * this name and the groups that wait for them.  Returns the number of these
 * objects.
 */
uint32_t weir_diag_report_(struct dg_text *text, struct dg_model *model,
			   const char *only);
/*
 * Write the orders in which the members of a deadlock have acquired.  Uses the arrays
 * of a reduction.
 */
void weir_diag_put_orders_(struct dg_text *text, struct dg_model *model,
			   uint32_t group);
/* Write one group; write one object with its holders and waiters. */
void weir_diag_report_group_(struct dg_text *text, struct dg_model *model,
			     uint32_t group);
void weir_diag_report_object_(struct dg_text *text,
			      const struct dg_model *model, uint32_t index);
/* As weir_diag_report_object_, without the verdict. */
void weir_diag_report_body_(struct dg_text *text, const struct dg_model *model,
			    uint32_t index);

#endif /* WEIR_DIAG_TEXT_H */
