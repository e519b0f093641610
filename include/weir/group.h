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
 *     err = weir_group_wait(&group, ctx, NULL);       // the first error
 *     err = weir_group_destroy(&group);
 *
 * Tasks wait in a backlog of fixed size.  If it is full, then spawn waits, so
 * memory stays bounded.  A task has a weight: while the task runs, it holds
 * that many of the group's permits.  Every spawned task completes in one of
 * three ways, and its result is reported exactly once: the task returned; the
 * task ended its thread (pthread_exit), and its result is WEIR_ECANCELED; or
 * the group was cancelled before the task began, and its result is the error of
 * the context.
 *
 * Threads are started as tasks arrive, and run until destroy.  They block all
 * signals.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread between init and
 *             destroy, also from tasks.  If a task waits for the group, or
 *             spawns into a full backlog, then it may wait for itself; a task
 *             should call weir_group_try_spawn.
 *   Memory    init allocates the backlog.  spawn allocates nothing itself, but
 *             may start a thread.
 *   Orders    A spawn happens before its task.  A task happens before its
 *             `done` callback, and before a wait that returns after it.
 *   Signals   No function is async-signal-safe or a thread-cancellation point.
 *   Fork      A group does not exist in the child: a call there panics.
 *   Misuse    As in weir/sem.h.
 */

/*
 * A task.  ctx is the context of the group: it ends when the group is
 * cancelled.  Returns WEIR_OK or any other value of int, which counts as an
 * error.  weir's own errors are negative, so positive values are free for the
 * errors of the program.
 */
typedef weir_err weir_task_fn(void *arg, struct weir_ctx *ctx);

/*
 * Called once for every task when it is complete, with its result, on the
 * thread that ran it.  If the program does not wait for a task, then it detects
 * errors here.
 */
typedef void weir_task_done_fn(void *user, void *arg, weir_err err);

/* Flag: if a task fails, then the group is cancelled. */
#define WEIR_GROUP_FAIL_FAST 1u

/*
 * Flag: a task that is cancelled before it began runs nevertheless, with a
 * context that has ended, so that it can release the resources that its
 * argument owns.  Its result is the value that it returns.  Without this flag
 * such a task does not run, and `done` is the place to clean up: it gets the
 * argument of every task.
 */
#define WEIR_GROUP_RUN_CANCELLED 2u

/*
 * Options for weir_group_init; zero means the default, except that workers is
 * required.
 */
typedef struct weir_group_opts {
	int64_t workers;	/* most threads, 1 .. WEIR_GROUP_WORKERS_MAX */
	int64_t backlog;	/* most waiting tasks; 0: 4 * workers */
	int64_t permits;	/* most weight running; 0: workers */
	struct weir_ctx *ctx;	/* parent of the group's; may be null */
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
	weir_sem permits_;		/* weight that may still start */
	weir_sem tasks_;		/* one permit per incomplete task */
	weir_ctx ctx_;
	weir_group_opts opts_;
	struct weir_group_threads_ *threads_;
	uint32_t lock_;
	uint32_t started_;		/* threads; changes under lock_ */
	int32_t first_;			/* weir_err of the first failed task */
	uint32_t ready_;
	int64_t done_, failed_, skipped_, exited_;	/* under lock_ */
	uint64_t reserved_[4];		/* zero, for later versions */
} weir_group;

/*
 * Set up *group; no thread is started yet.  WEIR_ENOMEM: no memory for the
 * backlog.
 * Requires: no other thread can reach *group yet.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_group_init(weir_group *group, const weir_group_opts *opts);

/*
 * End the threads and retire *group.  WEIR_EBUSY: tasks are incomplete (call
 * weir_group_wait first), or the group's context has children; nothing has
 * changed.
 * Requires: the caller is not a task; no other call on *group is running or
 * follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_group_destroy(weir_group *group);

/*
 * Run fn(arg, the group's context) with `weight` permits.  Waits for room in
 * the backlog until ctx ends.  A null ctx never ends.
 *
 *   WEIR_OK        The task will run, or will be reported as cancelled.
 *   WEIR_ECLOSED   The group is closed.               \
 *   WEIR_ETOOBIG   weight > permits of the group.      | Neither the task nor
 *   WEIR_ESYSTEM   No thread can be started (errno).   | `done` runs.
 *   others         As weir_sem_acquire.               /
 *
 * If the group has been cancelled, then a task can still be spawned; it is
 * reported as cancelled.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_group_spawn(weir_group *group, weir_task_fn *fn, void *arg,
		 int64_t weight, struct weir_ctx *ctx);

/* Spawn if the backlog has room now; otherwise WEIR_EAGAIN. */
WEIR_API WEIR_MUST_USE weir_err
weir_group_try_spawn(weir_group *group, weir_task_fn *fn, void *arg,
		     int64_t weight);

