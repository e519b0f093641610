/* SPDX-License-Identifier: MIT */
/*
 * Source: the watched semaphores in the processes of this user.
 *
 * A process ID is not a label, so the samples of all semaphores with one name
 * are combined.  If a process ends, or destroys a semaphore, its counts must not
 * disappear from the sum: Prometheus would take a smaller sum for a restart of
 * all counters.  So the counts that were read last are kept in `retired`.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/diag/keep.h"
#include "cmd/diag/source.h"
#include "cmd/export/model.h"
#include "cmd/export/recent.h"
#include "cmd/export/sources.h"
#include "cmd/lib/memory.h"
#include "weir/base.h"

/* Processes that are not reached in this time count as unreadable. */
#define BUDGET_NS INT64_C(3000000000)
/* The most names of which counts are kept. */
#define RETIRED_MAX 10000

/* The counts of one semaphore of one process, when they were read last. */
struct seen {
	pid_t pid;
	int64_t start_ns;	/* of the registry: a pid may be used again */
	struct dg_object object;
};

struct seen_list {
	struct seen *list;
	size_t count, room;
};

static struct seen_list last;
static struct metrics *retired;

static int compare(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->object.id > y->object.id) - (x->object.id < y->object.id);
}

static void append(struct seen_list *now, pid_t pid, int64_t start_ns,
		   const struct dg_object *object)
{
	if (now->count == now->room) {
		now->room = now->room ? now->room * 2 : 64;
		now->list = memory_realloc(now->list,
					   now->room * sizeof(*now->list));
	}
	now->list[now->count++] = (struct seen){
		pid, start_ns, *object
	};
}

/* Returns the series of these labels in `retired`, or its series_count. */
static uint32_t find_retired(const struct dg_object *object)
{
	struct metrics_labels labels = {
		(char *)(uintptr_t)model_name(object), model_policy(object),
		METRICS_PROCESS, NULL
	};
	uint32_t i = 0;

	while (i < retired->series_count &&
	       metrics_compare(&retired->series[i], &labels))
		i++;
	return i;
}

/* Keep the counts of a semaphore that is gone. */
static void retire(const struct dg_object *object)
{
	uint32_t series;

	if (!retired)
		retired = metrics_new();
	series = find_retired(object);
	if (series == retired->series_count) {
		if (series == RETIRED_MAX)
			return;
		series = metrics_series(retired, model_name(object),
					model_policy(object),
					METRICS_PROCESS);
	}
	model_add_counts(retired, series, object);
}

/* Retire the semaphores that the last call has read and this call has not. */
static void retire_gone(struct seen_list *now)
{
	if (now->count)
		qsort(now->list, now->count, sizeof(*now->list), compare);
	for (size_t i = 0; i < last.count; i++)
		if (!now->count ||
		    !bsearch(&last.list[i], now->list, now->count,
			     sizeof(*now->list), compare))
			retire(&last.list[i].object);
	if (retired)
		metrics_merge(retired);
}

static void add_model(struct metrics *m, struct seen_list *now,
		      struct diag *diag)
{
	const struct dg_model *model = &diag->model;
	uint32_t *series = memory_realloc(NULL, (model->used.objects + 1) *
					  sizeof(*series));

	for (uint32_t i = 0; i < model->used.objects; i++) {
		const struct dg_object *object = &model->objects[i];

		series[i] = model_add_state(m, model, object);
		model_add_counts(m, series[i], object);
		append(now, diag->pid, diag->header.start_ns, object);
	}
	if (m->wants_exemplars)
		recent_add(m, diag, series);
	free(series);
}

/* Called if a process cannot be read now: use the counts of the last call. */
static void carry_over(struct metrics *m, struct seen_list *now, pid_t pid)
{
	m->unreadable[METRICS_PROCESS]++;
	for (size_t i = 0; i < last.count; i++) {
		const struct seen *seen = &last.list[i];

		if (seen->pid != pid)
			continue;
		model_add_counts(m, metrics_series(m, model_name(&seen->object),
						   model_policy(&seen->object),
						   METRICS_PROCESS),
				 &seen->object);
		append(now, pid, seen->start_ns, &seen->object);
	}
}

static void read_process(struct metrics *m, struct seen_list *now, pid_t pid)
{
	char text[16];
	struct diag diag;

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	if (diag_try(&diag, text) && diag_try_read(&diag)) {
		if (m->wants_exemplars)
			keep_use(&diag);
		add_model(m, now, &diag);
		if (m->wants_exemplars)
			keep(&diag);
	} else if (!kill(pid, 0) || errno != ESRCH) {
		carry_over(m, now, pid);
	}
	diag_close(&diag);
}

/* Add the samples of `retired`; their series get new numbers. */
static void add_retired(struct metrics *m)
{
	uint32_t first = m->series_count;

	if (!retired)
		return;
	for (uint32_t i = 0; i < retired->series_count; i++)
		(void)metrics_series(m, retired->series[i].semaphore,
				     retired->series[i].policy,
				     METRICS_PROCESS);
	for (int i = 0; i < METRICS_FAMILIES; i++) {
		const struct metrics_samples *from = &retired->families[i];

		for (uint32_t j = 0; j < from->count; j++)
			metrics_add(m, (enum metrics_family)i,
				    first + from->list[j].series,
				    from->list[j].part, from->list[j].value);
	}
}

void source_processes(struct metrics *m)
{
	int64_t end = weir_now_ns() + BUDGET_NS;
	struct seen_list now = { NULL, 0, 0 };
	pid_t *pids;
	uint32_t count = diag_processes(&pids);

	m->is_read[METRICS_PROCESS] = true;
	recent_begin();
	for (uint32_t i = 0; i < count; i++) {
		if (weir_now_ns() < end)
			read_process(m, &now, pids[i]);
		else
			carry_over(m, &now, pids[i]);
	}
	free(pids);
	if (m->wants_exemplars)
		keep_drop_unused();
	retire_gone(&now);
	add_retired(m);
	free(last.list);
	last = now;
}
