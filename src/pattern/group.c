/* SPDX-License-Identifier: MIT */
/*
 * The task group of weir/group.h.
 *
 * A group is built from three parts:
 *
 *   backlog_  a channel of tasks.  A spawn waits for space as a sender, a
 *             worker waits for a task as a receiver.
 *   permits_  a semaphore that limits the weight of the running tasks.
 *   tasks_    a semaphore of which each unfinished task holds one permit, from
 *             before its spawn until after its result has been reported.
 *             weir_group_wait calls weir_sem_wait_idle on this semaphore.
 *
 * A task is finished exactly once (finish_task): after its call; instead of its
 * call, if the group has been cancelled; or, if the call ended its thread, in
 * the destructor of the thread's key (group_threads.c).  If `done` ends the
 * thread, that destructor completes the report.
 */
#include "weir/group.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "pattern/group.h"
#include "core/site.h"

enum outcome { RETURNED, SKIPPED, EXITED };

/*
 * Running and finishing tasks.
 */
void weir_group_task_done_(weir_group *group)
{
	weir_sem_release(&group->tasks_, 1);
}

static void finish_task(weir_group *group, void *self,
			const struct weir_task_ *task, weir_err err,
			enum outcome outcome)
{
	bool first = false;

	weir_lock_(&group->lock_);
	group->done_++;
	if (err) {
		first = !group->failed_++;
		if (first)
			group->first_ = err;
		group->skipped_ += outcome == SKIPPED;
		group->exited_ += outcome == EXITED;
	}
	weir_unlock_(&group->lock_);
	if (first && group->opts_.flags & WEIR_GROUP_FAIL_FAST)
		weir_ctx_cancel(&group->ctx_);
	if (group->opts_.done)
		weir_group_report_(group, self, task, err);
	weir_group_task_done_(group);
}

void weir_group_task_exited_(weir_group *group, void *self,
			     const struct weir_task_ *task)
{
	weir_sem_release(&group->permits_, task->weight);
	finish_task(group, self, task, WEIR_ECANCELED, EXITED);
}

static void run_task(weir_group *group, void *self,
		     const struct weir_task_ *task)
{
	bool always = group->opts_.flags & WEIR_GROUP_RUN_CANCELLED;
	bool watched;
	weir_err err;

	watched = weir_site_begin_(&group->permits_, task->site);
	err = weir_sem_acquire(&group->permits_, task->weight,
			       always ? NULL : &group->ctx_);
	weir_site_end_(watched);
	if (err) {
		finish_task(group, self, task, err, SKIPPED);
		return;
	}
	err = weir_group_call_(group, self, task);
	weir_sem_release(&group->permits_, task->weight);
	finish_task(group, self, task, err, RETURNED);
}

void weir_group_work_(weir_group *group, void *self)
{
	struct weir_task_ task;

	while (weir_chan_recv(&group->backlog_, &task, NULL) == WEIR_OK)
		run_task(group, self, &task);
}

/*
 * Spawning.
 */

/*
 * Start a thread if there are fewer threads than unfinished tasks and than
 * opts_.workers.  This fails only if the group has no thread at all.
 */
static weir_err add_thread(weir_group *group)
{
	weir_err err = WEIR_OK;
	uint32_t started;
	int64_t unfinished;

	/* relaxed: a first check; it is repeated under the lock. */
	if (at_load_relaxed(&group->started_) >= group->opts_.workers)
		return WEIR_OK;
	weir_lock_(&group->lock_);
	/*
	 * The number of tasks is read under the lock, so the later of two
	 * concurrent spawns counts both tasks.
	 */
	unfinished = WEIR_SEM_MAX - weir_sem_available(&group->tasks_);
	/* relaxed: started_ is written only under the lock. */
	started = at_load_relaxed(&group->started_);
	if (started < group->opts_.workers && started < unfinished) {
		err = weir_group_start_(group);
		if (!err)
			/* relaxed: the lock orders the accesses. */
			at_store_relaxed(&group->started_, started + 1);
		else if (started)
			/* The existing threads run the task. */
			err = WEIR_OK;
	}
	weir_unlock_(&group->lock_);
	return err;
}

