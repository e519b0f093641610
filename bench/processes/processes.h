/* SPDX-License-Identifier: MIT */
/*
 * What is measured between processes: weir_named and what the system has.
 *
 *     kinds.c     the semaphores and locks
 *     pair.c      acquire and release, nobody in the way
 *     handoff.c   from a release to the waiter that it lets go, and from a death
 *     waiters.c   what many that wait cost
 *     commands.c  a command under a limit
 *     main.c      which of these
 *
 * Everything that is killed is a child of the program.
 */
#ifndef BENCH_PROCESSES_H
#define BENCH_PROCESSES_H

#include <sys/types.h>

#include "support.h"

/* A semaphore, or a lock, of one permit; there is one of it. */
struct kind {
	const char *name;
	void (*make)(void);
	void (*attach)(void);		/* in each process, before it is used */
	void (*acquire)(void);
	void (*release)(void);
	bench_repeat_fn *pairs;		/* so many, without a table between */
	bool survives;			/* its holder's death gives it back */
};
const struct kind *kind_called(const char *name);

/* A folder that is gone when the program ends. */
const char *scratch_folder(void);

/* A child that runs fn and ends; reap it; whether it sleeps. */
pid_t child_start(void (*fn)(void *arg), void *arg);
void child_end(pid_t pid);
bool child_sleeps(pid_t pid);
void nap_us(int64_t us);

/* The median of some times, which are put in order. */
double median_of(double *times, size_t count);

void measure_pair(const struct bench_args *args, const struct kind *kind);
void measure_handoff(const struct bench_args *args, const struct kind *kind);
void measure_death(const struct bench_args *args, const struct kind *kind);
void measure_waiters(const struct bench_args *args, const struct kind *kind);
void measure_command(const struct bench_args *args);

#endif /* BENCH_PROCESSES_H */
