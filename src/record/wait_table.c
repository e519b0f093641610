/* SPDX-License-Identifier: MIT */
/*
 * The table of waits (wait_table.h).  As in the table of contexts (context.c), a
 * compare-and-swap of the state from FREE to MAKING decides which thread gets a
 * record.
 */
#include "record/wait_table.h"

#include <stdbool.h>

#include "base/atomic.h"
#include "record/registry.h"

/* How many records are examined before the table grows, and if it is full. */
#define SCAN 16u
#define SCAN_FULL 512u

static bool take(struct rg_wait *wait)
{
	uint32_t state = RG_FREE;

	/* [D5] acquire */
	while (!at_cas_weak_acquire(&wait->state, &state, RG_MAKING))
		if (state != RG_FREE)
			return false;
	return true;
}

static struct rg_wait *scan(char *base, uint32_t high, uint32_t count)
{
	for (uint32_t i = 0; high && i < count && i < high; i++) {
		/* relaxed: both; a hint, which take() checks. */
		uint32_t at = at_add_relaxed(&weir_registry_->wait_cursor, 1);
		struct rg_wait *wait = weir_rg_wait_(base, at % high);

		if (at_load_relaxed(&wait->state) == RG_FREE && take(wait))
			return wait;
	}
	return NULL;
}

struct rg_wait *weir_wait_make_(char *base)
{
	struct rg_header *header = weir_rg_header_(base);
	/* relaxed: weir_registry_grow_ checks it. */
	uint32_t high = at_load_relaxed(&header->waits_high);
	struct rg_wait *wait = scan(base, high, SCAN);

	if (wait)
		return wait;
	for (uint32_t tries = 0; high < RG_WAITS && tries < SCAN_FULL; tries++) {
		wait = weir_rg_wait_(base, high);
		if (weir_registry_grow_(&header->waits_high, high, wait,
					sizeof(*wait)) &&
		    take(wait))
			return wait;
		/* relaxed: as above. */
		high = at_load_relaxed(&header->waits_high);
	}
	return scan(base, high, SCAN_FULL);
}

void weir_wait_free_(struct rg_wait *wait)
{
	/* relaxed: readers compare seq. */
	at_add_relaxed(&wait->seq, 2);
	/* [D5] release */
	at_store_release(&wait->state, RG_FREE);
}
