/* SPDX-License-Identifier: MIT */
/* Ticks are the explorer's time: the same in every run. */
#define weir_ticks_ weir_ticks_of_the_cpu_
#define weir_ticks_store_ weir_ticks_store_of_the_cpu_
#include "../../../../../src/base/ticks.h"
#undef weir_ticks_
#undef weir_ticks_store_

int64_t weir_ticks_(void);
int weir_ticks_store_(uint64_t words[2]);
