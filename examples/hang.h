/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_HANG_H
#define EXAMPLES_HANG_H

/*
 * The common part of the programs that hang, for docs/guide/hang.md.  Each of
 * them prints one line when its last thread waits, and then does not go on by
 * itself.  It ends when its standard input ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "weir/sem.h"

static void hang_check(weir_err err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", weir_err_text(err));
	exit(1);
}

static void hang_init(weir_sem *sem, const char *name, int64_t permits)
{
	weir_sem_opts opts = { .permits = permits, .name = name };

	hang_check(weir_sem_init_opts(sem, &opts));
}

struct hang_thread {
	const char *name;
	void *(*run)(void *);
	void *arg;
};

static void *hang_run(void *arg)
{
	struct hang_thread thread = *(struct hang_thread *)arg;

	free(arg);
	(void)pthread_setname_np(pthread_self(), thread.name);
	return thread.run(thread.arg);
}

static pthread_t hang_start(const char *name, void *(*run)(void *), void *arg)
{
	struct hang_thread *start = malloc(sizeof(*start));
	pthread_t thread;

	if (!start)
		exit(1);
	*start = (struct hang_thread){ name, run, arg };
	if (pthread_create(&thread, NULL, hang_run, start))
		exit(1);
	return thread;
}

/* Wait until `count` calls wait for the semaphore. */
static void hang_until_queued(weir_sem *sem, uint32_t count)
{
	const struct timespec pause = { 0, 1000000 };
	weir_sem_info info;

	for (;;) {
		hang_check(weir_sem_stat(sem, &info));
		if (info.waiters >= count)
			return;
		nanosleep(&pause, NULL);
	}
}

/* The program hangs: say so, and stay until standard input ends. */
__attribute__((unused)) static void hang_here(const char *program)
{
	char byte;

	printf("%s hangs, process %ld\n", program, (long)getpid());
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		continue;
	_exit(0);
}

#endif /* EXAMPLES_HANG_H */
