/* SPDX-License-Identifier: MIT */
/*
 * The registry of this process (registry.h).
 *
 * Pairs
 *
 *   [D2] base   release: make   acquire: weir_registry_make_
 *               A thread that finds the registry finds its header.
 */
#include "record/registry.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/memfd.h"
#include "base/ticks.h"
#include "weir/base.h"

_Alignas(WEIR_REGISTRY_ROOM_) union weir_registry_page_ weir_registry_page_;

static void close_in_child(void)
{
	weir_memfd_close_();
}

__attribute__((constructor)) static void register_fork_handler(void)
{
	(void)!pthread_atfork(NULL, NULL, close_in_child);
}

/*
 * The library is unloaded, or the process exits.  In the second case other threads may
 * still use the registry, so its mapping remains.  A later copy of the library makes a
 * registry of its own.
 */
__attribute__((destructor)) static void retire(void)
{
	/* relaxed: in the child of a fork it is another one, or null. */
	char *base = at_load_relaxed(&weir_registry_->base);

	if (!base)
		return;
	/* relaxed: for readers. */
	at_store_relaxed(&weir_rg_header_(base)->unloaded, 1);
	weir_memfd_close_();
}

/* Store the path of the program; if it is too long, its end. */
static void find_program(char *program, size_t size)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
	size_t skip;

	if (length <= 0)
		return;
	skip = (size_t)length >= size ? (size_t)length - size + 1 : 0;
	memcpy(program, path + skip, (size_t)length - skip);
}

static void fill_header(struct rg_header *header)
{
	*header = (struct rg_header){
		.version = RG_VERSION,
		.order = RG_ORDER,
		.header_size = sizeof(struct rg_header),
		.object_size = sizeof(struct rg_object),
		.context_size = sizeof(struct rg_context),
		.wait_size = sizeof(struct rg_wait),
		.event_size = sizeof(struct rg_event),
		.order_size = sizeof(struct rg_order),
		.objects = RG_OBJECTS,
		.contexts = RG_CONTEXTS,
		.waits = RG_WAITS,
		.events = RG_EVENTS,
		.pid = (uint32_t)getpid(),
		.clock = RG_CLOCK_,
		.size = RG_SIZE,
		.ticks_per_s = weir_ticks_per_s_(),
		.start_ticks = (uint64_t)weir_ticks_exact_(),
		.start_ns = weir_now_ns(),
		.start_realtime_ns = weir_wall_ns_(),
	};
	memcpy(header->library, weir_version(),
	       strnlen(weir_version(), sizeof(header->library) - 1));
	find_program(header->program, sizeof(header->program));
	/* The magic is written last, because a reader checks it first. */
	memcpy(header->magic, RG_MAGIC, sizeof(header->magic));
}

/* The bounds of the histograms: 1, 3, 10, 30 us, and so on, in ticks. */
static void set_bounds(struct weir_registry_ *registry, uint64_t ticks_per_s)
{
	uint64_t us = 1;

	for (unsigned i = 0; i < RG_BUCKETS - 1; i += 2, us *= 10) {
		registry->bounds[i] = us * ticks_per_s / 1000000;
		if (i + 1 < RG_BUCKETS - 1)
			registry->bounds[i + 1] = 3 * us * ticks_per_s /
						  1000000;
	}
}

/* Requires: the lock is held. */
static char *make(struct weir_registry_ *registry)
{
	char *base = weir_memfd_map_(RG_FILE_NAME, RG_SIZE);

	if (!base || !weir_memfd_populate_(base, sizeof(struct rg_header)) ||
	    !weir_memfd_populate_(base + RG_EVENTS_AT,
				  RG_ORDERS_AT - RG_EVENTS_AT))
		return NULL;
	fill_header(weir_rg_header_(base));
	set_bounds(registry, weir_rg_header_(base)->ticks_per_s);
	registry->epoch = (uint64_t)weir_ticks_() << 16;
	/* [D2] release */
	at_store_release(&registry->base, base);
	return base;
}

char *weir_registry_make_(void)
{
	struct weir_registry_ *registry = weir_registry_;
	int before = errno;
	/* [D2] acquire */
	char *base = at_load_acquire(&registry->base);

	/*
	 * A child must not find the lock held by a thread of its parent.  So the
	 * pages are prepared before the lock is taken, maybe by several threads.
	 */
	if (base || !weir_memfd_wipe_on_fork_(&weir_registry_page_,
					      sizeof(weir_registry_page_)))
		return base;
	weir_lock_(&registry->lock);
	base = registry->base;
	if (!base && !registry->failed) {
		base = make(registry);
		registry->failed = !base;
	}
	weir_unlock_(&registry->lock);
	errno = before;
	return base;
}

/*
 * Epochs of different processes differ, so that the child of a fork does not use
 * a slot of its parent.
 */
void weir_registry_next_epoch_(void)
{
	/* relaxed: a thread that uses the object later has seen this. */
	at_add_relaxed(&weir_registry_->epoch, 1);
}

void weir_registry_lost_(char *base)
{
	/* relaxed: a count, for display. */
	at_add_relaxed(&weir_rg_header_(base)->lost, 1);
}

uint64_t weir_registry_id_(char *base, uint32_t index)
{
	/* relaxed: only the value matters. */
	return (at_add_relaxed(&weir_rg_header_(base)->generations, 1) + 1)
		       << 16 | index;
}

bool weir_registry_grow_(uint32_t *high, uint32_t index, void *record,
			 size_t size)
{
	uint32_t seen = index;

	if (!weir_memfd_populate_(record, size))
		return false;
	/* relaxed: the state of the record decides which thread gets it. */
	while (!at_cas_weak_relaxed(high, &seen, index + 1))
		/* A failed CAS stores the value that it found. */
		// cppcheck-suppress knownConditionTrueFalse
		if (seen != index)
			return false;
	return true;
}

void weir_registry_flag_(struct rg_object *object, uint32_t flags)
{
	/* relaxed: both; a flag publishes no other memory. */
	uint32_t before = at_load_relaxed(&object->flags);

	while ((before & flags) != flags)
		if (at_cas_weak_relaxed(&object->flags, &before,
					before | flags)) {
			weir_registry_next_epoch_();
			return;
		}
}

unsigned weir_registry_bucket_(uint64_t ticks)
{
	unsigned i = 0;

	while (i < RG_BUCKETS - 1 && ticks >= weir_registry_->bounds[i])
		i++;
	return i;
}
