/* SPDX-License-Identifier: MIT */
/*
 * The report on a predicted deadlock: record/lockorder.h.  The call sites are
 * module and offset, for the reason in timeout.c.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/print.h"
#include "base/shared.h"
#include "diag/limit.h"
#include "diag/maps.h"
#include "diag/own.h"
#include "diag/timeout.h"
#include "record/lockorder.h"
#include "record/words.h"

#define REPORT_ROOM 16384u

static uint64_t spent;

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
}

static void put_class(struct dg_text *text,
		      const struct weir_cycle_step_ *step)
{
	if (*step->name) {
		char name[RG_NAME * 3];

		weir_diag_clean_(name, sizeof(name), step->name,
				 sizeof(step->name));
		put(text, name);
		return;
	}
	put(text, "semaphore made at ");
	weir_diag_put_site_(text, step->made_at);
}

/* "db_pool -> smtp_conn at invoice.c:80" */
static void put_order(struct dg_text *text, const struct weir_cycle_ *cycle)
{
	put(text, "  order   ");
	for (uint32_t i = 0; i < cycle->length; i++) {
		put(text, i ? ";  " : "");
		put_class(text, &cycle->steps[i]);
		put(text, " -> ");
		put_class(text, &cycle->steps[(i + 1) % cycle->length]);
		put(text, " at ");
		weir_diag_put_site_(text, cycle->steps[i].wanted_at);
	}
	put(text, "\n");
}

/* " 10", " as a reader", " as the writer": permits of the class of the step */
static void put_share(struct dg_text *text, const struct weir_cycle_step_ *step,
		      int64_t weight)
{
	if (step->type == RG_RWLOCK) {
		put(text, weight == 1 ? " as a reader" : " as the writer");
		return;
	}
	put(text, " ");
	put_int(text, weight);
}

/* "2 at invoice.c:80: each holds db_pool 10 of 20 (...), wants smtp_conn 1" */
static void put_callers(struct dg_text *text, const struct weir_cycle_ *cycle,
			uint32_t i)
{
	const struct weir_cycle_step_ *step = &cycle->steps[i];
	const struct weir_cycle_step_ *next =
		&cycle->steps[(i + 1) % cycle->length];

	put(text, i ? "          " : "  callers ");
	put_int(text, step->callers);
	put(text, " at ");
	weir_diag_put_site_(text, step->wanted_at);
	put(text, step->callers == 1 ? ": holds " : ": each holds ");
	put_class(text, step);
	put_share(text, step, step->held);
	if (step->type != RG_RWLOCK) {
		put(text, " of ");
		put_int(text, step->capacity);
	}
	put(text, " (");
	weir_diag_put_site_(text, step->held_at);
	put(text, "), wants ");
	put_class(text, next);
	put_share(text, next, step->wants);
	put(text, "\n");
}

static void put_cycle(struct dg_text *text, const struct weir_cycle_ *cycle)
{
	if (!cycle->length) {
		put(text, "weir: ORDER  a table is full: further orders are "
			  "not examined\n");
		return;
	}
	put(text, "weir: ORDER  a deadlock is possible: needs ");
	put_int(text, cycle->arity);
	put(text, cycle->arity == 1 ? " caller\n" : " concurrent callers\n");
	put_order(text, cycle);
	for (uint32_t i = 0; i < cycle->length; i++)
		put_callers(text, cycle, i);
}

void weir_diag_predict_(const struct weir_cycle_ *cycle)
{
	weir_diag_report_fn *fn = weir_diag_reporter_();
	uint32_t most = weir_diag_words_()->report;
	int before = errno, cancel;
	char *room;

	if (!fn && !weir_diag_may_print_(&spent, most ? most :
						   WEIR_DIAG_REPORTS_))
		return;
	/* The report must not be cancelled: the acquire cannot be either. */
	if (!weir_diag_begin_(&cancel))
		return;
	room = weir_map_zero_(REPORT_ROOM);
	if (room) {
		struct dg_text text = { .to = room, .size = REPORT_ROOM,
					.site = weir_diag_map_site_ };

		put_cycle(&text, cycle);
		if (fn)
			fn(room);
		else
			weir_print_(STDERR_FILENO, room, text.used);
		weir_unmap_(room, REPORT_ROOM);
	}
	weir_diag_end_(cancel);
	errno = before;
}
