/* SPDX-License-Identifier: MIT */
/* The orders in the registry, for reports on deadlocks: lockorder.h. */
#include "base/atomic.h"
#include "base/memfd.h"
#include "base/ticks.h"
#include "record/lockorder.h"
#include "record/registry.h"

static struct rg_order *order_at(char *base, uint32_t index)
{
	return (struct rg_order *)(void *)(base + RG_ORDERS_AT) + index;
}

void weir_order_log_(char *base, uint64_t from, uint64_t to)
{
	struct rg_header *header = weir_rg_header_(base);
	/* relaxed: the caller's lock orders the writers. */
	uint32_t high = at_load_relaxed(&header->orders_high);
	struct rg_order *order;

	for (uint32_t i = 0; i < high; i++) {
		order = order_at(base, i);
		/* relaxed: both; as above. */
		if (at_load_relaxed(&order->from) == from &&
		    at_load_relaxed(&order->to) == to)
			return;
	}
	order = order_at(base, high);
	if (high >= RG_ORDERS || !weir_memfd_populate_(order, sizeof(*order)))
		return;
	/* relaxed: all; published by the count. */
	at_store_relaxed(&order->from, from);
	at_store_relaxed(&order->to, to);
	at_store_relaxed(&order->since, (uint64_t)weir_ticks_());
	/* [D1] release */
	at_store_release(&header->orders_high, high + 1);
}
