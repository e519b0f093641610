/* SPDX-License-Identifier: MIT */
/*
 * Exemplars from the ring of slow events of a registry.
 *
 * The process records nothing for them: each event has a context, an object and a
 * call site already, and the ring keeps the last RG_EVENTS of all threads.  A
 * false exemplar would send its reader to the wrong line of a program.  So a pair
 * of events that could belong to two calls is left out.
 *
 * Wait.  A thread that waits executes nothing but signal handlers, which may only
 * release.  So the event QUEUED, and the next event ACQUIRED or LEFT of the same
 * context, begin and end one wait if they have the same object and the same call
 * site, and if there is no other event of the context in between.  An operation is
 * submitted by one call, and may be granted in any other one: mostly a release, which
 * is an event as well.  A thread that submits several from one line has two events
 * QUEUED without an end in between; none of its waits is used.
 *
 * Hold.  Only a slow release is an event.  The acquire may have been a fast one,
 * so no event begins the hold; but the slot of the context has its call site,
 * and the time since which the slot was not empty.  If that is before the event
 * RELEASED, then no other hold of this slot has begun in between.  If the context
 * has two slots for the object, then it is not known which one was released.
 *
 * The contents of the registry may be false and may change meanwhile.  They are
 * read twice; what has changed is left out.  The first event of a wait may have
 * left the ring: then there is no exemplar.
 */
#include "cmd/export/recent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/export/model.h"
#include "cmd/lib/memory.h"
#include "diag/reading.h"
#include "weir/base.h"

/* The most records of one context that are examined. */
#define CHAIN_MAX 64
/*
 * The time of an answer for names of call sites.  Afterwards a call site is a
 * module and an offset.  The parsed debug information is kept, so that the next
 * answers name the rest.
 */
#define NAMING_NS INT64_C(1000000000)

static int64_t naming_left_ns;

/* Event kinds, as in weir/diag.h. */
#define IS_END(kind) ((kind) == WEIR_DIAG_ACQUIRED || (kind) == WEIR_DIAG_LEFT)

struct ring {
	struct rg_event events[RG_EVENTS], again[RG_EVENTS];
	uint32_t order[RG_EVENTS];	/* of the valid ones, the oldest first */
	uint32_t count;
	/* By index of the context: the event QUEUED + 1; 0: none. */
	uint32_t queued[RG_CONTEXTS];
	bool submits[RG_CONTEXTS];	/* several operations */
	/* By event that ends a wait: the event QUEUED + 1; 0: none. */
	uint32_t begin[RG_EVENTS];
};

static int older_first(const void *a, const void *b, void *events)
{
	const struct rg_event *list = events;
	uint64_t one = list[*(const uint32_t *)a].number;
	uint64_t other = list[*(const uint32_t *)b].number;

	return (one > other) - (one < other);
}

static bool read_ring(struct diag *diag, struct ring *ring)
{
	if (!diag_read_bytes(diag, RG_EVENTS_AT, ring->events,
			     sizeof(ring->events)) ||
	    !diag_read_bytes(diag, RG_EVENTS_AT, ring->again,
			     sizeof(ring->again)))
		return false;
	for (uint32_t i = 0; i < RG_EVENTS; i++) {
		uint64_t number = ring->events[i].number;

		if (number && (number - 1) % RG_EVENTS == i &&
		    !memcmp(&ring->events[i], &ring->again[i],
			    sizeof(ring->events[i])))
			ring->order[ring->count++] = i;
	}
	qsort_r(ring->order, ring->count, sizeof(ring->order[0]), older_first,
		ring->events);
	return true;
}

/* Instead of an event QUEUED: a wait may have begun, but no end is certainly its own. */
#define UNCERTAIN UINT32_MAX

/* Called with an event QUEUED after another one that has no end. */
static void begin_another(struct ring *ring, uint32_t context, uint32_t at)
{
	uint32_t before = ring->queued[context];

	ring->queued[context] = UNCERTAIN;
	if (before == UNCERTAIN)
		return;
	before--;
	if (ring->events[before].object == ring->events[at].object &&
	    ring->events[before].site == ring->events[at].site)
		ring->submits[context] = true;
}

