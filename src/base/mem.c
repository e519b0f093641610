/* SPDX-License-Identifier: MIT */
/* The heap.  No wait allocates memory (C26). */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64)

void *weir_mem_alloc_(size_t size)
{
	void *memory = NULL;

	size = (size + LINE - 1) / LINE * LINE;
	if (posix_memalign(&memory, LINE, size))
		return NULL;
	memset(memory, 0, size);
	return memory;
}

void weir_mem_free_(void *memory)
{
	free(memory);
}
