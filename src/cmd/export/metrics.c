/* SPDX-License-Identifier: MIT */
/* The table of families, and the samples of an answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/export/metrics.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/text.h"

static const char *const outcomes[METRICS_OUTCOMES] = {
	[METRICS_IMMEDIATE] = "immediate",
	[METRICS_QUEUED] = "queued",
	[METRICS_TIMEOUT] = "timeout",
	[METRICS_CANCELLED] = "cancelled",
	[METRICS_CLOSED] = "closed",
	[METRICS_WOULD_BLOCK] = "would_block",
};

static const char *const misuses[METRICS_MISUSES] = {
	[METRICS_OVER_RELEASE] = "over_release",
	[METRICS_BUSY_DESTROY] = "busy_destroy",
};

static const char *const reasons[] = { "death" };

const char *const metrics_bounds[METRICS_BOUNDS] = {
	"1e-06", "3e-06", "1e-05", "3e-05", "0.0001", "0.0003", "0.001",
	"0.003", "0.01", "0.03", "0.1", "0.3", "1.0", "3.0", "10.0", "30.0",
	"100.0",
};

/* The same in nanoseconds. */
static const int64_t bounds_ns[METRICS_BOUNDS] = {
	1000, 3000, 10000, 30000, 100000, 300000, 1000000, 3000000, 10000000,
	30000000, 100000000, 300000000, 1000000000, 3000000000, 10000000000,
	30000000000, 100000000000,
};

const struct metrics_description metrics_families[METRICS_FAMILIES] = {
	[METRICS_PERMITS] = {
		.name = "weir_semaphore_permits",
		.help = "Permits that may be held at once: the capacity.",
		.type = METRICS_GAUGE,
	},
	[METRICS_AVAILABLE] = {
		.name = "weir_semaphore_permits_available",
		.help = "Free permits.",
		.type = METRICS_GAUGE,
	},
	[METRICS_WAITERS] = {
		.name = "weir_semaphore_waiters",
		.help = "Requests that wait.",
		.type = METRICS_GAUGE,
	},
	[METRICS_WAITING_PERMITS] = {
		.name = "weir_semaphore_waiting_permits",
		.help = "Permits that the waiting requests want together.",
		.type = METRICS_GAUGE,
	},
	[METRICS_OLDEST_WAITER] = {
		.name = "weir_semaphore_oldest_waiter_seconds",
		.help = "Age of the oldest waiting request; 0 if none waits.",
		.type = METRICS_GAUGE,
		.rule = METRICS_LARGEST,
		.is_time = true,
	},
	[METRICS_OLDEST_HOLDER] = {
		.name = "weir_semaphore_oldest_holder_seconds",
		.help = "Age of the oldest hold; 0 if no permit is held.",
		.type = METRICS_GAUGE,
		.rule = METRICS_LARGEST,
		.is_time = true,
	},
	[METRICS_NEWEST_HOLDER] = {
		.name = "weir_semaphore_newest_holder_seconds",
		.help = "Age of the newest hold; absent if no permit is held.",
		.type = METRICS_GAUGE,
		.rule = METRICS_SMALLEST,
		.is_time = true,
	},
	[METRICS_LEAKED] = {
		.name = "weir_semaphore_leaked_permits",
		.help = "Permits whose holder has ended without a release.",
		.type = METRICS_GAUGE,
	},
	[METRICS_DEADLOCKED] = {
		.name = "weir_semaphore_deadlocked_waiters",
		.help = "Waits that can never end: deadlock.",
		.type = METRICS_GAUGE,
	},
	[METRICS_ACQUIRES] = {
		.name = "weir_semaphore_acquires",
		.help = "Acquires that have returned, by outcome.",
		.type = METRICS_COUNTER,
		.label = "outcome",
		.values = outcomes,
	},
	[METRICS_RELEASES] = {
		.name = "weir_semaphore_releases",
		.help = "Releases.",
		.type = METRICS_COUNTER,
	},
	[METRICS_MISUSE] = {
		.name = "weir_semaphore_misuse",
		.help = "Calls that were refused as a misuse, by kind.",
		.type = METRICS_COUNTER,
		.label = "kind",
		.values = misuses,
	},
	[METRICS_RECLAIMED] = {
		.name = "weir_semaphore_reclaimed_permits",
		.help = "Permits that came back without a release, by reason.",
		.type = METRICS_COUNTER,
		.label = "reason",
		.values = reasons,
	},
	[METRICS_WAIT_DURATION] = {
		.name = "weir_semaphore_wait_duration_seconds",
		.help = "Time that queued acquires waited, for any outcome.",
		.type = METRICS_HISTOGRAM,
		.is_time = true,
	},
	[METRICS_HOLD_DURATION] = {
		.name = "weir_semaphore_hold_duration_seconds",
		.help = "Time between an acquire and its release.",
		.type = METRICS_HISTOGRAM,
		.first = METRICS_HOLD_FIRST,
		.is_time = true,
	},
};

