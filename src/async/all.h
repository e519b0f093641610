/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_ALL_H
#define WEIR_ASYNC_ALL_H

#include <stdbool.h>

#include "weir/multi.h"

/*
 * Lists of requests.  Their semaphores are acquired in the order of their
 * addresses; weir/multi.h has the reason.
 */
bool weir_reqs_ok_(const weir_req *reqs, size_t k);

/*
 * Returns the semaphore with the lowest address above `last`, or null; *n is
 * the sum of the requests for it.
 */
weir_sem *weir_reqs_above_(const weir_req *reqs, size_t k, const weir_sem *last,
			   int64_t *n);

/*
 * Returns true if the sum of the requests for each semaphore is at most
 * WEIR_SEM_MAX.
 */
bool weir_reqs_sums_ok_(const weir_req *reqs, size_t k);

/*
 * Returns the error that is known before a semaphore is acquired, or WEIR_OK.
 */
weir_err weir_reqs_check_(const weir_req *reqs, size_t k, struct weir_ctx *ctx);

/* Release the semaphores below `end` (null: all), highest address first. */
void weir_reqs_release_below_(const weir_req *reqs, size_t k,
			      const weir_sem *end);

#endif /* WEIR_ASYNC_ALL_H */
