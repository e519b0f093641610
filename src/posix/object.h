/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_OBJECT_H
#define WEIR_POSIX_OBJECT_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "posix/table.h"
#include "weir/sem.h"

/*
 * The weir semaphore behind a sem_t.
 *
 * A sem_t (32 bytes) is too small for a weir_sem.  It contains four words:
 *
 *   0  WEIR_POSIX_MAGIC_ or WEIR_POSIX_DEAD_
 *   1  the address of the object
 *   2  the address of the sem_t itself, XOR the magic
 *   3  the value that sem_init was given
 *
 * Word 2 detects a copy: a program may copy a sem_t before its first use, and
 * the copy is a semaphore of its own with the value of word 3.  16 zero bytes
 * are a semaphore of value 0, as with glibc.  Anything else is a semaphore of
 * glibc, shared between processes: the low half of glibc's first word is at most
 * SEM_VALUE_MAX, which no magic is.
 *
 * Objects are kept in a table by the address of their sem_t.  A sem_init at an
 * address that has an object reuses it.  So a program that never destroys its
 * semaphores needs memory for each address that has ever been a semaphore, and
 * no more.
 */

#if UINTPTR_MAX > UINT32_MAX
#define WEIR_POSIX_MAGIC_ ((uintptr_t)0x77656972f05e3a91)
#define WEIR_POSIX_DEAD_ ((uintptr_t)0x77656972dead3a91)
#else
#define WEIR_POSIX_MAGIC_ ((uintptr_t)0xf05e3a91)
#define WEIR_POSIX_DEAD_ ((uintptr_t)0xdead3a91)
#endif

enum weir_found_ {
	WEIR_FOUND_,		/* *object is the semaphore */
	WEIR_FOUND_FOREIGN_,	/* a semaphore of the C library */
	WEIR_FOUND_DEAD_,	/* destroyed */
	WEIR_FOUND_NO_MEMORY_
};

/* Find the object of *s.  If *s is zeroed or a copy, then one is made. */
enum weir_found_ weir_posix_find_(sem_t *s, struct weir_object_posix_ **found);

/*
 * Returns true if *s is zeroed and has no object: its value is 0.  Calls that
 * need no object in that case use this function.
 */
bool weir_posix_is_zeroed_(const sem_t *s);

/*
 * Make *s a semaphore; `caller` is the address of the call of sem_init, for the
 * name.  Returns false if memory is exhausted.
 */
bool weir_posix_make_(sem_t *s, unsigned value, const void *caller);

/* Forget the object of *s, if any: *s becomes a semaphore of the C library. */
void weir_posix_forget_(sem_t *s);

/*
 * Retire *s.  WEIR_EBUSY: a thread waits.  A thread that was granted the semaphore
 * does not count as waiting, although it may still be in its call.
 */
weir_err weir_posix_retire_(sem_t *s, struct weir_object_posix_ *o);

/* Register the fork handlers of the semaphores, once. */
void weir_posix_register_atfork_(void);

#endif /* WEIR_POSIX_OBJECT_H */
