/* SPDX-License-Identifier: MIT */
/* The header of src/base, with the explorer's clock instead of the CPU's. */
#pragma GCC system_header	/* #include_next is an extension */
#ifndef TESTS_MODEL_NAMED_TICKS_H
#define TESTS_MODEL_NAMED_TICKS_H

#define weir_ticks_ weir_cpu_ticks_
#include_next "base/ticks.h"
#undef weir_ticks_
int64_t weir_ticks_(void);

#endif /* TESTS_MODEL_NAMED_TICKS_H */
