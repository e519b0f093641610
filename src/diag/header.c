/* SPDX-License-Identifier: MIT */
/* The header of a registry: its checks, and its clock. */
#include <string.h>

#include "diag/bytes.h"

#define SECOND INT64_C(1000000000)

const char *weir_diag_error_text_(enum dg_error error)
{
	static const char *const texts[] = {
		"no error", "it contains no registry",
		"its registry has another version",
		"its registry is truncated", "its registry is damaged"
	};

	return error <= DG_DAMAGED ? texts[error] : "unknown error";
}

/* Returns true if the registry has the table of orders, or none at all. */
static bool has_orders(const struct rg_header *header)
{
	return header->order_size ?
		       header->order_size == sizeof(struct rg_order) &&
			       header->size >= RG_SIZE :
		       !header->orders_high && header->size >= RG_ORDERS_AT;
}

/* Returns true if the sizes and numbers of records are those of this reader. */
static bool has_this_layout(const struct rg_header *header)
{
	return header->header_size == sizeof(struct rg_header) &&
	       header->object_size == sizeof(struct rg_object) &&
	       header->context_size == sizeof(struct rg_context) &&
	       header->wait_size == sizeof(struct rg_wait) &&
	       header->event_size == sizeof(struct rg_event) &&
	       header->objects == RG_OBJECTS &&
	       header->contexts == RG_CONTEXTS && header->waits == RG_WAITS &&
	       header->events == RG_EVENTS &&
	       has_orders(header);
}

/* Returns true if the counts and the rate of the clock are possible. */
static bool is_possible(const struct rg_header *header)
{
	return header->objects_high <= RG_OBJECTS &&
	       header->contexts_high <= RG_CONTEXTS &&
	       header->waits_high <= RG_WAITS &&
	       header->orders_high <= RG_ORDERS && header->ticks_per_s >= 100 &&
	       header->ticks_per_s <= UINT64_C(10000000000);
}

enum dg_error weir_diag_header_(const struct dg_source *source,
				struct rg_header *header)
{
	if (!source->read(source->user, 0, header, sizeof(*header)))
		return DG_TRUNCATED;
	if (memcmp(header->magic, RG_MAGIC, sizeof(header->magic)) != 0)
		return DG_NOT_A_REGISTRY;
	if (header->order != RG_ORDER || header->version != RG_VERSION)
		return DG_OTHER_VERSION;
	return has_this_layout(header) && is_possible(header) ? DG_OK :
								DG_DAMAGED;
}

void weir_diag_limits_(const struct rg_header *header, struct dg_limits *limits)
{
	limits->objects = header->objects_high;
	limits->contexts = header->contexts_high;
	limits->holds = header->contexts_high * RG_SLOTS;
	limits->waits = header->waits_high;
	limits->orders = header->orders_high;
}

int64_t weir_diag_to_ns_(const struct rg_header *header, uint64_t ticks)
{
	uint64_t rate = header->ticks_per_s;
	uint64_t seconds = ticks / rate;

	if (seconds > INT64_MAX / SECOND - 1)
		return INT64_MAX;
	return (int64_t)(seconds * SECOND + ticks % rate * SECOND / rate);
}

int64_t weir_diag_age_(const struct rg_header *header, int64_t now_ns,
		       uint64_t ticks)
{
	int64_t since, age;

	if (!ticks)
		return DG_UNKNOWN;
	if (ticks >= header->start_ticks)
		since = weir_diag_to_ns_(header, ticks - header->start_ticks);
	else
		since = -weir_diag_to_ns_(header, header->start_ticks - ticks);
	since = weir_diag_add_(since, header->start_ns);
	if (__builtin_sub_overflow(now_ns, since, &age))
		return DG_UNKNOWN;
	/* The counters of the CPUs differ a little. */
	return age < 0 ? 0 : age;
}
