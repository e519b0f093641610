/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_MEMORY_H
#define WEIR_CMD_LIB_MEMORY_H

/* Heap memory.  If memory is exhausted, the process exits with EXIT_WEIR. */
#include <stddef.h>

void *memory_realloc(void *old, size_t size);
char *memory_strdup(const char *text);

#endif /* WEIR_CMD_LIB_MEMORY_H */
