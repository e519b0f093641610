/* SPDX-License-Identifier: MIT */
/* All sources of samples. */
#include "cmd/export/sources.h"

bool source_all(struct metrics *m)
{
	if (!source_named(m))
		return false;
	source_processes(m);
	return true;
}
