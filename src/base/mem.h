/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_MEM_H
#define WEIR_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory that starts a cache line, or null.  weir_mem_free_ frees it. */
void *weir_mem_alloc_(size_t size);
void weir_mem_free_(void *memory);

#endif /* WEIR_BASE_MEM_H */
