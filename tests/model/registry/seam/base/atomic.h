/* SPDX-License-Identifier: MIT */
/* The explorer's atomics, and its signal handlers. */
#include "../../../seam/base/atomic.h"

#undef at_signal_fence
#define at_signal_fence() ex_signal_point()