static void pair_waits(struct ring *ring)
{
	for (uint32_t i = 0; i < ring->count; i++) {
		uint32_t at = ring->order[i];
		const struct rg_event *e = &ring->events[at];
		uint32_t context = (uint32_t)(e->context % RG_CONTEXTS);
		uint32_t *queued = &ring->queued[context];

		if (e->kind == WEIR_DIAG_QUEUED && *queued) {
			begin_another(ring, context, at);
		} else if (e->kind == WEIR_DIAG_QUEUED) {
			*queued = at + 1;
		} else if (IS_END(e->kind)) {
			ring->begin[at] = *queued == UNCERTAIN ? 0 : *queued;
			*queued = 0;
		} else if (*queued) {
			*queued = UNCERTAIN;
		}
	}
}

/* A wait or a hold that has ended. */
struct found {
	uint32_t object;
	enum metrics_family family;
	uint64_t site;
	int64_t ns, age_ns;	/* how long it took; since when it has ended */
};

/* Returns false if the event does not end a wait that is known. */
static bool find_wait(const struct diag *diag, const struct ring *ring,
		      uint32_t at, struct found *found)
{
	const struct rg_event *end = &ring->events[at], *begin;

	if (!IS_END(end->kind) || !ring->begin[at] ||
	    ring->submits[end->context % RG_CONTEXTS])
		return false;
	begin = &ring->events[ring->begin[at] - 1];
	if (begin->context != end->context || begin->object != end->object ||
	    begin->site != end->site || begin->n <= 0 ||
	    begin->ticks > end->ticks)
		return false;
	found->family = METRICS_WAIT_DURATION;
	found->site = begin->site;
	found->ns = weir_diag_to_ns_(&diag->header, end->ticks - begin->ticks);
	/* A spawn that waits for room in the backlog is no acquire. */
	return diag->model.objects[found->object].type != RG_GROUP &&
	       diag->model.objects[found->object].type != RG_RATE;
}

/*
 * Find the slot of the object in a record.  Returns the number of such slots
 * that the hold may have been in.
 */
static uint32_t find_slots(const struct rg_context *raw,
			   const struct rg_event *end, struct rg_slot *slot)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < RG_SLOTS; i++)
		if (raw->slots[i].object == end->object &&
		    raw->slots[i].taken) {
			*slot = raw->slots[i];
			count++;
		}
	return count;
}

/* Find the one slot of the event's context that has its object. */
static bool read_slot(struct dg_reading *r, const struct rg_event *end,
		      struct rg_slot *slot)
{
	uint32_t i = (uint32_t)(end->context & 0xffff), count = 0;
	uint64_t id = end->context;

	for (uint32_t n = 0; n < CHAIN_MAX; n++) {
		struct rg_context raw;

		if (i >= r->model->max.contexts ||
		    !weir_diag_read_context_(r, i, &raw) ||
		    (id && raw.id != id))
			return false;
		id = 0;
		count += find_slots(&raw, end, slot);
		if (!raw.more)
			return count == 1;
		i = raw.more - 1;
	}
	return false;
}

static uint64_t since(const struct diag *diag, const struct rg_slot *slot)
{
	return rg_since(diag->header.clock, slot->since[0], slot->since[1]);
}

static bool find_hold(struct diag *diag, const struct ring *ring, uint32_t at,
		      struct found *found)
{
	const struct rg_event *end = &ring->events[at];
	const struct dg_object *o = &diag->model.objects[found->object];
	struct dg_reading r = { &diag->source, &diag->header, &diag->model,
				false };
	struct rg_slot slot, again;
	uint64_t begin;

