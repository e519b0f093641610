/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_LEDGER_H
#define TESTS_MODEL_LEDGER_H

/*
 * A ledger of the semaphores of a scenario.
 *
 * The ledger wraps the calls of weir/sem.h.  It books the permits that threads
 * hold and the permits that calls in progress may have taken or given back.
 * After each write that leaves a semaphore's word unlocked it checks:
 *
 *   N = F + held + granted - debt
 *        The permits that are neither free nor granted are the permits that the
 *        threads hold, within the range of the calls in progress.  So a lost or
 *        duplicated permit is found within the call that caused it.
 *   C4   (FIFO) No waiter was granted while an older one still waits.
 *   C4   (FIFO) No acquire on the fast path took permits while the queue was
 *        not empty.
 *
 * Include this header last: it redirects the calls by name.
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

/* For setup: stop the checks of a semaphore that the scenario misuses. */
void ledger_stop(weir_sem *sem);

/*
 * Book a call that is not wrapped.  Between begin and end it may change the
 * held permits by `least` to `most`; `change` is the final change.
 */
void ledger_begin(weir_sem *sem, int64_t least, int64_t most);
void ledger_end(weir_sem *sem, int64_t least, int64_t most, int64_t change);

#ifndef LEDGER_IMPLEMENTATION
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
