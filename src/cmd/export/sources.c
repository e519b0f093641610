/* SPDX-License-Identifier: MIT */
/* All sources of samples. */
#include "cmd/export/sources.h"

bool source_all(struct metrics *m)
{
	return source_named(m);
}
