/* SPDX-License-Identifier: MIT */
/* Heap memory. */
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"

static void *check(void *memory)
{
	if (!memory)
		cmd_die(EXIT_WEIR, "out of memory");
	return memory;
}

void *memory_realloc(void *old, size_t size)
{
	return check(realloc(old, size));
}

char *memory_strdup(const char *text)
{
	return check(strdup(text));
}
