/* SPDX-License-Identifier: MIT */
/*
 * The task group: weir/group.h.
 *
 * Made of other things: the backlog is a channel, so a spawn waits for room as a
 * sender and a worker for tasks as a receiver; the weight that may run is a
 * semaphore; and that a task is not over is a permit of another one (tasks_), out
 * from before its spawn until after its result is told, so that waiting for all
 * of them is weir_sem_wait_idle.
 *
 * A task is over when it is told (tell), which happens once: after its call, or
 * instead of it, or, if the call ended its thread, in the handler that the end of
 * a thread runs (group_threads.c).  There it is also over if `done` ends the thread.
 */
#include "weir/group.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "base/panic.h"
#include "pattern/group.h"

enum over { RETURNED, SKIPPED, EXITED };

static bool is_misplaced(const weir_group *group)
{
	return !group || (uintptr_t)group % sizeof(uint64_t) || !group->ready_;
}

/*
 * Being over.
 */
void weir_group_over_(weir_group *group)
{
	weir_sem_release(&group->tasks_, 1);
}

static void tell(weir_group *group, void *self, const struct weir_task_ *task,
		 weir_err err, enum over how)
{
	bool first = false;

	weir_lock_(&group->lock_);
	group->done_++;
	if (err) {
		first = !group->failed_++;
		if (first)
			group->first_ = err;
		group->skipped_ += how == SKIPPED;
		group->exited_ += how == EXITED;
	}
	weir_unlock_(&group->lock_);
	if (first && group->opts_.flags & WEIR_GROUP_FAIL_FAST)
		weir_ctx_cancel(&group->ctx_);
	if (group->opts_.done)
		weir_group_report_(group, self, task, err);
	weir_group_over_(group);
}

void weir_group_exits_(weir_group *group, const struct weir_task_ *task)
{
	weir_sem_release(&group->permits_, task->weight);
	tell(group, NULL, task, WEIR_ECANCELED, EXITED);
}

static void see_over(weir_group *group, void *self,
		     const struct weir_task_ *task)
{
	weir_err err = weir_sem_acquire(&group->permits_, task->weight,
					&group->ctx_);

	if (err) {
		tell(group, self, task, err, SKIPPED);
		return;
	}
	err = weir_group_call_(group, self, task);
	weir_sem_release(&group->permits_, task->weight);
	tell(group, self, task, err, RETURNED);
}

void weir_group_work_(weir_group *group, void *self)
{
	struct weir_task_ task;

	while (weir_chan_recv(&group->backlog_, &task, NULL) == WEIR_OK)
		see_over(group, self, &task);
}

/*
 * Spawning.
 */

/* A thread for each task that is not over, up to the bound. */
static weir_err see_to_threads(weir_group *group)
{
	weir_err err = WEIR_OK;
	uint32_t started;
	int64_t out;

	/* relaxed: if there is one to start, look again under the lock. */
	if (at_load_relaxed(&group->started_) >= group->opts_.workers)
		return WEIR_OK;
	weir_lock_(&group->lock_);
	/* Not before: of two spawns that meet, the later one counts both. */
	out = WEIR_SEM_MAX - weir_sem_available(&group->tasks_);
	/* relaxed: written under the lock alone. */
	started = at_load_relaxed(&group->started_);
	if (started < group->opts_.workers && started < out) {
		err = weir_group_start_(group);
		if (!err)
			/* relaxed: the same. */
			at_store_relaxed(&group->started_, started + 1);
		else if (started)
			/* Fewer will do. */
			err = WEIR_OK;
	}
	weir_unlock_(&group->lock_);
	return err;
}

