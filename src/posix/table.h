/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_TABLE_H
#define WEIR_POSIX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/sem.h"

/*
 * The objects behind sem_t (object.h) and their memory.  An object is
 *
 *   in use    in the table, by the address of its sem_t;
 *   retired   its sem_t was destroyed or initialised again, but a thread is still
 *             in a call: it has been granted and has not returned, or it waits for
 *             ever;
 *   unused    in a list.  Its memory is never returned to the system.
 *
 * Requires, for all functions: the lock of posix/lock.h is held.
 */

struct weir_object_posix_ {
	weir_sem sem;
	uintptr_t home;			/* address of the sem_t; 0: unused */
	struct weir_object_posix_ *next; /* in its bucket or list */
	char name[64];
};

/* Returns the object of the sem_t at `home`; null: none. */
struct weir_object_posix_ *weir_table_find_(uintptr_t home);

/*
 * If few objects are unused, then make those retired objects unused whose last call
 * has returned.  Requires: the caller is no signal handler, because the interrupted
 * thread may be in that call.
 */
void weir_table_collect_(void);

/* Make sure that at least `least` objects are unused, if memory allows. */
void weir_table_refill_(unsigned least);

/* Add buckets, if there are many objects. */
void weir_table_grow_(void);

/* Put an unused object into the table; null: none is unused. */
struct weir_object_posix_ *weir_table_take_(uintptr_t home);

/*
 * Take an object out of the table.  It becomes unused if its semaphore was
 * destroyed, and retired otherwise.
 */
void weir_table_drop_(struct weir_object_posix_ *o, bool destroyed);

/*
 * Called in the child of a fork: call `reset` for every object in use.  No
 * thread of the child is in a call, so the retired objects become unused.
 */
void weir_table_in_child_(void (*reset)(struct weir_object_posix_ *o));

#endif /* WEIR_POSIX_TABLE_H */
