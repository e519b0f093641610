/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_SOURCES_H
#define WEIR_CMD_EXPORT_SOURCES_H

/*
 * The sources of samples.  A source reads at the moment of the call and keeps
 * nothing open.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/export/metrics.h"

/*
 * Add the semaphores of the folder of names.  Returns false with errno if the
 * folder cannot be read.
 */
bool source_named(struct metrics *m);
/*
 * Add the watched semaphores in the processes that this user may read.  The
 * counts of semaphores that an earlier call has read, and that are gone now,
 * stay in the sums.
 */
void source_processes(struct metrics *m);
/*
 * Add the samples of all sources.  Servers that have not answered after limit_ns
 * are given up.  Returns false with errno, as above.
 */
bool source_all(struct metrics *m, int64_t limit_ns);

#endif /* WEIR_CMD_EXPORT_SOURCES_H */
