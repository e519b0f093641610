/* SPDX-License-Identifier: MIT */
/* The task group: init, destroy and stat. */
#include "pattern/group.h"

#include "base/atomic.h"
#include "base/lock.h"
#include "base/panic.h"
#include "core/sem_watched.h"

weir_err weir_group_unready_(weir_group *group, const char *call,
			     enum weir_refusal_ refusal)
{
	struct weir_object_ o = { .kind = "group", .object = group,
				  .has_threads = true };

	if (!weir_is_misaligned_(group)) {
		o.name = group->opts_.name;
		o.ready = &group->ready_;
	}
	return weir_unready_(&o, call, refusal);
}

static bool opts_ok(const weir_group_opts *o)
{
	return o && o->workers >= 1 && o->workers <= WEIR_GROUP_WORKERS_MAX &&
	       o->backlog >= 0 && o->backlog <= WEIR_CHAN_MAX &&
	       o->permits >= 0 && o->permits <= WEIR_SEM_MAX &&
	       !(o->flags &
		 ~(WEIR_GROUP_FAIL_FAST | WEIR_GROUP_RUN_CANCELLED)) &&
	       !o->unused_ &&
	       !o->reserved_[0] && !o->reserved_[1] && !o->reserved_[2] &&
	       !o->reserved_[3];
}

/*
 * The group's waits are those for permits, those for the end of the tasks, and
 * those of spawns for room in the backlog.
 */
static void watch(weir_group *group)
{
	uint64_t object;

	weir_sem_watch_both_(&group->permits_, &group->tasks_, RG_GROUP);
	object = weir_record_of_(&group->permits_);
	/* In a build without the recorder, it is always 0. */
	// cppcheck-suppress knownConditionTrueFalse
	if (!object)
		return;
	group->backlog_.space_.name_ = group->permits_.name_;
	weir_record_second_(object, &group->backlog_.space_);
}

weir_err weir_group_init(weir_group *group, const weir_group_opts *opts)
{
	weir_sem_opts permits, tasks = { .permits = WEIR_SEM_MAX,
					 .flags = WEIR_SEM_UNWATCHED };
	weir_err err;

	if (!group || (uintptr_t)group % sizeof(uint64_t) || !opts_ok(opts))
		return WEIR_EINVAL;
	*group = (weir_group){ .opts_ = *opts };
	if (!opts->backlog)
		group->opts_.backlog = 4 * opts->workers;
	if (!opts->permits)
		group->opts_.permits = opts->workers;
	permits = (weir_sem_opts){ .permits = group->opts_.permits,
				   .name = opts->name,
				   .flags = WEIR_SEM_UNWATCHED };
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
	if (err) {
		(void)!weir_ctx_destroy(&group->ctx_);
		return err;
	}
	/* Watch last: no call removes the record of a group that failed. */
	watch(group);
	group->ready_ = weir_generation_;
	return WEIR_OK;
}

weir_err weir_group_destroy(weir_group *group)
{
	weir_err err;

	if (weir_group_check_(group, __func__, WEIR_BY_ERROR_))
		return WEIR_EINVAL;
	if (weir_sem_available(&group->tasks_) != WEIR_SEM_MAX)
		return WEIR_EBUSY;
	/*
	 * This wait returns at once; it orders the work of all tasks before the
	 * destroy.
	 */
	(void)!weir_sem_wait_idle(&group->tasks_, NULL);
	/*
	 * Destroy the ctx first: only this can fail, and no task uses the ctx
	 * any more.
	 */
	err = weir_ctx_destroy(&group->ctx_);
	if (err)
		return err;
	weir_chan_close(&group->backlog_);
	weir_group_join_(group);
	(void)!weir_chan_destroy(&group->backlog_);
	(void)!weir_sem_destroy(&group->permits_);
	(void)!weir_sem_destroy(&group->tasks_);
	group->ready_ = WEIR_DESTROYED_;
	return WEIR_OK;
}

void weir_group_end(weir_group *group)
{
	weir_err err;

	if (weir_group_check_(group, __func__, WEIR_BY_PANIC_))
		return;
	weir_ctx_cancel(&group->ctx_);
	/*
	 * A task's error is of no interest here.  If no thread could be started
	 * for a task, the wait fails: try again.
	 */
	while (weir_sem_available(&group->tasks_) != WEIR_SEM_MAX)
		(void)!weir_group_wait_(group, NULL, WEIR_SITE_);
	err = weir_group_destroy(group);
	if (err)
		weir_panic_("weir_group_end: group \"%s\" (%p): its context "
			    "has children", group->opts_.name, (void *)group);
}

weir_err weir_group_stat(weir_group *group, weir_group_info *info)
{
	weir_chan_info backlog;
	uint32_t threads;
	weir_err err;

	if (weir_group_check_(group, __func__, WEIR_BY_ERROR_) || !info)
		return WEIR_EINVAL;
	err = weir_chan_stat(&group->backlog_, &backlog);
	if (err)
		return err;
	weir_lock_(&group->lock_);
	/* relaxed: started_ is written only under the lock. */
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
