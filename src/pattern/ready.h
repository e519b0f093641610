/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_READY_H
#define WEIR_PATTERN_READY_H

/*
 * The state of a pattern's object is in its word ready_:
 *
 *   0                  zeroed memory, never set up
 *   weir_generation_   set up, and usable in this process
 *   1 .. generation-1  set up before a fork; this child has not used it yet
 *   WEIR_DESTROYED_    destroyed
 *   others             memory that was never set up
 *
 * WEIR_WATCHED_ is added if the object is watched (weir/diag.h).  Its calls
 * then leave the fast path and are recorded.  The calls of other objects need
 * no additional check.  In the child of a fork the object is not watched.
 *
 * Every public call begins with the check of its pattern, such as
 * weir_rwlock_check_.  On the fast path the check is one comparison
 * (weir_is_ready_).  Otherwise weir_unready_ finds the reason.
 *
 * The first call in the child of a fork examines the object.  If a thread
 * waited, or held a lock of the object, then that thread does not exist in the
 * child, so every call panics (C29).  Otherwise the call sets ready_ to the
 * generation of the child, and later calls take the fast path.
 *
 * The panics name the call and the object of the pattern.  Without this check
 * an inner semaphore would detect the misuse, and its message would name a
 * semaphore that the program does not know.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/fork.h"
#include "weir/sem.h"

#define WEIR_DESTROYED_ UINT32_C(0x64656164)
#define WEIR_WATCHED_ (UINT32_C(1) << 31)

/* How a call reports an object that is null, misaligned or zeroed. */
enum weir_refusal_ { WEIR_BY_ERROR_, WEIR_BY_PANIC_ };

/* The parts of an object that weir_unready_ examines. */
struct weir_object_ {
	const char *kind;	/* "rwlock" */
	const char *name;	/* null: none */
	void *object;		/* null or misaligned: nothing else is set */
	uint32_t *ready;
	const uint32_t *lock;	/* null: none */
	const weir_sem *sems[2];	/* null: none */
	bool waited;		/* a call is counted as waiting */
	bool has_threads;	/* which do not exist in the child of a fork */
};

static inline bool weir_is_misaligned_(const void *object)
{
	return !object || (uintptr_t)object % sizeof(uint64_t);
}

/*
 * Returns true if the object, a pointer to a struct with the field ready_, is
 * usable.  A plain read: only the first calls in the child of a fork write
 * ready_, all of them the same value.
 */
#define weir_is_ready_(object)                                                 \
	(!weir_is_misaligned_(object) && (object)->ready_ == weir_generation_)

/*
 * Find out why weir_is_ready_ returned false, and panic or return WEIR_EINVAL.
 * Returns WEIR_OK if the object is usable after all: it is watched, or this is the
 * first call in the child of a fork.
 */
weir_err weir_unready_(const struct weir_object_ *o, const char *call,
		       enum weir_refusal_ refusal);

#endif /* WEIR_PATTERN_READY_H */
