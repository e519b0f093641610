/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_REGISTRY_HOLDERS_H
#define TESTS_MODEL_REGISTRY_HOLDERS_H

/*
 * The true holders, and the registry compared with them (C48).
 *
 * The calls of weir/sem.h are wrapped.  While no call of a thread is in progress,
 * the thread holds what its calls have taken and not returned.  After each atomic
 * write of each thread these are compared:
 *
 *   - For each thread outside a call: its slots contain what it holds.  Not for an
 *     object whose permits were handed over or moved.
 *   - If all threads are outside a call: the slots of all threads, minus
 *     handed_over, contain what all threads hold.  The counts of acquires and
 *     releases are those of the calls.
 *   - If the word is not locked: each waiter of the queue has a wait record that
 *     is RG_LIVE, with its context and weight, and with tickets in the order of
 *     the queue.  That of a member of an any-of request has RG_ANY_OF.
 *   - Each wait record that is RG_LIVE has a context that exists.
 *
 * items.h does the same for the items of channels.
 *
 * A reader (holders_read) looks while the threads go on.  It reads the waits, the
 * slots of their contexts, and the waits again.  A context whose wait is the same
 * holds what the reader has read: C51, "The verdict" in docs/design/diag.md.
 *
 * Include this header last: it redirects the calls by name.
 */
#include "weir/multi.h"
#include "weir/sem.h"

weir_err holders_init(weir_sem *sem, const weir_sem_opts *opts);
weir_err holders_destroy(weir_sem *sem);
weir_err holders_acquire(weir_sem *sem, int64_t n, struct weir_ctx *ctx);
weir_err holders_acquire_for(weir_sem *sem, int64_t n, int64_t timeout_ns);
weir_err holders_try_acquire(weir_sem *sem, int64_t n);
void holders_release(weir_sem *sem, int64_t n);
weir_err holders_try_release(weir_sem *sem, int64_t n);
weir_err holders_acquire_any(const weir_req *reqs, size_t k,
			     struct weir_ctx *ctx, size_t *which);

/*
 * A semaphore with a static initialiser: its object is made by the first acquire.
 */
void holders_add(weir_sem *sem);

/* The thread ends: the destructor of its key runs. */
void holders_end_thread(void);

/*
 * Book a call that is not wrapped.  This thread is in a call between enter and
 * leave.  holders_took: it has taken n permits.
 */
void holders_enter(void);
void holders_leave(void);
void holders_took(weir_sem *sem, int64_t n);

/*
 * The same in one: n permits more.  moved: the call passes permits on, or uses
 * permits of another thread; the permits are then those of `thread`.
 */
uint64_t holders_begin(weir_sem *sem, bool moved);	/* for holders_end */
void holders_end(uint64_t number, int64_t n);
void holders_end_of(uint64_t number, int64_t n, int thread);

/* For a thread: read the registry, as another process does. */
void holders_read(void);

/* For check: compare everything, and that no wait and no busy mark is left. */
void holders_check(void);

/* machine.c: run the destructor of this thread's key. */
void ex_end_thread(void);

#ifndef HOLDERS_IMPLEMENTATION
#define weir_sem_init_opts holders_init
#define weir_sem_destroy holders_destroy
#define weir_sem_acquire holders_acquire
#define weir_sem_acquire_for holders_acquire_for
#define weir_sem_try_acquire holders_try_acquire
#define weir_sem_release holders_release
#define weir_sem_try_release holders_try_release
#define weir_acquire_any holders_acquire_any
#endif

#endif /* TESTS_MODEL_REGISTRY_HOLDERS_H */
