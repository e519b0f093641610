/* SPDX-License-Identifier: MIT */
/*
 * sem_wait, sem_timedwait and sem_clockwait on weir.  cancel.h describes the
 * cancellation, clock.h the deadlines.
 */
#include "weir/posix/semaphore.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/realtime.h"
#include "core/sem_wait.h"
#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "posix/call.h"
#include "posix/cancel.h"
#include "posix/clock.h"
#include "posix/real.h"
#include "posix/sem.h"
#include "posix/watch.h"

typedef struct weir_object_posix_ object;

static void unlist(void *wait)
{
	weir_posix_wait_end_(wait);
}

/*
 * Wait once.  `cancellable`: the thread can be cancelled; its cancel state is
 * DISABLE meanwhile.  A cancellation that came before the wait was listed is
 * acted on here; one that comes later ends the context.
 */
static weir_err wait_once(object *o, bool cancellable, int64_t deadline_ns,
			  uint64_t site)
{
	struct weir_posix_wait_ wait;
	weir_err err;

	if (!cancellable)
		return weir_sem_wait_(&o->sem, 1, 1, NULL, deadline_ns, NULL,
				      "sem_wait", site);
	weir_posix_wait_begin_(&wait);
	pthread_cleanup_push(unlist, &wait);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	err = weir_sem_wait_(&o->sem, 1, 1, &wait.ctx, deadline_ns, NULL,
			     "sem_wait", site);
	pthread_cleanup_pop(1);
	return err;
}

/* Wait for a semaphore that is not free now. */
static weir_err wait_long(object *o, int64_t deadline_ns, uint64_t site)
{
	weir_err err;
	int before;

	weir_posix_watch_wait_(&o->sem);
	do {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		err = wait_once(o, before == PTHREAD_CANCEL_ENABLE,
				deadline_ns, site);
		pthread_setcancelstate(before, NULL);
		/* If pthread_testcancel returns, wait again. */
		if (err == WEIR_ECANCELED)
			pthread_testcancel();
	} while (err == WEIR_ECANCELED);
	return err;
}

static int64_t ns_of(const struct timespec *at)
{
	const int64_t most = INT64_MAX / 1000000000 - 1;

	/* A time before the epoch has passed. */
	if (at->tv_sec < 0)
		return 1;
	if ((int64_t)at->tv_sec > most)
		return WEIR_FOREVER;
	return (int64_t)at->tv_sec * 1000000000 + at->tv_nsec;
}

static int wait_until_realtime(object *o, int64_t realtime_ns, uint64_t site)
{
	/*
	 * The monotonic time is only a name for the deadline, but it must have
	 * passed if the deadline has.
	 */
	int64_t deadline_ns =
		weir_deadline_after(realtime_ns - weir_realtime_ns_());
	weir_err err;

	weir_posix_realtime_begin_(deadline_ns, realtime_ns);
	pthread_cleanup_push((void (*)(void *))weir_posix_realtime_end_, NULL);
	err = wait_long(o, deadline_ns, site);
	pthread_cleanup_pop(1);
	return weir_posix_result_(err);
}

/* Take the semaphore if it is free. */
static bool take(object *o, uint64_t site)
{
	/* weir_sem_try_acquire would record a call site of this library. */
	if (weir_state_(&o->sem) & WEIR_STATE_TRACKED_)
		return weir_take_recorded_(&o->sem, 1, site, true);
	return weir_sem_try_acquire(&o->sem, 1) == WEIR_OK;
}

int weir_posix_wait_at_(sem_t *s, const void *caller)
{
	uint64_t site = (uintptr_t)caller;
	bool foreign;
	object *o;

	if (!weir_posix_is_ours_(s, &o, &foreign))
		return foreign ? weir_real_()->wait(s) : -1;
	pthread_testcancel();
	if (take(o, site))
		return 0;
	return weir_posix_result_(wait_long(o, WEIR_FOREVER, site));
}

int weir_posix_clockwait_at_(sem_t *s, clockid_t clock,
			     const struct timespec *at, const void *caller)
{
	uint64_t site = (uintptr_t)caller;
	bool foreign;
	object *o;

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return weir_posix_fail_(EINVAL);
	if (!at || at->tv_nsec < 0 || at->tv_nsec >= 1000000000)
		return weir_posix_fail_(EINVAL);
	if (!weir_posix_is_ours_(s, &o, &foreign))
		return foreign ? weir_real_()->clockwait(s, clock, at) : -1;
	pthread_testcancel();
	if (take(o, site))
		return 0;
	if (clock == CLOCK_REALTIME && ns_of(at) != WEIR_FOREVER)
		return wait_until_realtime(o, ns_of(at), site);
	return weir_posix_result_(wait_long(o, ns_of(at), site));
}

int weir_posix_wait(sem_t *s)
{
	return weir_posix_wait_at_(s, __builtin_return_address(0));
}

int weir_posix_clockwait(sem_t *s, clockid_t clock, const struct timespec *at)
{
	return weir_posix_clockwait_at_(s, clock, at,
					__builtin_return_address(0));
}

int weir_posix_timedwait(sem_t *s, const struct timespec *at)
{
	return weir_posix_clockwait_at_(s, CLOCK_REALTIME, at,
					__builtin_return_address(0));
}
