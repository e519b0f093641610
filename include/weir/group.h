/* SPDX-License-Identifier: MIT */
#ifndef WEIR_GROUP_H
#define WEIR_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base.h"
#include "weir/chan.h"
#include "weir/ctx.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_group: tasks on a bounded number of threads.
 *
 *     weir_group_opts opts = { .workers = 4, .flags = WEIR_GROUP_FAIL_FAST };
 *
 *     err = weir_group_init(&group, &opts);
 *     for (...)
 *             err = weir_group_spawn(&group, simulate, &job, 1, ctx);
 *     err = weir_group_wait(&group, ctx, &first_error);
 *     err = weir_group_destroy(&group);
 *
 * Tasks wait in a backlog of fixed size; when it is full, spawn waits, so memory
 * stays bounded however many are spawned.  A task has a weight: it runs while it
 * holds that many of the group's permits.  Every task that was spawned ends in
 * one of three ways, and its result is told exactly once: it ran and returned; it
 * ran and ended its thread (pthread_exit), which is WEIR_ECANCELED; or the group
 * was cancelled before it began, and it gets the error of the context.
 *
 * Threads are started as tasks come, and stay until destroy.  Signals are blocked
 * in them.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and destroy, also from
 *             tasks.  But a task that waits for the group, or spawns into a full
 *             backlog, may wait for itself: use weir_group_try_spawn there.
 *   Memory    init allocates the backlog; spawning allocates nothing, but starts
 *             threads at first.
 *   Orders    A spawn happens before its task; a task before the wait that
 *             returns after it, and before its `done` callback.
 *   Signals   Not async-signal-safe.  No function is a thread-cancellation point.
 *   Fork      A group does not exist in the child.
 *   Misuse    As in weir/sem.h.
 */

/*
 * A task.  ctx is the group's: it ends when the group is cancelled.  The result is
 * WEIR_OK or any error.
 */
typedef weir_err weir_task_fn(void *arg, struct weir_ctx *ctx);

/*
 * Told of every task when it is over, on the thread that ran it: its result.  For
 * tasks that are not waited for, the place to notice errors.
 */
typedef void weir_task_done_fn(void *user, void *arg, weir_err err);

/* Flags: the first task that fails cancels the group. */
#define WEIR_GROUP_FAIL_FAST 1u

/* Zero means the default, except that workers must be given. */
typedef struct weir_group_opts {
	int64_t workers;	/* threads at most, 1 .. WEIR_GROUP_WORKERS_MAX */
	int64_t backlog;	/* tasks that wait; 0: four for each worker */
	int64_t permits;	/* weight that runs at a time; 0: as workers */
	struct weir_ctx *ctx;	/* the group's ends with it; may be null */
	weir_task_done_fn *done;	/* may be null */
	void *user;
	size_t stack_size;	/* of a thread; 0: the system's default */
	const char *name;	/* for messages; not copied; may be null */
	uint32_t flags;
	uint32_t unused_;
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_group_opts;

#define WEIR_GROUP_WORKERS_MAX 4096

typedef struct weir_group {
	weir_chan backlog_;
	weir_sem permits_;		/* weight that may still run */
	weir_sem tasks_;		/* out: spawned and not over */
	weir_ctx ctx_;
	weir_group_opts opts_;
	struct weir_group_threads_ *threads_;
	uint32_t lock_;
	uint32_t started_;		/* threads; changes under lock_ */
	int32_t first_;			/* weir_err of the first that failed */
	uint32_t ready_;
	int64_t done_, failed_, skipped_, exited_;	/* under lock_ */
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_group;

/*
 * Set up *group; no thread runs yet.  WEIR_ENOMEM: no room for the backlog.
 * Requires: no other thread can reach *group yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_group_init(weir_group *group, const weir_group_opts *opts);

/*
 * End the threads and retire *group.  WEIR_EBUSY, with nothing changed: tasks are
 * not over yet, weir_group_wait first; or there are contexts below the group's.
 * Requires: not called by a task; no other call on *group is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_group_destroy(weir_group *group);

/*
 * Have fn(arg, ctx of the group) run with `weight` permits, waiting for room in
 * the backlog until ctx ends (null: never).
 *
 *   WEIR_OK        It will run, or be told cancelled.
 *   WEIR_ECLOSED   The group is closed.               \
 *   WEIR_ETOOBIG   weight > permits of the group.      | It will not run, and
 *   WEIR_ESYSTEM   Not one thread can be had (errno).  | `done` is not called.
 *   others         As weir_sem_acquire.               /
 *
 * Into a group that has been cancelled tasks can still be spawned; they are
 * told so.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_group_spawn(weir_group *group, weir_task_fn *fn, void *arg,
		 int64_t weight, struct weir_ctx *ctx);

/* The same if there is room in the backlog now; else WEIR_EAGAIN. */
WEIR_API WEIR_MUST_USE weir_err
weir_group_try_spawn(weir_group *group, weir_task_fn *fn, void *arg,
		     int64_t weight);

/*
 * Wait until every task that was spawned is over.  *first (may be null) is the
 * result of the first that failed since init, WEIR_OK if none did.
 * WEIR_ECANCELED, WEIR_ETIMEDOUT: ctx ended before; tasks go on.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_group_wait(weir_group *group, struct weir_ctx *ctx, weir_err *first);

/*
 * Cancel the context of the group: tasks that run see it and should return, those
 * in the backlog are told without running.  Does not wait.  Twice is harmless.
 */
WEIR_API void weir_group_cancel(weir_group *group);

/* Take no more tasks; those in the backlog run.  Twice is harmless. */
WEIR_API void weir_group_close(weir_group *group);

typedef struct weir_group_info {
	const char *name;
	int64_t spawned;	/* and not over: waiting and running */
	int64_t waiting;	/* in the backlog */
	int64_t done;		/* over, of these: */
	int64_t failed;		/*   not WEIR_OK, of these: */
	int64_t skipped;	/*     cancelled before they began */
	int64_t exited;		/*     ended their thread */
	weir_err first;		/* result of the first that failed */
	uint32_t threads;
	uint32_t spawners;	/* that wait for room */
	bool cancelled, closed;
	uint64_t reserved_[4];
} weir_group_info;

WEIR_API WEIR_MUST_USE weir_err
weir_group_stat(weir_group *group, weir_group_info *info);

WEIR_DECLS_END

#endif /* WEIR_GROUP_H */
