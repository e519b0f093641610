/* SPDX-License-Identifier: MIT */
/*
 * The names of <semaphore.h>, for programs that were not compiled for weir.
 * sem_open, sem_close and sem_unlink stay those of the C library: a named
 * semaphore is the C library's, in every process.
 */
#include "posix/object.h"
#include "posix/real.h"
#include "posix/sem.h"
#include "weir/posix/semaphore.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int sem_init(sem_t *s, int pshared, unsigned value)
{
	return weir_posix_init_at(s, pshared, value,
				  __builtin_return_address(0));
}

EXPORT int sem_destroy(sem_t *s)
{
	return weir_posix_destroy(s);
}

EXPORT int sem_wait(sem_t *s)
{
	return weir_posix_wait_at_(s, __builtin_return_address(0));
}

EXPORT int sem_trywait(sem_t *s)
{
	return weir_posix_trywait_at_(s, __builtin_return_address(0));
}

EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict at)
{
	return weir_posix_clockwait_at_(s, CLOCK_REALTIME, at,
					__builtin_return_address(0));
}

EXPORT int sem_clockwait(sem_t *restrict s, clockid_t clock,
			 const struct timespec *restrict at)
{
	return weir_posix_clockwait_at_(s, clock, at,
					__builtin_return_address(0));
}

EXPORT int sem_post(sem_t *s)
{
	return weir_posix_post(s);
}

EXPORT int sem_getvalue(sem_t *restrict s, int *restrict value)
{
	return weir_posix_getvalue(s, value);
}

EXPORT int pthread_cancel(pthread_t thread)
{
	return weir_posix_cancel(thread);
}

/*
 * pthread_atfork calls this function of the C library.  The constructors of other
 * libraries run before those of a preloaded library.  Their fork handlers may use
 * semaphores, so the handlers of this library are registered before them: object.c.
 */
int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *library);

EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void),
			     void (*child)(void), void *library)
{
	weir_posix_register_atfork_();
	return weir_real_()->register_atfork(prepare, parent, child, library);
}
