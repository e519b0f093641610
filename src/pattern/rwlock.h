/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_RWLOCK_H
#define WEIR_PATTERN_RWLOCK_H

/* What the files of the reader-writer lock share; rwlock.c says how it works. */
#include <stdbool.h>
#include <stdint.h>

#include "weir/rwlock.h"

/* What a writer holds: every permit. */
#define ALL WEIR_RW_READERS_MAX

static inline bool weir_rwlock_is_misplaced_(const weir_rwlock *rw)
{
	return !rw || (uintptr_t)rw % sizeof(uint64_t) || !rw->ready_;
}

#endif /* WEIR_PATTERN_RWLOCK_H */
