/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_REGISTRY_TICKS_H
#define TESTS_MODEL_REGISTRY_TICKS_H

/* Ticks are the explorer's time: the same in every run. */
#define weir_ticks_ weir_ticks_of_the_cpu_
#define weir_ticks_exact_ weir_ticks_exact_of_the_cpu_
#define weir_ticks_store_ weir_ticks_store_of_the_cpu_
#include "../../../../../src/base/ticks.h"
#undef weir_ticks_
#undef weir_ticks_exact_
#undef weir_ticks_store_

int64_t weir_ticks_(void);
int weir_ticks_store_(uint64_t words[2]);

static inline int64_t weir_ticks_exact_(void)
{
	return weir_ticks_();
}

#endif /* TESTS_MODEL_REGISTRY_TICKS_H */
