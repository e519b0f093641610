/* SPDX-License-Identifier: MIT */
/*
 * The threads of a task group.
 *
 * weir_group_destroy joins the threads.  A task may end its thread
 * (pthread_exit, pthread_cancel), so each thread has a thread-specific value,
 * its place in the table of threads.  The destructor of that value
 * (thread_exits) runs when the thread ends.  If the thread was in a task, a new
 * thread takes over the place, the old thread is detached, and the task is
 * finished with WEIR_ECANCELED.  The same happens if the thread was in `done`,
 * except that the task is finished already.  `done` may even end a thread that
 * is ending: it then runs in the destructor, and the value of a second key
 * completes the report.
 *
 * If no new thread can be created, the old thread keeps its place and continues to
 * run tasks inside the destructor.  Otherwise no thread might be left for the
 * backlog, and weir_group_wait would wait forever.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/lock.h"
#include "base/mem.h"
#include "pattern/group.h"

enum activity { IDLE, IN_TASK, IN_DONE };

struct weir_group_threads_ {
	pthread_attr_t attr;
	struct place {
		weir_group *group;
		pthread_t id;
		struct weir_task_ task;	/* current task; thread-private */
		uint32_t activity;	/* enum activity; thread-private */
		uint32_t used;		/* protected by the group's lock */
	} places[];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t place_of_thread;
/*
 * The group whose `done` runs on a thread that is ending and has no place any
 * more.
 */
static pthread_key_t reported_group;
static int no_key;

static void thread_exits(void *value);

static void report_exits(void *group)
{
	weir_group_task_done_(group);
}

static void make_key(void)
{
	no_key = pthread_key_create(&place_of_thread, thread_exits);
	if (!no_key)
		no_key = pthread_key_create(&reported_group, report_exits);
}

weir_err weir_group_room_(weir_group *group)
{
	size_t size = sizeof(struct weir_group_threads_) +
		      (size_t)group->opts_.workers * sizeof(struct place);

	pthread_once(&once, make_key);
	if (no_key) {
		errno = no_key;
		return WEIR_ESYSTEM;
	}
	group->threads_ = weir_mem_alloc_(size);
	if (!group->threads_)
		return WEIR_ENOMEM;
	if (pthread_attr_init(&group->threads_->attr)) {
		weir_mem_free_(group->threads_);
		return WEIR_ENOMEM;
	}
	if (group->opts_.stack_size &&
	    pthread_attr_setstacksize(&group->threads_->attr,
				      group->opts_.stack_size)) {
		pthread_attr_destroy(&group->threads_->attr);
		weir_mem_free_(group->threads_);
		return WEIR_EINVAL;
	}
	return WEIR_OK;
}

static void *work(void *arg)
{
	const struct place *place = arg;

	pthread_setspecific(place_of_thread, arg);
	weir_group_work_(place->group, arg);
	return NULL;
}

/* Start a thread for the place.  Requires: the group's lock is held. */
static weir_err start_at(struct place *place)
{
	sigset_t all, before;
	pthread_t id;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&id, &place->group->threads_->attr, work,
				place);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (status) {
		errno = status;
		return WEIR_ESYSTEM;
	}
	place->id = id;
	place->used = 1;
	return WEIR_OK;
}

weir_err weir_group_start_(weir_group *group)
{
	for (int64_t i = 0; i < group->opts_.workers; i++) {
		struct place *place = &group->threads_->places[i];

		if (place->used)
			continue;
		place->group = group;
		return start_at(place);
	}
	return WEIR_OK;
}

static void thread_exits(void *value)
{
	struct place *place = value;
	weir_group *group = place->group;
	struct weir_task_ task = place->task;
	uint32_t activity = place->activity;
	bool goes_on;

	if (activity == IDLE)
		return;
	place->activity = IDLE;
	weir_lock_(&group->lock_);
	goes_on = start_at(place) != WEIR_OK;
	weir_unlock_(&group->lock_);
	if (goes_on)
		pthread_setspecific(place_of_thread, place);
	else
		pthread_detach(pthread_self());
	if (activity == IN_TASK)
		weir_group_task_exited_(group, goes_on ? place : NULL, &task);
	else
		weir_group_task_done_(group);
	if (goes_on)
		(void)work(place);
}

weir_err weir_group_call_(weir_group *group, void *self,
			  const struct weir_task_ *task)
{
	struct place *place = self;
	weir_err err;

	place->task = *task;
	place->activity = IN_TASK;
	err = task->fn(task->arg, &group->ctx_);
	place->activity = IDLE;
	return err;
}

/* `self` is null if the thread is ending and has no place any more. */
void weir_group_report_(weir_group *group, void *self,
			const struct weir_task_ *task, weir_err err)
{
	struct place *place = self;

	if (place)
		place->activity = IN_DONE;
	else
		pthread_setspecific(reported_group, group);
	group->opts_.done(group->opts_.user, task->arg, err);
	if (place)
		place->activity = IDLE;
	else
		pthread_setspecific(reported_group, NULL);
}

void weir_group_join_(weir_group *group)
{
	int before;

	/* pthread_join is a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	for (int64_t i = 0; i < group->opts_.workers; i++)
		if (group->threads_->places[i].used)
			pthread_join(group->threads_->places[i].id, NULL);
	pthread_setcancelstate(before, NULL);
	pthread_attr_destroy(&group->threads_->attr);
	weir_mem_free_(group->threads_);
}