/*
 * Check a spawn, in the order of weir_sem_acquire (C2).  The send checks ctx
 * and the close again; here they are checked so that a spawn which is refused
 * starts no thread.
 */
static weir_err check(weir_group *group, bool has_fn, int64_t weight,
		      struct weir_ctx *ctx, const char *call)
{
	weir_err err;

	if (weir_group_check_(group, call, WEIR_BY_ERROR_) || !has_fn ||
	    weight < 0 || weight > WEIR_SEM_MAX)
		return WEIR_EINVAL;
	err = ctx ? weir_ctx_err(ctx) : WEIR_OK;
	if (err)
		return err;
	if (weir_chan_is_closed(&group->backlog_))
		return WEIR_ECLOSED;
	return weight > group->opts_.permits ? WEIR_ETOOBIG : WEIR_OK;
}

/* Count a task as unfinished, and make sure that a thread can run it. */
static weir_err add_task(weir_group *group)
{
	/*
	 * This does not fail: tasks_ has permits for more tasks than fit into
	 * memory.
	 */
	weir_err err = weir_sem_try_acquire(&group->tasks_, 1);

	while (err == WEIR_EAGAIN)
		err = weir_sem_acquire(&group->tasks_, 1, NULL);
	if (!err) {
		err = add_thread(group);
		if (err)
			weir_sem_release(&group->tasks_, 1);
	}
	return err;
}

weir_err weir_group_spawn(weir_group *group, weir_task_fn *fn, void *arg,
			  int64_t weight, struct weir_ctx *ctx)
{
	const struct weir_task_ task = { fn, arg, weight, WEIR_SITE_ };
	weir_err err = check(group, fn != NULL, weight, ctx, __func__);
	bool watched;

	if (!err)
		err = add_task(group);
	if (err)
		return err;
	watched = weir_site_begin_(&group->permits_, task.site);
	err = weir_chan_send(&group->backlog_, &task, ctx);
	weir_site_end_(watched);
	if (err)
		weir_sem_release(&group->tasks_, 1);
	return err;
}

weir_err weir_group_try_spawn(weir_group *group, weir_task_fn *fn, void *arg,
			      int64_t weight)
{
	const struct weir_task_ task = { fn, arg, weight, WEIR_SITE_ };
	weir_err err = check(group, fn != NULL, weight, NULL, __func__);

	if (!err)
		err = add_task(group);
	if (err)
		return err;
	err = weir_chan_try_send(&group->backlog_, &task);
	if (err)
		weir_sem_release(&group->tasks_, 1);
	return err;
}

weir_err weir_group_wait_(weir_group *group, struct weir_ctx *ctx,
			  uint64_t site)
{
	/* Thread creation may have failed earlier; try again. */
	weir_err err = add_thread(group);
	bool watched;

	if (err)
		return err;
	watched = weir_site_begin_(&group->permits_, site);
	err = weir_sem_wait_idle(&group->tasks_, ctx);
	weir_site_end_(watched);
	return err;
}

weir_err weir_group_wait(weir_group *group, struct weir_ctx *ctx,
			 weir_err *first)
{
	weir_err err;

	if (weir_group_check_(group, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	err = weir_group_wait_(group, ctx, WEIR_SITE_);
	if (err)
		return err;
	weir_lock_(&group->lock_);
	err = (weir_err)group->first_;
	weir_unlock_(&group->lock_);
	if (first)
		*first = err;
	return err;
}

void weir_group_cancel(weir_group *group)
{
	if (weir_group_check_(group, __func__, WEIR_BY_PANIC_))
		return;
	weir_ctx_cancel(&group->ctx_);
}

void weir_group_close(weir_group *group)
{
	if (weir_group_check_(group, __func__, WEIR_BY_PANIC_))
		return;
	weir_chan_close(&group->backlog_);
}
