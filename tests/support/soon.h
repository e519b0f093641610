/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_SOON_H
#define TESTS_SUPPORT_SOON_H

#include "check.h"

/*
 * Submit with a deadline `soon`, at first so many nanoseconds from now.  The
 * deadline has not passed when the operation is queued, however slow the
 * machine is: retry with more time.
 */
#define QUEUE_WITHIN(ns, submit)                                               \
	do {                                                                   \
		weir_err err_ = WEIR_ETIMEDOUT;                                \
		for (int64_t ns_ = (ns); err_ == WEIR_ETIMEDOUT; ns_ *= 2) {   \
			int64_t soon = weir_deadline_after(ns_);               \
			err_ = (submit);                                       \
		}                                                              \
		CHECK_ERR(err_, WEIR_EQUEUED);                                 \
	} while (0)
#define QUEUE_SOON(submit) QUEUE_WITHIN(100000, submit)

#endif /* TESTS_SUPPORT_SOON_H */
