/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_SUMS_H
#define WEIR_CMD_EXPORT_SUMS_H

/* From the snapshot of a semaphore that has a name to samples. */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/export/metrics.h"
#include "weir/named.h"

struct sums {
	int64_t permits, available, waiters, waiting_permits;
	int64_t oldest_waiter, oldest_holder, newest_holder;
	bool is_held;
};

void sums_make(struct sums *sums, const weir_named_info *info,
	       const weir_named_entry *entries);
void sums_add(struct metrics *m, uint32_t series, const struct sums *sums);

#endif /* WEIR_CMD_EXPORT_SUMS_H */
