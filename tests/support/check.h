/* SPDX-License-Identifier: MIT */
/*
 * The parts of a test program.
 *
 *     TEST(c5_try_fails_behind_a_waiter)
 *     {
 *             ...
 *             CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
 *     }
 *
 * All TESTs of the program run in one process, in the order written; test names
 * on the command line select some of them.  A failed check, on any thread,
 * prints its place and ends the program.  The last line is "N passed, N
 * failed".
 *
 * After each test the process must have as many file descriptors and threads as
 * before.  A program that exceeds its time limit (WEIR_TEST_LIMIT seconds, 120
 * by default) is ended and prints the name of the running test.
 */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "weir/base.h"
#include "weir/sem.h"

typedef void check_test_fn(void);
void check_register(const char *name, check_test_fn *fn);

#define TEST(name)                                                             \
	static void test_##name(void);                                         \
	__attribute__((constructor)) static void register_##name(void)         \
	{                                                                      \
		check_register(#name, test_##name);                            \
	}                                                                      \
	static void test_##name(void)

/* Print the message, count a failure and end the program. */
__attribute__((noreturn, format(printf, 3, 4)))
void check_fail(const char *file, int line, const char *format, ...);

/*
 * Skip the running test, which must return then; the reason is printed.  A process
 * that runs a part of the test exits with CHECK_SKIPPED; check_note_skip skips
 * without printing again.
 */
#define CHECK_SKIPPED 77
void check_skip(const char *reason);
void check_note_skip(void);
bool check_is_skipped(void);

void check_int(const char *file, int line, const char *what, int64_t got,
	       int64_t want);
void check_err(const char *file, int line, const char *what, weir_err got,
	       weir_err want);

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition))                                              \
			check_fail(__FILE__, __LINE__, "%s", #condition);      \
	} while (0)
#define CHECK_EQ(got, want)                                                    \
	check_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define CHECK_ERR(got, want)                                                   \
	check_err(__FILE__, __LINE__, #got, (got), (want))
#define CHECK_OK(got) CHECK_ERR(got, WEIR_OK)

/*
 * Wait until another thread has done something that signals no event, such as
 * joining a queue.  Fails the test after a minute.  The wait ends by the
 * condition, not by time.
 */
void check_pause(const char *file, int line, const char *what,
		 int64_t *started_ns);
#define AWAIT(condition)                                                       \
	do {                                                                   \
		int64_t check_started_ = 0;                                    \
		while (!(condition))                                           \
			check_pause(__FILE__, __LINE__, #condition,            \
				    &check_started_);                          \
	} while (0)

/* The number of waiters in the queue of sem, and on its oversized list. */
uint32_t waiters_of(weir_sem *sem);
uint32_t oversized_of(weir_sem *sem);
weir_sem_info stat_of(weir_sem *sem);

/* capacity == free + held + granted - debt, and no count is negative (N8). */
#define CHECK_IDENTITY(sem) check_identity(__FILE__, __LINE__, sem)
void check_identity(const char *file, int line, weir_sem *sem);

/* start() creates a thread; finish() joins it and returns the result of fn. */
typedef struct check_thread {
	pthread_t id;
} check_thread;
check_thread start(void *(*fn)(void *), void *arg);
void *finish(check_thread thread);

/*
 * Returns true if the thread is parked in a wait; false if it sleeps for a
 * lock.
 */
bool check_asleep(int tid);

/*
 * Run a statement that must panic.  The hook returns, so the statement goes on;
 * panic_message has the message.
 */
extern char panic_message[512];
void check_panic_begin(void);
void check_panic_end(const char *file, int line, const char *what,
		     const char *words);
#define CHECK_PANICS(words, ...)                                               \
	do {                                                                   \
		check_panic_begin();                                           \
		__VA_ARGS__;                                                   \
		check_panic_end(__FILE__, __LINE__, #__VA_ARGS__, words);      \
	} while (0)

/*
 * Random numbers.  The seed is WEIR_SEED or a random one, and is printed when
 * the test fails.  Each thread uses its own generator; seed_of(k) is the seed
 * of the k-th.
 */
uint64_t check_seed(void);
uint64_t seed_of(uint64_t k);
uint64_t next_random(uint64_t *state);
int64_t random_below(uint64_t *state, int64_t limit);

/* 1, or WEIR_TEST_SCALE in `make check-long`: multiply rounds by it. */
int check_scale(void);

/* The anonymous memory of this process, in pages, counted exactly. */
long check_resident_pages(void);

/*
 * Under a sanitizer a program is five to thirty times slower, but one round
 * finds more than a hundred rounds without: divide rounds.
 */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

/*
 * 1 if check_resident_pages counts only memory of the program: a sanitizer's
 * data grows with the activity of the program, and an emulator translates code.
 */
#ifdef EMULATED
#define MEMORY_IS_OURS 0
#else
#define MEMORY_IS_OURS (!UNDER_TSAN && !UNDER_ASAN)
#endif

#endif /* TESTS_SUPPORT_CHECK_H */
