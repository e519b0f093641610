/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PATTERN_SOON_H
#define TESTS_PATTERN_SOON_H

#include "check.h"

/*
 * Submit with a deadline `soon`.  The deadline has not passed when the
 * operation is queued, however slow the machine is.
 */
#define QUEUE_SOON(submit)                                                     \
	do {                                                                   \
		weir_err err_ = WEIR_ETIMEDOUT;                                \
		for (int64_t ns_ = 100000; err_ == WEIR_ETIMEDOUT; ns_ *= 2) { \
			int64_t soon = weir_deadline_after(ns_);               \
			err_ = (submit);                                       \
		}                                                              \
		CHECK_ERR(err_, WEIR_EQUEUED);                                 \
	} while (0)

#endif /* TESTS_PATTERN_SOON_H */