	if (end->kind != WEIR_DIAG_RELEASED || !end->context ||
	    o->type == RG_RATE ||
	    o->flags & (RG_HANDED_OVER | RG_MOVED | RG_DEFERRED |
			RG_UNBOUNDED | RG_PATTERN) ||
	    !read_slot(&r, end, &slot) || !read_slot(&r, end, &again) ||
	    since(diag, &slot) != since(diag, &again) || slot.site != again.site)
		return false;
	begin = since(diag, &slot);
	if (!begin || begin > end->ticks)
		return false;
	found->family = METRICS_HOLD_DURATION;
	found->site = slot.site;
	found->ns = weir_diag_to_ns_(&diag->header, end->ticks - begin);
	return true;
}

/*
 * An exporter of root reads the processes of all users.  It does so without being
 * asked, so it does not parse the debug information that other users provide.
 */
static bool is_own(const struct diag *diag)
{
	char path[32];
	struct stat info;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)diag->pid);
	return !stat(path, &info) && info.st_uid == geteuid();
}

/*
 * Returns false if the time since 1970 is not known, or cannot be true: a process
 * may have written anything into its registry.  A sum that has overflowed is the
 * greatest or the least value.
 */
static bool has_time(const struct diag *diag, const struct found *found)
{
	return found->age_ns >= 0 && diag->model.realtime_ns > found->age_ns &&
	       diag->model.realtime_ns < INT64_MAX;
}

static bool name_site(struct diag *diag, const struct found *found, bool own,
		      char *to, size_t size)
{
	int64_t begin_ns;
	bool is_named;

	if (!own || naming_left_ns <= 0)
		return modules_offset(&diag->modules, found->site, to, size);
	begin_ns = weir_now_ns();
	is_named = symbols_name(&diag->modules, found->site, to, size);
	naming_left_ns -= weir_now_ns() - begin_ns;
	return is_named;
}

static void add(struct metrics *m, struct diag *diag, uint32_t series,
		const struct found *found, bool own)
{
	struct metrics_exemplar exemplar = {
		.series = series, .family = found->family,
		.part = metrics_bucket(found->ns), .ns = found->ns,
		/* It does not change from one reading to the next. */
		.time_ms = (diag->model.realtime_ns - found->age_ns) / 1000000,
	};

	if (name_site(diag, found, own, exemplar.site, sizeof(exemplar.site)))
		metrics_add_exemplar(m, &exemplar);
}

/* The newest event first, so the first one of each bucket is added. */
static void add_all(struct metrics *m, struct diag *diag,
		    const struct ring *ring, const uint32_t *series)
{
	uint64_t *seen = memory_realloc(NULL, (diag->model.used.objects + 1) *
					sizeof(*seen));
	bool own = is_own(diag);

	memset(seen, 0, diag->model.used.objects * sizeof(*seen));
	for (uint32_t i = ring->count; i-- > 0;) {
		uint32_t at = ring->order[i];
		const struct rg_event *end = &ring->events[at];
		struct found found = { .object = weir_diag_find_object_(
			&diag->model, end->object) };
		uint32_t bucket;
		uint64_t bit;

		if (found.object == DG_NONE ||
		    (!find_wait(diag, ring, at, &found) &&
		     !find_hold(diag, ring, at, &found)) || !found.site)
			continue;
		bucket = metrics_bucket(found.ns);
		/* Shorter holds are counted as releases only. */
		if (found.family == METRICS_HOLD_DURATION &&
		    bucket <= METRICS_HOLD_FIRST)
			continue;
		found.age_ns = weir_diag_age_(&diag->header,
					      diag->source.now_ns, end->ticks);
		bit = UINT64_C(1) << (bucket +
				      (found.family == METRICS_HOLD_DURATION ?
				       32 : 0));
		if (!has_time(diag, &found) || seen[found.object] & bit)
			continue;
		seen[found.object] |= bit;
		add(m, diag, series[found.object], &found, own);
	}
	free(seen);
}

void recent_begin(void)
{
	naming_left_ns = NAMING_NS;
}

void recent_add(struct metrics *m, struct diag *diag, const uint32_t *series)
{
	struct ring *ring = memory_realloc(NULL, sizeof(*ring));

	memset(ring, 0, sizeof(*ring));
	if (read_ring(diag, ring)) {
		pair_waits(ring);
		add_all(m, diag, ring, series);
	}
	free(ring);
}
