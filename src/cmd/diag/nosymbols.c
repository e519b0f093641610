/* SPDX-License-Identifier: MIT */
/* This file replaces symbols.c if libdw is not available. */
#include "cmd/diag/modules.h"

bool symbols_name(void *user, uint64_t site, char *to, size_t size)
{
	return modules_offset(user, site, to, size);
}

bool symbols_variable(struct modules *modules, const char *file,
		      uint64_t offset, char *to, size_t size)
{
	(void)modules;
	(void)file;
	(void)offset;
	(void)to;
	(void)size;
	return false;
}

void symbols_begin(struct modules *modules)
{
	(void)modules;
}

void symbols_free(struct modules *modules)
{
	(void)modules;
}
