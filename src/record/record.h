/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_RECORD_H
#define WEIR_RECORD_RECORD_H

/* Recording who holds the permits of a watched semaphore: a stub. */
#include <stdint.h>

#include "weir/sem.h"

/*
 * Returns the object of a watched semaphore; 0: nothing is recorded.
 * Requires: *sem exists.
 */
static inline uint64_t weir_record_of_(const weir_sem *sem)
{
	(void)sem;
	return 0;
}

/*
 * Record that this thread took or returned n permits of `object`, called at
 * `site`.  weir_record_gave_ comes after the CAS that returned the permits, when
 * the semaphore may not exist any more.
 */
static inline void weir_record_took_(uint64_t object, int64_t n, uint64_t site)
{
	(void)object;
	(void)n;
	(void)site;
}

static inline void weir_record_gave_(uint64_t object, int64_t n, uint64_t site)
{
	(void)object;
	(void)n;
	(void)site;
}

#endif /* WEIR_RECORD_RECORD_H */
