/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_ALL_H
#define WEIR_ASYNC_ALL_H

#include <stdbool.h>

#include "weir/multi.h"

/* Lists of requests, in the order of addresses; weir/multi.h says why. */
bool weir_reqs_ok_(const weir_req *reqs, size_t k);

/* The first semaphore above `last`, null: none, and how many of it. */
weir_sem *weir_reqs_above_(const weir_req *reqs, size_t k, const weir_sem *last,
			   int64_t *n);

/* No sum for a semaphore is more than a call can ask for. */
bool weir_reqs_sums_ok_(const weir_req *reqs, size_t k);

/* What can be said before any is acquired. */
weir_err weir_reqs_check_(const weir_req *reqs, size_t k, struct weir_ctx *ctx);

/* Release what lies below `end` (null: all), highest first. */
void weir_reqs_release_below_(const weir_req *reqs, size_t k,
			      const weir_sem *end);

#endif /* WEIR_ASYNC_ALL_H */