struct metrics *metrics_new(void)
{
	struct metrics *m = memory_realloc(NULL, sizeof(*m));

	memset(m, 0, sizeof(*m));
	return m;
}

void metrics_free(struct metrics *m)
{
	for (uint32_t i = 0; i < m->series_count; i++)
		free(m->series[i].semaphore);
	free(m->series);
	for (int i = 0; i < METRICS_FAMILIES; i++)
		free(m->families[i].list);
	free(m->exemplars);
	free(m->servers);
	free(m);
}

/* Returns the next size of an array that is full. */
static uint32_t larger(uint32_t room)
{
	return room ? room * 2 : 64;
}

char *metrics_clean(const char *text)
{
	char *copy = memory_realloc(NULL, 3 * strlen(text) + 1), *to = copy;

	while (*text) {
		size_t size = text_control(text);

		if (size) {
			*to++ = '?';
		} else if ((size = text_utf8(text)) != 0) {
			memcpy(to, text, size);
			to += size;
		} else {
			/* U+FFFD, the replacement character. */
			memcpy(to, "\xef\xbf\xbd", 3);
			to += 3;
			size = 1;
		}
		text += size;
	}
	*to = 0;
	return copy;
}

uint32_t metrics_series(struct metrics *m, const char *semaphore,
			enum metrics_policy policy, enum metrics_scope scope)
{
	if (m->series_count == m->series_room) {
		m->series_room = larger(m->series_room);
		m->series = memory_realloc(m->series, m->series_room *
					   sizeof(*m->series));
	}
	m->series[m->series_count] = (struct metrics_labels){
		metrics_clean(semaphore), policy, scope, NULL
	};
	return m->series_count++;
}

uint32_t metrics_series_of(struct metrics *m, const char *server,
			   const char *semaphore)
{
	uint32_t series = metrics_series(m, semaphore, METRICS_FIFO,
					 METRICS_CLUSTER);

	m->series[series].server = server;
	return series;
}

void metrics_add_server(struct metrics *m, const char *label, bool is_up)
{
	for (uint32_t i = 0; i < m->servers_count; i++)
		if (!strcmp(m->servers[i].label, label)) {
			m->servers[i].is_up &= is_up;
			return;
		}
	m->servers = memory_realloc(m->servers, (m->servers_count + 1) *
				    sizeof(*m->servers));
	m->servers[m->servers_count++] = (struct metrics_server){ label, is_up };
}

void metrics_add(struct metrics *m, enum metrics_family family,
		 uint32_t series, uint32_t part, int64_t value)
{
	struct metrics_samples *samples = &m->families[family];

	if (samples->count == samples->room) {
		samples->room = larger(samples->room);
		samples->list = memory_realloc(samples->list, samples->room *
					       sizeof(*samples->list));
	}
	samples->list[samples->count++] = (struct metrics_sample){
		series, part, value
	};
}

uint32_t metrics_bucket(int64_t ns)
{
	uint32_t i = 0;

	while (i < METRICS_BOUNDS && ns >= bounds_ns[i])
		i++;
	return i;
}

