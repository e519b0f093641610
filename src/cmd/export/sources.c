/* SPDX-License-Identifier: MIT */
/* All sources of samples. */
#include "cmd/export/sources.h"

#include "cmd/export/servers.h"
#include "weir/base.h"

bool source_all(struct metrics *m, int64_t limit_ns)
{
	int64_t end_ns = weir_deadline_after(limit_ns);

	if (!source_named(m))
		return false;
	servers_start();
	source_processes(m);
	servers_finish(m, end_ns);
	return true;
}