/*
 * Wait until every spawned task is complete.  Returns the result of the first
 * task that failed since init, the very value that the task returned, or
 * WEIR_OK; *first (may be null) is set to the same.  WEIR_ECANCELED or
 * WEIR_ETIMEDOUT with *first unchanged: ctx ended before that; the tasks
 * continue.  WEIR_ESYSTEM with *first unchanged: the group has tasks but no
 * thread, and none can be started (errno); the tasks remain in the backlog, and
 * the next call tries again.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_group_wait(weir_group *group, struct weir_ctx *ctx, weir_err *first);

/*
 * Cancel the context of the group.  Running tasks see that and should return;
 * tasks in the backlog are reported as cancelled without running (unless the
 * group has WEIR_GROUP_RUN_CANCELLED).  This call does not wait.  Cancelling
 * twice is harmless.
 */
WEIR_API void weir_group_cancel(weir_group *group);

/*
 * Accept no more tasks; tasks in the backlog run.  Closing twice is harmless.
 */
WEIR_API void weir_group_close(weir_group *group);

typedef struct weir_group_info {
	const char *name;
	int64_t spawned;	/* incomplete: waiting or running */
	int64_t waiting;	/* in the backlog */
	int64_t done;		/* complete; of these: */
	int64_t failed;		/*   result not WEIR_OK; of these: */
	int64_t skipped;	/*     cancelled before they began */
	int64_t exited;		/*     ended their thread */
	weir_err first;		/* result of the first failed task */
	uint32_t threads;
	uint32_t spawners;	/* waiting for room in the backlog */
	bool cancelled, closed;
	uint64_t reserved_[4];
} weir_group_info;

WEIR_API WEIR_MUST_USE weir_err
weir_group_stat(weir_group *group, weir_group_info *info);

/*
 * Cancel the group, wait until every task is complete, and retire *group, at the
 * end of a scope.  Panics if the group's context has children: they would
 * outlive the scope.
 * Requires: as weir_group_destroy.
 */
WEIR_API void weir_group_end(weir_group *group);

static inline void weir_group_end_scope_(weir_group **group)
{
	if (*group)
		weir_group_end(*group);
}

/*
 * The block form declares group, sets it up with weir_group_init, runs the
 * statement and waits for the tasks; err, an lvalue of type weir_err, is set to
 * the result of weir_group_wait.  If the statement is left early (weir/permit.h
 * says by which paths), then the group is cancelled, and the block waits for
 * the tasks, too: no task outlives the block.  break leaves the statement in
 * this way.  If weir_group_init fails, then the statement is skipped and err is
 * set to its error.
 *
 * The end of the statement overwrites err.  If a spawn fails, then leave the
 * statement with break, which keeps the error of the spawn:
 *
 *     WEIR_WITH_GROUP(err, group, &opts) {
 *             while (!err && ...)
 *                     err = weir_group_spawn(&group, simulate, &job, 1, ctx);
 *             if (err)
 *                     break;
 *     }
 */
#define WEIR_WITH_GROUP(err, group, opts)                                      \
	WEIR_WITH_GROUP_(WEIR_AT_LINE_(weir_held_, __LINE__),                  \
			 WEIR_AT_LINE_(weir_once_, __LINE__), err, group, opts)
#define WEIR_WITH_GROUP_(held, once, err, group, opts)                         \
	for (weir_group group,                                                 \
	     *held WEIR_CLEANUP_(weir_group_end_scope_) =                      \
		     ((err) = weir_group_init(&group, (opts))) == WEIR_OK ?    \
			     &group : WEIR_NULL_,                              \
	     *once = held;                                                     \
	     once; (err) = weir_group_wait(&group, WEIR_NULL_, WEIR_NULL_),    \
		   once = WEIR_NULL_)

WEIR_DECLS_END

#endif /* WEIR_GROUP_H */
