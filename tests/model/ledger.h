/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_LEDGER_H
#define TESTS_MODEL_LEDGER_H

/*
 * A ledger beside the semaphores of a scenario, and what it proves after every
 * step.
 *
 * The calls of weir/sem.h that scenarios make are booked here: what a thread
 * has been given, and what calls in progress may have changed already.  After
 * each write to a semaphore's word that leaves it unlocked
 *
 *   N = F + held + granted - debt
 *        what is out and not granted is what the threads hold, give or take the
 *        calls in progress; so a permit that is lost or made twice shows within
 *        the call that did it;
 *   C4   whoever was granted had nobody before it that still waits (FIFO);
 *   C4   a newcomer on the short path passed nobody (FIFO).
 *
 * Include it last: it redirects the calls by name.
 */
#include "weir/sem.h"

weir_err ledger_init(weir_sem *sem, const weir_sem_opts *opts);
weir_err ledger_destroy(weir_sem *sem);
weir_err ledger_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx);
weir_err ledger_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns);
weir_err ledger_acquire_upto(weir_sem *sem, int64_t min, int64_t max,
			     struct weir_ctx *ctx, int64_t *got);
weir_err ledger_try_acquire(weir_sem *sem, int64_t n);
weir_err ledger_drain(weir_sem *sem, int64_t *got);
void ledger_release(weir_sem *sem, int64_t n);
weir_err ledger_try_release(weir_sem *sem, int64_t n);
weir_err ledger_resize(weir_sem *sem, int64_t n, int64_t *debt);
weir_err ledger_forget(weir_sem *sem, int64_t n);

/* In setup: this one will be misused, and mistakes cannot be booked. */
void ledger_stop(weir_sem *sem);

/* Book by hand what another call has done: it takes or gives back up to n. */
void ledger_begin(weir_sem *sem, int64_t least, int64_t most);
void ledger_end(weir_sem *sem, int64_t least, int64_t most, int64_t change);

#ifndef LEDGER_ITSELF
#define weir_sem_init_opts ledger_init
#define weir_sem_destroy ledger_destroy
#define weir_sem_acquire ledger_acquire
#define weir_sem_acquire_for ledger_acquire_for
#define weir_sem_acquire_upto ledger_acquire_upto
#define weir_sem_try_acquire ledger_try_acquire
#define weir_sem_drain ledger_drain
#define weir_sem_release ledger_release
#define weir_sem_try_release ledger_try_release
#define weir_sem_resize ledger_resize
#define weir_sem_forget ledger_forget
#endif

#endif /* TESTS_MODEL_LEDGER_H */
