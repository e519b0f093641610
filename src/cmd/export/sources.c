/* SPDX-License-Identifier: MIT */
/* All sources of samples. */
#include "cmd/export/sources.h"

#include <errno.h>

#include "cmd/export/servers.h"
#include "weir/base.h"

bool source_all(struct metrics *m, int64_t limit_ns)
{
	int64_t end_ns = weir_deadline_after(limit_ns);

	/* They answer while this process reads its host. */
	servers_start();
	if (!source_named(m)) {
		int errnum = errno;

		servers_stop();
		errno = errnum;
		return false;
	}
	source_processes(m);
	servers_finish(m, end_ns);
	return true;
}
