/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_RWLOCK_H
#define WEIR_PATTERN_RWLOCK_H

/*
 * Internals shared by the files of the reader-writer lock.  The head of
 * rwlock.c explains the lock, the head of rwlock_recall.c the preference of
 * writers, and the head of rwlock_leave.c the detection of misuse.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "pattern/ready.h"
#include "weir/rwlock.h"

/* The permits that a writer holds: all of inside_. */
#define ALL WEIR_RW_READERS_MAX

weir_err weir_rwlock_unready_(weir_rwlock *rw, const char *call,
			      enum weir_refusal_ refusal);

/* The check at the beginning of every call: ready.h. */
static inline weir_err weir_rwlock_check_(weir_rwlock *rw, const char *call,
					  enum weir_refusal_ refusal)
{
	return weir_is_ready_(rw) ?
		       WEIR_OK : weir_rwlock_unready_(rw, call, refusal);
}

/*
 * Acquire n permits of sem: until ctx ends, or without a ctx until deadline_ns.
 */
static inline weir_err weir_rwlock_acquire_(weir_sem *sem, int64_t n,
					    struct weir_ctx *ctx,
					    int64_t deadline_ns)
{
	return ctx ? weir_sem_acquire(sem, n, ctx) :
		     weir_sem_acquire_until(sem, n, deadline_ns);
}

/* Returns true if readers must wait for a recall (WEIR_RW_WRITERS only). */
static inline bool weir_rwlock_writers_are_first_(weir_rwlock *rw)
{
	/* relaxed: a reader that still reads 0 goes before the new writer. */
	return rw->prefer_ == WEIR_RW_WRITERS &&
	       at_load_relaxed(&rw->writers_) > 0;
}

/* Wait until no writer waits or is inside. */
weir_err weir_rwlock_await_recall_(weir_rwlock *rw, struct weir_ctx *ctx,
				   int64_t deadline_ns);

/*
 * Count a writer that waits or is inside; end that count.  The last writer to
 * be removed recalls the readers.  Both do nothing unless the lock prefers
 * writers.
 */
void weir_rwlock_add_writer_(weir_rwlock *rw);
void weir_rwlock_remove_writer_(weir_rwlock *rw);

#endif /* WEIR_PATTERN_RWLOCK_H */
