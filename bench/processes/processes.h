/* SPDX-License-Identifier: MIT */
/*
 * Measurements between processes: weir_named and its peers.
 *
 *     kinds.c     the semaphores and locks
 *     pair.c      uncontended acquire and release
 *     handoff.c   from a release, or from a death, to the next holder
 *     crowd.c     a permit that passes through a queue of processes
 *     opening.c   opening and closing a handle
 *     waiters.c   the cost of many waiting processes
 *     commands.c  a command under a limit
 *     listing.c   the list of many files
 *     main.c      the choice of the workload
 *
 * The program kills only its own children.
 */
#ifndef BENCH_PROCESSES_H
#define BENCH_PROCESSES_H

#include <sys/types.h>

#include "support.h"

/* A single semaphore or lock with one permit. */
struct kind {
	const char *name;
	void (*make)(void);
	void (*attach)(void);		/* in each process, before use */
	void (*acquire)(void);
	void (*release)(void);
	bench_repeat_fn *pairs;		/* repeated, without indirect calls */
	bool survives;			/* a holder's death returns it */
};
const struct kind *kind_called(const char *name);

/* Returns a folder that is removed when the program ends. */
const char *scratch_folder(void);

/* Start a child that runs fn; wait for its end; check whether it sleeps. */
pid_t child_start(void (*fn)(void *arg), void *arg);
void child_end(pid_t pid);
bool child_sleeps(pid_t pid);
void nap_us(int64_t us);

/* Sorts the times and returns their median. */
double median_of(double *times, size_t count);

void measure_pair(const struct bench_args *args, const struct kind *kind);
void measure_handoff(const struct bench_args *args, const struct kind *kind);
void measure_death(const struct bench_args *args, const struct kind *kind);
void measure_crowd(const struct bench_args *args, const struct kind *kind);
void measure_open(const struct bench_args *args, const char *kind);
void measure_waiters(const struct bench_args *args, const struct kind *kind);
void measure_command(const struct bench_args *args);
void measure_listing(const struct bench_args *args);

/* Returns the path of the command: $WEIR_COMMAND, or that of the build. */
const char *weir_command(void);

/*
 * Run a command without output.  Returns false if it is not installed.  The
 * program ends if the command fails.
 */
bool run_command(const char *const *argv);

#endif /* BENCH_PROCESSES_H */
