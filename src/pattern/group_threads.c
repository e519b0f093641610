/* SPDX-License-Identifier: MIT */
/*
 * The threads of a task group.
 *
 * A thread is joined when the group is destroyed.  A task may end its thread
 * (pthread_exit, pthread_cancel).  Each thread therefore has a thread-specific
 * value, its place, and what destroys that value runs when the thread ends: if it
 * was at a task, a new thread takes the place, the old one is let go unjoined, and
 * the task is told over.  The same if it was telling, but that has been done.  If
 * no new thread can be had the old one goes on, from there: else what is in the
 * backlog might have nobody, and who waits for it would wait for ever.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/lock.h"
#include "base/mem.h"
#include "pattern/group.h"

enum at { AT_NOTHING, AT_TASK, AT_TELLING };

struct weir_group_threads_ {
	pthread_attr_t attr;
	struct place {
		weir_group *group;
		pthread_t id;
		struct weir_task_ task;	/* its thread's own: the one it is at */
		uint32_t at;		/* the same: enum at */
		uint32_t used;		/* under the group's lock */
	} places[];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t place_of_thread;
static int no_key;

static void thread_ends(void *value);

static void make_key(void)
{
	no_key = pthread_key_create(&place_of_thread, thread_ends);
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

/* Under the lock. */
static weir_err start_at(struct place *place)
{
	sigset_t all, before;
	pthread_t id;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(&id, &place->group->threads_->attr, work, place);
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

static void thread_ends(void *value)
{
	struct place *place = value;
	weir_group *group = place->group;
	struct weir_task_ task = place->task;
	uint32_t at = place->at;
	bool goes_on;

	if (at == AT_NOTHING)
		return;
	place->at = AT_NOTHING;
	weir_lock_(&group->lock_);
	goes_on = start_at(place) != WEIR_OK;
	weir_unlock_(&group->lock_);
	if (!goes_on)
		pthread_detach(pthread_self());
	if (at == AT_TASK)
		weir_group_exits_(group, &task);
	else
		weir_group_over_(group);
	if (goes_on)
		(void)work(place);
}

weir_err weir_group_call_(weir_group *group, void *self,
			  const struct weir_task_ *task)
{
	struct place *place = self;
	weir_err err;

	place->task = *task;
	place->at = AT_TASK;
	err = task->fn(task->arg, &group->ctx_);
	place->at = AT_NOTHING;
	return err;
}

/* Without `self` the thread is ending. */
void weir_group_report_(weir_group *group, void *self,
		      const struct weir_task_ *task, weir_err err)
{
	struct place *place = self;

	if (place)
		place->at = AT_TELLING;
	group->opts_.done(group->opts_.user, task->arg, err);
	if (place)
		place->at = AT_NOTHING;
}

void weir_group_join_(weir_group *group)
{
	int before;

	/* It would be a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	for (int64_t i = 0; i < group->opts_.workers; i++)
		if (group->threads_->places[i].used)
			pthread_join(group->threads_->places[i].id, NULL);
	pthread_setcancelstate(before, NULL);
	pthread_attr_destroy(&group->threads_->attr);
	weir_mem_free_(group->threads_);
}
