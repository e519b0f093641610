/* SPDX-License-Identifier: MIT */
/* The explorer's atomics, and its signal handlers. */
#include "../../../seam/base/atomic.h"

#undef at_signal_fence
#define at_signal_fence() ex_signal_point()

/* Two stores: a step of the search may come between them. */
#define at_store_pair_relaxed(p, v, q, w)                                      \
	(at_store_relaxed(q, w), at_store_relaxed(p, v))
