/* SPDX-License-Identifier: MIT */
/* The table of weir top. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/rows.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "diag/text.h"
#include "weir/base.h"

static const struct row *find_before(const struct rows *rows,
				     const struct row *row)
{
	for (uint32_t i = 0; i < rows->before_count; i++)
		if (rows->before[i].pid == row->pid &&
		    rows->before[i].id == row->id)
			return &rows->before[i];
	return NULL;
}

static void set_rate(const struct rows *rows, struct row *row, int64_t age_ns)
{
	const struct row *before = find_before(rows, row);
	uint64_t acquires = row->acquires;
	int64_t ns = age_ns;

	if (before) {
		ns = rows->sampled_ns - rows->before_ns;
		acquires = row->acquires > before->acquires ?
			   row->acquires - before->acquires : 0;
	}
	row->rate = ns > 0 ? (double)acquires * 1e9 / (double)ns : 0;
}

/*
 * As in explain, the permit of a rate limit is not shown: the first of the calls that
 * wait for tokens holds it.  Nor are the acquires of it.
 */
static void show_rate_limit(struct row *row, const struct dg_object *object)
{
	row->waiting += object->holders;
	if (row->oldest_hold_ns > row->oldest_wait_ns)
		row->oldest_wait_ns = row->oldest_hold_ns;
	row->oldest_hold_ns = DG_UNKNOWN;
	row->held = 0;
}

static void add_object(struct rows *rows, const struct dg_model *model,
		       const struct dg_object *object)
{
	struct row *row;

	rows->list = memory_realloc(rows->list, (rows->count + 1) *
				    sizeof(*rows->list));
	row = &rows->list[rows->count++];
	memset(row, 0, sizeof(*row));
	row->pid = model->pid;
	row->id = object->id;
	(void)snprintf(row->name, sizeof(row->name), "%s", object->name);
	row->type = object->type;
	row->flags = object->flags;
	row->waiting = object->waiters;
	row->capacity = object->capacity;
	row->free = object->free;
	row->held = object->held;
	/* As in explain, a lock is not free if no context is known to hold it. */
	if (object->type == RG_RWLOCK)
		row->held = weir_diag_add_(object->held, object->unowned);
	row->verdict = object->verdict;
	row->oldest_wait_ns = row->oldest_hold_ns = DG_UNKNOWN;
	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object)
		if (model->waits[w].age_ns > row->oldest_wait_ns)
			row->oldest_wait_ns = model->waits[w].age_ns;
	for (uint32_t h = object->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_object)
		if (model->holds[h].weight &&
		    model->holds[h].age_ns > row->oldest_hold_ns)
			row->oldest_hold_ns = model->holds[h].age_ns;
	if (object->type == RG_RATE)
		show_rate_limit(row, object);
	if (object->type != RG_RATE)
		row->acquires = object->acquires[RG_IMMEDIATE] +
				object->acquires[RG_QUEUED];
	set_rate(rows, row, object->age_ns);
}

static bool add_source(struct rows *rows, const char *what, char why[DIAG_WHY],
		       int *status)
{
	static struct diag diag;
	bool good = diag_try(&diag, what) && diag_try_read(&diag);

	for (uint32_t i = 0; good && i < diag.model.used.objects; i++)
		add_object(rows, &diag.model, &diag.model.objects[i]);
	if (good) {
		rows->processes++;
	} else if (why) {
		(void)snprintf(why, DIAG_WHY, "%s", diag.why);
		*status = diag.status;
	}
	diag_close(&diag);
	return good;
}

bool rows_sample(struct rows *rows, char why[DIAG_WHY], int *status)
{
	pid_t *pids;
	uint32_t count;

	free(rows->before);
	rows->before = rows->list;
	rows->before_count = rows->count;
	rows->before_ns = rows->sampled_ns;
	rows->list = NULL;
	rows->count = rows->processes = 0;
	rows->sampled_ns = weir_now_ns();
	if (rows->what)
		return add_source(rows, rows->what, why, status);
	if (!diag_has_proc()) {
		(void)snprintf(why, DIAG_WHY, "top: " DIAG_NO_PROC);
		*status = EXIT_WEIR;
		return false;
	}
	count = diag_processes(&pids);
	for (uint32_t i = 0; i < count; i++) {
		char pid[16];

		(void)snprintf(pid, sizeof(pid), "%d", (int)pids[i]);
		/* The process may have ended meanwhile. */
		(void)add_source(rows, pid, NULL, NULL);
	}
	free(pids);
	return true;
}

