/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_SEMAPHORE_H
#define WEIR_POSIX_SEMAPHORE_H

#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * sem_t on weir, for programs that can be compiled again: with
 *
 *     #define WEIR_POSIX_REPLACE
 *     #include <weir/posix/semaphore.h>
 *
 * the names of <semaphore.h>, and pthread_cancel, mean the functions below; the
 * program links with libweir-posix.a or libweir-posix.so.  A program that is not
 * compiled again uses `weir posix`, which preloads the library: weir-posix(1).
 *
 * Each function behaves as the corresponding function of POSIX and glibc, with
 * these differences:
 *
 *   order     Threads are granted in order of arrival (WEIR_POSIX=barging in the
 *             environment: a running thread may overtake, for at most 1 ms).
 *   destroy   weir_posix_destroy returns EBUSY if a thread waits.  A semaphore
 *             that is used after its destroy returns EINVAL.
 *   pshared   A semaphore that is shared between processes, and a semaphore of
 *             sem_open, is that of the C library, with its functions and its
 *             order.  The two kinds are never mixed.
 *   cancel    A thread that waits must be cancelled with weir_posix_cancel (or
 *             pthread_cancel, if replaced), and must not have the cancel type
 *             PTHREAD_CANCEL_ASYNCHRONOUS.
 *
 *   Threads   As the functions of POSIX.
 *   Memory    weir_posix_init may allocate.  If a program never destroys its
 *             semaphores, then it needs memory once for each address at which a
 *             semaphore was.
 *   Orders    A post happens before the wait that it lets proceed.
 *   Signals   weir_posix_post is async-signal-safe.  A handler must not leave a
 *             wait with siglongjmp.
 *   Fork      The child has the values of the parent, and no waiters.
 *   Misuse    See above; errors are returned, and nothing panics.
 *
 * weir-top(1) and weir-explain(1) show the semaphores of a program, unless
 * WEIR_DIAG=off is set: weir-posix(1), "Diagnostics".
 */
WEIR_API int weir_posix_init(sem_t *s, int pshared, unsigned value);
WEIR_API int weir_posix_destroy(sem_t *s);
WEIR_API int weir_posix_wait(sem_t *s);
WEIR_API int weir_posix_trywait(sem_t *s);
WEIR_API int weir_posix_timedwait(sem_t *s, const struct timespec *at);
WEIR_API int weir_posix_clockwait(sem_t *s, clockid_t clock,
				  const struct timespec *at);
WEIR_API int weir_posix_post(sem_t *s);
WEIR_API int weir_posix_getvalue(sem_t *s, int *value);
WEIR_API int weir_posix_cancel(pthread_t thread);

/* As weir_posix_init; `caller` is an address in the code, for the name. */
WEIR_API int weir_posix_init_at(sem_t *s, int pshared, unsigned value,
				const void *caller);

/*
 * Returns the name of a semaphore, for messages: of a variable with static
 * storage its symbol, or file and offset; otherwise the place of its sem_init,
 * and its address.  Empty if it was zeroed or copied; null if it is not weir's.
 */
WEIR_API const char *weir_posix_name(sem_t *s);

WEIR_DECLS_END

#ifdef WEIR_POSIX_REPLACE
#define sem_init weir_posix_init
#define sem_destroy weir_posix_destroy
#define sem_wait weir_posix_wait
#define sem_trywait weir_posix_trywait
#define sem_timedwait weir_posix_timedwait
#define sem_clockwait weir_posix_clockwait
#define sem_post weir_posix_post
#define sem_getvalue weir_posix_getvalue
#define pthread_cancel weir_posix_cancel
#endif

#endif /* WEIR_POSIX_SEMAPHORE_H */
