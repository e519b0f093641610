/* SPDX-License-Identifier: MIT */
/*
 * The thread of a handle.  It sleeps until a wake-up arrives, until the next
 * renewal or expiry, or until a call has work for it.  The timer runs on
 * CLOCK_BOOTTIME, so that a lease is noticed as lost right after the machine
 * was suspended.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

void weir_cl_thread_kick_(weir_cluster *c)
{
	static const uint64_t one = 1;

	/* The counter cannot overflow: the thread resets it. */
	(void)!write(c->kick_fd, &one, sizeof(one));
}

void weir_cl_thread_at_(weir_cluster *c, int64_t at)
{
	struct itimerspec when = { 0 };

	if (at >= c->timer_at)
		return;
	c->timer_at = at;
	if (at <= 0)
		at = 1;
	when.it_value.tv_sec = at / SECOND_NS;
	when.it_value.tv_nsec = at % SECOND_NS;
	(void)timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void clear(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

static bool stops(weir_cluster *c)
{
	bool result;

	pthread_mutex_lock(&c->lock);
	result = c->stops;
	pthread_mutex_unlock(&c->lock);
	return result;
}

static void work(weir_cluster *c)
{
	int64_t at;

	pthread_mutex_lock(&c->lock);
	c->timer_at = NEVER;
	pthread_mutex_unlock(&c->lock);
	weir_cl_work_expire_(c);
	at = weir_cl_work_(c);
	pthread_mutex_lock(&c->lock);
	if (at != NEVER)
		weir_cl_thread_at_(c, at);
	pthread_mutex_unlock(&c->lock);
}

static void *run(void *arg)
{
	weir_cluster *c = arg;

	while (!stops(c)) {
		struct pollfd fds[3] = {
			{ .fd = c->kick_fd, .events = POLLIN },
			{ .fd = c->timer_fd, .events = POLLIN },
			{ .fd = c->wake_fd, .events = POLLIN },
		};

		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[2].revents)
			weir_cl_wake_read_(c);
		if (!fds[0].revents && !fds[1].revents)
			continue;
		if (fds[0].revents)
			clear(c->kick_fd);
		if (fds[1].revents)
			clear(c->timer_fd);
		work(c);
	}
	return NULL;
}

int weir_cl_thread_start_(weir_cluster *c)
{
	sigset_t all, before;
	int error;

	c->wake_fd = -1;
	c->timer_at = NEVER;
	c->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC |
				     TFD_NONBLOCK);
	if (c->kick_fd < 0 || c->timer_fd < 0) {
		error = errno;
	} else {
		/* Block signals, so that threads of the program get them. */
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		error = pthread_create(&c->thread, NULL, run, c);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (!error)
		return 0;
	if (c->kick_fd >= 0)
		close(c->kick_fd);
	if (c->timer_fd >= 0)
		close(c->timer_fd);
	return error;
}

void weir_cl_thread_stop_(weir_cluster *c)
{
	pthread_mutex_lock(&c->lock);
	c->stops = true;
	pthread_mutex_unlock(&c->lock);
	weir_cl_thread_kick_(c);
	(void)pthread_join(c->thread, NULL);
	close(c->kick_fd);
	close(c->timer_fd);
}
