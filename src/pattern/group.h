/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_GROUP_H
#define WEIR_PATTERN_GROUP_H

/* What the files of the group share; group.c says how it works. */
#include "weir/group.h"

struct weir_task_ {
	weir_task_fn *fn;
	void *arg;
	int64_t weight;
};

/*
 * What a worker does: take tasks and see them over, until the end.  `self` is the
 * thread's own, for weir_group_call_.
 */
void weir_group_work_(weir_group *group, void *self);

/* The task's thread ends in the middle of it: its permits, and its result. */
void weir_group_exits_(weir_group *group, const struct weir_task_ *task);

/* The task is over and told.  The last access: who waits may retire the group. */
void weir_group_over_(weir_group *group);

/*
 * group_threads.c.  Room for the threads; one more thread; a call of the task, and
 * of `done`, that notices if it ends its thread; the end of them all.
 */
weir_err weir_group_room_(weir_group *group);
weir_err weir_group_start_(weir_group *group);
weir_err weir_group_call_(weir_group *group, void *self,
			  const struct weir_task_ *task);
void weir_group_report_(weir_group *group, void *self,
		      const struct weir_task_ *task, weir_err err);
void weir_group_join_(weir_group *group);

#endif /* WEIR_PATTERN_GROUP_H */
