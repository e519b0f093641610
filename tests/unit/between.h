/* SPDX-License-Identifier: MIT */
/*
 * Something happens between two steps of a call.
 *
 *     before_cas("weir_take_fast_", release_one, &sem);
 *     CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
 *     happened();
 *
 * The core is built against seam/base/atomic.h, which stops before every atomic
 * access.  Before the first CAS that weir_take_fast_ itself makes, release_one runs,
 * on the same thread, as if another thread had been as quick as that.  So it
 * must not wait for a lock that the call under it holds: a release never does
 * (C25), everything else may where the lock is free.
 *
 * A race that takes a stress test a million rounds, or never comes, is a plain
 * test this way.  It knows functions of the core by their names; if there is no
 * such moment any more, happened() fails.
 */
#ifndef TESTS_UNIT_BETWEEN_H
#define TESTS_UNIT_BETWEEN_H

#include "job.h"

typedef void between_fn(void *arg);

/*
 * Before the nth access from now on that `function` makes on this thread, or
 * before its first CAS, call fn(arg), once.  What is called may ask for the
 * next.
 */
void before(const char *function, int nth, between_fn *fn, void *arg);
void before_cas(const char *function, between_fn *fn, void *arg);

/* Its first CAS from now on, a weak one, fails for no reason. */
void fail_cas(const char *function);

/* What was asked for has come to pass. */
#define happened() CHECK(between_is_over())
bool between_is_over(void);

/*
 * The machine, as these programs are linked with --wrap for what asks it.  It
 * has two CPUs at least.
 *
 * pass_seconds moves the clock on, but not that of timer descriptors.
 */
void pass_seconds(int64_t seconds);

/* What the next sleep on a futex answers, on whatever thread, instead. */
enum answer {
	THE_TRUTH,
	WOKEN_FOR_NOTHING,	/* at once */
	A_SIGNAL		/* at once: EINTR */
};
void answer_next_sleep(enum answer answer);

/* How many there have been. */
int sleeps(void);

/* Naps for the lock are over at once; how many there have been. */
void skip_naps(bool skip);
int naps(void);

#endif /* TESTS_UNIT_BETWEEN_H */
