/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_MEM_H
#define WEIR_BASE_MEM_H

#include <stddef.h>

/*
 * Allocate zeroed memory, aligned to a cache line; null on failure.  Free it
 * with weir_mem_free_.
 */
void *weir_mem_alloc_(size_t size);
void weir_mem_free_(void *memory);

#endif /* WEIR_BASE_MEM_H */
