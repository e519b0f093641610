/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_REAL_H
#define WEIR_POSIX_REAL_H

#include <pthread.h>
#include <semaphore.h>

/*
 * The functions of the C library, for semaphores that are shared between
 * processes: sem_open, and sem_init with pshared; and those that this library
 * calls from its own.  real.c finds them with
 * dlsym(3), because this library has functions of the same names.
 */
struct weir_real_ {
	int (*init)(sem_t *, int, unsigned);
	int (*destroy)(sem_t *);
	int (*wait)(sem_t *);
	int (*trywait)(sem_t *);
	int (*timedwait)(sem_t *, const struct timespec *);
	int (*clockwait)(sem_t *, clockid_t, const struct timespec *);
	int (*post)(sem_t *);
	int (*getvalue)(sem_t *, int *);
	int (*cancel)(pthread_t);
	int (*register_atfork)(void (*prepare)(void), void (*parent)(void),
			       void (*child)(void), void *library);
};

const struct weir_real_ *weir_real_(void);

#endif /* WEIR_POSIX_REAL_H */
