/* SPDX-License-Identifier: MIT */
/*
 * Support for the measuring programs: command line, clock, threads, a section
 * of known length, percentiles.
 *
 * Every program, in every language, has the same command line and prints one
 * line of JSON, with times in nanoseconds:
 *
 *     PROGRAM WORKLOAD [key=value]...
 *
 * It exits with status 3 if it does not support the workload.  The driver
 * (bench/driver) decides what is measured, how often and on which CPUs.
 */
#ifndef BENCH_HARNESS_SUPPORT_H
#define BENCH_HARNESS_SUPPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_LINE 128	/* two cache lines: they are fetched in pairs */
#define BENCH_THREADS_MAX 20000

struct bench_args {
	const char *workload;
	const char *kind;	/* form of the peer; "": it has only one */
	int64_t threads;
	int64_t capacity;
	int64_t section;	/* ns between acquire and release */
	int64_t ms;		/* duration of the measurement */
	int64_t warm;		/* ms of warm-up before that */
	int64_t count;		/* semaphores, or waiters */
	int64_t timeout;	/* ns */
	int64_t pin;		/* pin each thread to its own CPU */
	int64_t ops;		/* exact number of operations, instead of ms */
	int64_t writes;		/* in a thousand operations */
	int64_t busy;		/* threads that only use CPU time beside it */
};

struct bench_args bench_args(int argc, char **argv);

/*
 * Exit with status 3: the peer does not support the workload or option.
 * bench_die: exit with an error.
 */
__attribute__((noreturn)) void bench_cannot(const char *what);
__attribute__((noreturn)) void bench_die(const char *what);

static inline void must(bool ok, const char *what)
{
	if (__builtin_expect(!ok, 0))
		bench_die(what);
}

int64_t now_ns(void);
/*
 * CPU time of all threads of this process.  The kernel adds the time of a thread
 * that runs at its clock tick, so a difference is exact to a tick for each CPU.
 */
int64_t cpu_ns(void);
void sleep_ms(int64_t ms);

/*
 * Wait until the other threads use no CPU time: all threads that are going to
 * sleep are asleep.  Called before the clock starts.
 */
void settle(void);

/*
 * Threads.  Each gets its number, is pinned if args->pin, and begins when all
 * threads are running (unless there are very many).  bench_start returns when
 * all threads are running.
 */
typedef void bench_thread_fn(void *arg, int number);
void bench_start(const struct bench_args *args, int threads,
		 bench_thread_fn *fn, void *arg);
void bench_join(void);
/*
 * Start a thread that sleeps forever: glibc omits atomics in single-threaded
 * processes.
 */
void bench_second_thread(void);
void bench_pin(int number);

/*
 * Repeat an operation on one thread.  Returns the ns of one operation: the
 * median over chunks of about 50 us each, so that an interruption spoils only
 * one chunk.
 */
typedef void bench_repeat_fn(void *arg, int64_t times);
double bench_repeat(const struct bench_args *args, bench_repeat_fn *fn,
		    void *arg);

/*
 * A section of known length: a chain of multiplications, the same in every
 * language.  bench_busy_rounds returns the number of rounds for a duration.
 */
static inline uint64_t busy(uint64_t x, int64_t rounds)
{
	for (int64_t i = 0; i < rounds; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		/* Keeps the compiler from folding the loop into a formula. */
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}
int64_t bench_busy_rounds(int64_t ns);

/* Times in buckets 3 % wide, and their exact maximum. */
#define BENCH_BUCKETS 2048
struct bench_times {
	uint64_t bucket[BENCH_BUCKETS];
	uint64_t count;
	int64_t max;
};
void bench_times_add(struct bench_times *times, int64_t ns);
void bench_times_merge(struct bench_times *into, const struct bench_times *from);
/* Print "p50": ..., "p99": ..., as members of a JSON object. */
void bench_times_print(const struct bench_times *times);

/* Print "min_max" and "jain" of the threads' shares, in the same way. */
void bench_fairness_print(const uint64_t *shares, int count);

static inline uint64_t at_get(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void at_set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif /* BENCH_HARNESS_SUPPORT_H */
