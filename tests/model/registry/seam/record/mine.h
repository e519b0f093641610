/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_REGISTRY_MINE_H
#define TESTS_MODEL_REGISTRY_MINE_H

/* One for each thread of the explorer, and one for setup and check. */
#define weir_mine_ weir_mine_of_libc_
#include "../../../../../src/record/mine.h"
#undef weir_mine_

#include "explore.h"

extern struct weir_self_ ex_mine[EX_THREADS + 1];
#define weir_mine_ (ex_mine[ex_self() + 1])

#endif /* TESTS_MODEL_REGISTRY_MINE_H */
