/* SPDX-License-Identifier: MIT */
#ifndef GENMC_H
#define GENMC_H

/*
 * The functions of GenMC that the programs call: `tools/genmc -c` compiles them
 * without GenMC.
 */
#include <stdbool.h>
#include <stddef.h>

void __VERIFIER_assume(bool condition);
void *__VERIFIER_malloc_aligned(size_t alignment, size_t size);

#endif /* GENMC_H */
