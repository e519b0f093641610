/* SPDX-License-Identifier: MIT */
/* Ticks are the explorer's time: the same in every run. */
#define weir_ticks_ weir_ticks_of_the_cpu_
#include "../../../../../src/base/ticks.h"
#undef weir_ticks_

int64_t weir_ticks_(void);
