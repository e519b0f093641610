/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_SEM_H
#define WEIR_POSIX_SEM_H

#include <semaphore.h>

/*
 * The waits of weir/posix/semaphore.h; `caller` is the call site that the
 * diagnostics show.
 */
int weir_posix_wait_at_(sem_t *s, const void *caller);
int weir_posix_trywait_at_(sem_t *s, const void *caller);
int weir_posix_clockwait_at_(sem_t *s, clockid_t clock,
			     const struct timespec *at, const void *caller);

#endif /* WEIR_POSIX_SEM_H */
