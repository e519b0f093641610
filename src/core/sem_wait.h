/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SEM_WAIT_H
#define WEIR_CORE_SEM_WAIT_H

#include <stdint.h>

#include "weir/ctx.h"
#include "weir/sem.h"

/*
 * Acquire min..max permits through the lock, waiting if need be until ctx ends
 * (null: never) or deadline_ns passes; *got (may be null) tells how many.
 * `call` is for messages.
 */
weir_err weir_sem_wait_(weir_sem *sem, int64_t min, int64_t max,
			weir_ctx *ctx, int64_t deadline_ns, int64_t *got,
			const char *call);

/* weir_sem_try_acquire where the short path did not take. */
weir_err weir_sem_try_wait_(weir_sem *sem, int64_t n);

/* Give back n permits that an acquire took and must not keep. */
void weir_sem_put_(weir_sem *sem, int64_t n);

#endif /* WEIR_CORE_SEM_WAIT_H */