static weir_err check(const weir_group *group, bool has_fn, int64_t weight)
{
	if (is_misplaced(group) || !has_fn || weight < 0 || weight > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	return weight > group->opts_.permits ? WEIR_ETOOBIG : WEIR_OK;
}

static weir_err begin(weir_group *group)
{
	/* It has permits for more tasks than there is memory. */
	weir_err err = weir_sem_try_acquire(&group->tasks_, 1);

	while (err == WEIR_EAGAIN)
		err = weir_sem_acquire(&group->tasks_, 1, NULL);
	if (!err) {
		err = see_to_threads(group);
		if (err)
			weir_sem_release(&group->tasks_, 1);
	}
	return err;
}

weir_err weir_group_spawn(weir_group *group, weir_task_fn *fn, void *arg,
			  int64_t weight, struct weir_ctx *ctx)
{
	const struct weir_task_ task = { fn, arg, weight };
	weir_err err = check(group, fn != NULL, weight);

	if (!err)
		err = begin(group);
	if (err)
		return err;
	err = weir_chan_send(&group->backlog_, &task, ctx);
	if (err)
		weir_sem_release(&group->tasks_, 1);
	return err;
}

weir_err weir_group_try_spawn(weir_group *group, weir_task_fn *fn, void *arg,
			      int64_t weight)
{
	const struct weir_task_ task = { fn, arg, weight };
	weir_err err = check(group, fn != NULL, weight);

	if (!err)
		err = begin(group);
	if (err)
		return err;
	err = weir_chan_try_send(&group->backlog_, &task);
	if (err)
		weir_sem_release(&group->tasks_, 1);
	return err;
}

weir_err weir_group_wait(weir_group *group, struct weir_ctx *ctx,
			 weir_err *first)
{
	weir_err err;

	if (is_misplaced(group))
		return WEIR_EINVAL;
	/* A thread that could not be had may be had now. */
	err = see_to_threads(group);
	if (!err)
		err = weir_sem_wait_idle(&group->tasks_, ctx);
	if (!err && first) {
		weir_lock_(&group->lock_);
		*first = (weir_err)group->first_;
		weir_unlock_(&group->lock_);
	}
	return err;
}

void weir_group_cancel(weir_group *group)
{
	if (is_misplaced(group)) {
		weir_panic_("weir_group_cancel: %p is not a group", group);
		return;
	}
	weir_ctx_cancel(&group->ctx_);
}

void weir_group_close(weir_group *group)
{
	if (is_misplaced(group)) {
		weir_panic_("weir_group_close: %p is not a group", group);
		return;
	}
	weir_chan_close(&group->backlog_);
}

/*
 * Once in a while.
 */
static bool opts_ok(const weir_group_opts *o)
{
	return o && o->workers >= 1 && o->workers <= WEIR_GROUP_WORKERS_MAX &&
	       o->backlog >= 0 && o->backlog <= WEIR_CHAN_MAX &&
	       o->permits >= 0 && o->permits <= WEIR_SEM_MAX &&
	       !(o->flags & ~WEIR_GROUP_FAIL_FAST) && !o->unused_ &&
	       !o->reserved_[0] && !o->reserved_[1] && !o->reserved_[2] &&
	       !o->reserved_[3];
}

weir_err weir_group_init(weir_group *group, const weir_group_opts *opts)
{
	weir_sem_opts permits, tasks = { .permits = WEIR_SEM_MAX };
	weir_err err;

	if (!group || (uintptr_t)group % sizeof(uint64_t) || !opts_ok(opts))
		return WEIR_EINVAL;
	*group = (weir_group){ .opts_ = *opts };
	if (!opts->backlog)
		group->opts_.backlog = 4 * opts->workers;
	if (!opts->permits)
		group->opts_.permits = opts->workers;
	permits = (weir_sem_opts){ .permits = group->opts_.permits,
				   .name = opts->name };
	(void)!weir_sem_init_opts(&group->permits_, &permits);
	(void)!weir_sem_init_opts(&group->tasks_, &tasks);
	err = weir_ctx_init(&group->ctx_, opts->ctx, WEIR_FOREVER);
	if (err)
		return err;
	err = weir_chan_init(&group->backlog_, NULL, group->opts_.backlog,
			     sizeof(struct weir_task_));
	if (!err) {
		err = weir_group_room_(group);
		if (err)
			(void)!weir_chan_destroy(&group->backlog_);
	}
	if (err)
		(void)!weir_ctx_destroy(&group->ctx_);
	group->ready_ = !err;
	return err;
}

weir_err weir_group_destroy(weir_group *group)
{
	weir_err err;

	if (is_misplaced(group))
		return WEIR_EINVAL;
	if (weir_sem_available(&group->tasks_) != WEIR_SEM_MAX)
		return WEIR_EBUSY;
	/* At once; what the last task did is seen from here on. */
	(void)!weir_sem_wait_idle(&group->tasks_, NULL);
	/* First: it may be in use, and no thread is at a task any more. */
	err = weir_ctx_destroy(&group->ctx_);
	if (err)
		return err;
	weir_chan_close(&group->backlog_);
	weir_group_join_(group);
	(void)!weir_chan_destroy(&group->backlog_);
	(void)!weir_sem_destroy(&group->permits_);
	(void)!weir_sem_destroy(&group->tasks_);
	group->ready_ = 0;
	return WEIR_OK;
}

weir_err weir_group_stat(weir_group *group, weir_group_info *info)
{
	weir_chan_info backlog;
	uint32_t threads;
	weir_err err;

	if (is_misplaced(group) || !info)
		return WEIR_EINVAL;
	err = weir_chan_stat(&group->backlog_, &backlog);
	if (err)
		return err;
	weir_lock_(&group->lock_);
	/* relaxed: written under the lock alone. */
	threads = at_load_relaxed(&group->started_);
	*info = (weir_group_info){
		.name = group->opts_.name,
		.spawned = WEIR_SEM_MAX - weir_sem_available(&group->tasks_),
		.waiting = backlog.length,
		.done = group->done_,
		.failed = group->failed_,
		.skipped = group->skipped_,
		.exited = group->exited_,
		.first = (weir_err)group->first_,
		.threads = threads,
		.spawners = backlog.senders,
		.cancelled = weir_ctx_err(&group->ctx_) != WEIR_OK,
		.closed = backlog.closed,
	};
	weir_unlock_(&group->lock_);
	return WEIR_OK;
}