void metrics_add_exemplar(struct metrics *m,
			  const struct metrics_exemplar *exemplar)
{
	char *site = metrics_clean(exemplar->site);
	struct metrics_exemplar *to;

	if (m->exemplars_count == m->exemplars_room) {
		m->exemplars_room = larger(m->exemplars_room);
		m->exemplars = memory_realloc(m->exemplars, m->exemplars_room *
					      sizeof(*m->exemplars));
	}
	to = &m->exemplars[m->exemplars_count++];
	*to = *exemplar;
	/* A cut inside a character makes the text longer; leave its end out. */
	(void)snprintf(to->site, sizeof(to->site), "%s", site);
	for (size_t i = 0, size; to->site[i]; i += size) {
		size = text_utf8(&to->site[i]);
		if (!size) {
			to->site[i] = 0;
			break;
		}
	}
	free(site);
}

int metrics_compare(const struct metrics_labels *a,
		    const struct metrics_labels *b)
{
	int order;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->policy != b->policy)
		return a->policy < b->policy ? -1 : 1;
	order = strcmp(a->server ? a->server : "", b->server ? b->server : "");
	return order ? order : strcmp(a->semaphore, b->semaphore);
}

static int compare(const void *a, const void *b, void *series)
{
	const struct metrics_sample *one = a, *other = b;
	const struct metrics_labels *labels = series;
	int order = metrics_compare(&labels[one->series],
				    &labels[other->series]);

	if (order)
		return order;
	return (one->part > other->part) - (one->part < other->part);
}

/*
 * Combine two values.  A sum saturates: the counts of a process may be false.
 */
static int64_t combine(enum metrics_rule rule, int64_t a, int64_t b)
{
	int64_t sum;

	switch (rule) {
	case METRICS_LARGEST:
		return a > b ? a : b;
	case METRICS_SMALLEST:
		return a < b ? a : b;
	default:
		if (__builtin_add_overflow(a, b, &sum))
			return a < 0 ? INT64_MIN : INT64_MAX;
		return sum;
	}
}

static void merge(struct metrics_samples *samples,
		  struct metrics_labels *series, enum metrics_rule rule)
{
	struct metrics_sample *list = samples->list;
	uint32_t kept = 0;

	if (!samples->count)
		return;
	qsort_r(list, samples->count, sizeof(*list), compare, series);
	for (uint32_t i = 1; i < samples->count; i++) {
		if (!compare(&list[kept], &list[i], series))
			list[kept].value = combine(rule, list[kept].value,
						   list[i].value);
		else
			list[++kept] = list[i];
	}
	samples->count = kept + 1;
}

/* By family, labels and bucket; the newest first. */
static int compare_exemplars(const void *a, const void *b, void *series)
{
	const struct metrics_exemplar *one = a, *other = b;
	const struct metrics_labels *labels = series;
	int order;

	if (one->family != other->family)
		return one->family < other->family ? -1 : 1;
	order = metrics_compare(&labels[one->series], &labels[other->series]);
	if (order)
		return order;
	if (one->part != other->part)
		return one->part < other->part ? -1 : 1;
	return (one->time_ms < other->time_ms) -
	       (one->time_ms > other->time_ms);
}

const struct metrics_exemplar *
metrics_find_exemplar(const struct metrics *m, enum metrics_family family,
		      uint32_t series, uint32_t part)
{
	const struct metrics_exemplar key = {
		.family = family, .series = series, .part = part,
		.time_ms = INT64_MAX
	};
	uint32_t low = 0, high = m->exemplars_count;
	const struct metrics_exemplar *found;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_exemplars(&m->exemplars[middle], &key,
				      m->series) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == m->exemplars_count)
		return NULL;
	found = &m->exemplars[low];
	return found->family == family && found->part == part &&
	       !metrics_compare(&m->series[found->series], &m->series[series]) ?
		       found : NULL;
}

void metrics_merge(struct metrics *m)
{
	if (m->exemplars_count)
		qsort_r(m->exemplars, m->exemplars_count,
			sizeof(*m->exemplars), compare_exemplars, m->series);
	for (int i = 0; i < METRICS_FAMILIES; i++)
		merge(&m->families[i], m->series, metrics_families[i].rule);
}

const char *metrics_policy_text(enum metrics_policy policy)
{
	return policy == METRICS_BARGING ? "barging" : "fifo";
}

const char *metrics_scope_text(enum metrics_scope scope)
{
	static const char *const texts[METRICS_SCOPES] = {
		[METRICS_PROCESS] = "process",
		[METRICS_HOST] = "host",
		[METRICS_CLUSTER] = "cluster",
	};

	return texts[scope];
}
