/* SPDX-License-Identifier: MIT */
/*
 * Run code between two steps of a call.
 *
 *     before_cas("weir_take_fast_", release_one, &sem);
 *     CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
 *     happened();
 *
 * The core is built against seam/base/atomic.h, which stops before every atomic
 * access.  Before the first CAS in weir_take_fast_ itself, release_one runs on
 * the same thread, as if another thread had run at that moment.  It must
 * therefore not wait for a lock that the interrupted call holds: a release
 * never does (C25); other calls may run where the lock is free.
 *
 * A race that needs a million rounds of a stress test, or never occurs there,
 * becomes a deterministic test.  The tests name functions of the core; if there
 * is no such access any more, happened() fails.
 */
#ifndef TESTS_UNIT_BETWEEN_H
#define TESTS_UNIT_BETWEEN_H

#include "job.h"

typedef void between_fn(void *arg);

/*
 * Before the nth access that `function` makes on this thread from now on, or
 * before its first CAS, call fn(arg), once. fn may arm the next one.
 */
void before(const char *function, int nth, between_fn *fn, void *arg);
void before_cas(const char *function, between_fn *fn, void *arg);

/* Make the function's next CAS, a weak one, fail spuriously. */
void fail_cas(const char *function);

/* Check that the armed access has occurred. */
#define happened() CHECK(between_is_done())
bool between_is_done(void);

/* Forget the armed access, if it has not occurred. */
void between_forget(void);

/*
 * The machine: these programs are linked with --wrap for its functions.  It has
 * at least two CPUs.
 *
 * pass_seconds moves the clock forward, but not that of timer descriptors.
 */
void pass_seconds(int64_t seconds);

/* Replace the result of the next futex wait, on any thread. */
enum answer {
	REAL_RESULT,
	SPURIOUS_WAKE,	/* without sleeping */
	A_SIGNAL		/* without sleeping: EINTR */
};
void set_next_sleep(enum answer answer);

/* The numbers of futex waits and of futex wakes so far. */
int sleeps(void);
int wakes(void);

/*
 * Make sleeps of limited time, as for the lock, return at once; the number of
 * such sleeps so far.
 */
void skip_naps(bool skip);
int naps(void);

/* The word of the last such sleep. */
const uint32_t *napped_on(void);

/* The number of times that the library has yielded the CPU. */
int yields(void);

#endif /* TESTS_UNIT_BETWEEN_H */
