/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_GROUP_H
#define WEIR_PATTERN_GROUP_H

/*
 * Internals shared by the files of the task group.  The head of group.c
 * explains them.
 */
#include "pattern/ready.h"
#include "weir/group.h"

struct weir_task_ {
	weir_task_fn *fn;
	void *arg;
	int64_t weight;
	uint64_t site;			/* the call of spawn, for the registry */
};

weir_err weir_group_unready_(weir_group *group, const char *call,
			     enum weir_refusal_ refusal);

/* The check at the beginning of every call: ready.h. */
static inline weir_err weir_group_check_(weir_group *group, const char *call,
					 enum weir_refusal_ refusal)
{
	return weir_is_ready_(group) ?
		       WEIR_OK : weir_group_unready_(group, call, refusal);
}

/*
 * The loop of a worker: run and finish tasks until the backlog is closed and
 * empty.  `self` is passed on to weir_group_call_ and weir_group_report_.
 */
void weir_group_work_(weir_group *group, void *self);

/*
 * Called if the task ended its thread: release its permits and finish it.  `self` is
 * passed on to weir_group_report_.
 */
void weir_group_task_exited_(weir_group *group, void *self,
			     const struct weir_task_ *task);

/*
 * Called when the task is finished and reported.  This is the last access to
 * *group: the thread that waits for all tasks may destroy it now.
 */
void weir_group_task_done_(weir_group *group);

/*
 * group_threads.c.  The schedule explorer replaces these functions.
 */

/* Allocate the table of threads. */
weir_err weir_group_room_(weir_group *group);

/* Start one more thread, if the table has a free place. */
weir_err weir_group_start_(weir_group *group);

/* Call the task, or `done`.  Both calls may end the thread. */
weir_err weir_group_call_(weir_group *group, void *self,
			  const struct weir_task_ *task);
void weir_group_report_(weir_group *group, void *self,
			const struct weir_task_ *task, weir_err err);

/* Join all threads and free the table. */
void weir_group_join_(weir_group *group);

/* Wait until all tasks have ended; `site` is the call in the program. */
weir_err weir_group_wait_(weir_group *group, struct weir_ctx *ctx,
			  uint64_t site);

#endif /* WEIR_PATTERN_GROUP_H */