const char *rows_sort_name(enum rows_sort sort)
{
	static const char *const names[ROWS_SORTS] = {
		"verdict", "waiting", "oldest wait", "oldest hold", "rate",
		"name"
	};

	return names[sort];
}

static int compare_numbers(double a, double b)
{
	return a > b ? -1 : a < b;
}

/* The argument of compare, which qsort does not pass. */
static enum rows_sort sorted_by;

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = 0;

	switch (sorted_by) {
	case ROWS_VERDICT:
		order = (int)y->verdict - (int)x->verdict;
		break;
	case ROWS_WAITING:
		order = compare_numbers(x->waiting, y->waiting);
		break;
	case ROWS_WAIT:
		order = compare_numbers((double)x->oldest_wait_ns,
					(double)y->oldest_wait_ns);
		break;
	case ROWS_HOLD:
		order = compare_numbers((double)x->oldest_hold_ns,
					(double)y->oldest_hold_ns);
		break;
	case ROWS_RATE:
		order = compare_numbers(x->rate, y->rate);
		break;
	case ROWS_NAME:
	case ROWS_SORTS:
		break;
	}
	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = x->pid < y->pid ? -1 : x->pid > y->pid;
	return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

void rows_order(struct rows *rows)
{
	sorted_by = rows->sort;
	if (rows->count)
		qsort(rows->list, rows->count, sizeof(*rows->list), compare);
}

static const char *age_text(int64_t ns, char room[DURATION_ROOM])
{
	return ns < 0 ? "-" : duration_text(ns, room);
}

void rows_line(const struct row *row, char line[ROWS_LINE])
{
	char wait[DURATION_ROOM], hold[DURATION_ROOM], counts[64], rate[32];
	bool writer;

	if (!row) {
		(void)snprintf(line, ROWS_LINE, "%7s %9s %5s %5s %8s %8s %7s "
			       "%-11s %s", "PID", "FREE", "HELD", "WAIT",
			       "OLD WAIT", "OLD HOLD", "ACQ/S", "VERDICT",
			       "NAME");
		return;
	}
	/* The writer of a lock has all of its permits. */
	writer = row->type == RG_RWLOCK && row->held > 1 &&
		 row->held >= row->capacity;
	if (row->type == RG_RWLOCK)
		(void)snprintf(counts, sizeof(counts), "%s", writer ? "writer" :
			       row->held > 0 ? "readers" : "free");
	else if (row->type == RG_RATE)
		(void)snprintf(counts, sizeof(counts), "-");
	else if (row->flags & RG_UNBOUNDED)
		(void)snprintf(counts, sizeof(counts), "unbounded");
	else
		(void)snprintf(counts, sizeof(counts), "%lld/%lld",
			       (long long)row->free, (long long)row->capacity);
	if (row->type == RG_RATE)
		(void)snprintf(rate, sizeof(rate), "-");
	else
		(void)snprintf(rate, sizeof(rate), "%.1f", row->rate);
	/* The name begins inside the 80 columns of a terminal. */
	(void)snprintf(line, ROWS_LINE, "%7u %9s %5lld %5u %8s %8s %7s "
		       "%-11s %s", row->pid, counts,
		       writer ? 1ll : (long long)row->held,
		       row->waiting, age_text(row->oldest_wait_ns, wait),
		       age_text(row->oldest_hold_ns, hold), rate,
		       row->verdict == DG_FINE ? "-" :
		       row->verdict == DG_NO_RELEASER ? "NO RELEASER" :
		       row->verdict == DG_POSSIBLE_DEADLOCK ? "DEADLOCK?" :
		       weir_diag_verdict_name_(row->verdict),
		       *row->name ? row->name :
		       weir_diag_type_name_(row->type));
}

bool rows_detail(const struct rows *rows, uint32_t pid, uint64_t id,
		 char *text, size_t size)
{
	static struct diag diag;
	struct dg_text out = { .to = text, .size = size, .site = symbols_name,
			       .site_user = &diag.modules };
	bool found = false;
	char what[16];

	(void)snprintf(what, sizeof(what), "%u", pid);
	if (diag_try(&diag, rows->what ? rows->what : what) &&
	    diag_try_read(&diag))
		for (uint32_t i = 0; i < diag.model.used.objects; i++)
			if (diag.model.objects[i].id == id) {
				found = true;
				weir_diag_report_object_(&out, &diag.model, i);
			}
	diag_close(&diag);
	return found;
}
