/* SPDX-License-Identifier: MIT */
/* This file replaces symbols.c if libdw is not available. */
#include "cmd/diag/modules.h"

bool symbols_name(void *user, uint64_t site, char *to, size_t size)
{
	return modules_offset(user, site, to, size);
}

void symbols_free(struct modules *modules)
{
	(void)modules;
}
