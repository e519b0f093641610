/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_METRICS_H
#define WEIR_CMD_EXPORT_METRICS_H

/*
 * The model of an answer: samples, grouped by family.  Sources add samples;
 * format.c writes them.
 *
 *     uint32_t series = metrics_series(m, "builds", METRICS_FIFO,
 *                                      METRICS_HOST);
 *     metrics_add(m, METRICS_PERMITS, series, 0, 3);
 *     ...
 *     metrics_merge(m);
 *
 * A source adds only values that it knows.  A family without samples is not
 * written.
 *
 * An exemplar is an observation of a histogram: it says which call was in a bucket
 * lately.  Only OpenMetrics has exemplars.
 */
#include <stdbool.h>
#include <stdint.h>

enum metrics_family {
	METRICS_PERMITS,
	METRICS_AVAILABLE,
	METRICS_WAITERS,
	METRICS_WAITING_PERMITS,
	METRICS_OLDEST_WAITER,
	METRICS_OLDEST_HOLDER,
	METRICS_NEWEST_HOLDER,
	METRICS_LEAKED,
	METRICS_DEADLOCKED,
	METRICS_ACQUIRES,
	METRICS_RELEASES,
	METRICS_MISUSE,
	METRICS_RECLAIMED,
	METRICS_WAIT_DURATION,
	METRICS_HOLD_DURATION,
	METRICS_FAMILIES
};

enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_HISTOGRAM };
enum metrics_policy { METRICS_FIFO, METRICS_BARGING };
enum metrics_scope {
	METRICS_PROCESS, METRICS_HOST, METRICS_CLUSTER,
	METRICS_SCOPES
};

/*
 * How samples with the same labels are combined into one: several processes may
 * have a semaphore of one name, and a pid is not a label.
 */
enum metrics_rule { METRICS_SUM, METRICS_LARGEST, METRICS_SMALLEST };

/*
 * The part of a sample in its family: the outcome in METRICS_ACQUIRES; the kind
 * in METRICS_MISUSE; the reason in METRICS_RECLAIMED, which has one; the bucket
 * in a histogram, or METRICS_TOTAL for the sum of the observed values; otherwise
 * 0.
 */
enum {
	METRICS_IMMEDIATE, METRICS_QUEUED, METRICS_TIMEOUT, METRICS_CANCELLED,
	METRICS_CLOSED, METRICS_WOULD_BLOCK,
	METRICS_OUTCOMES
};
enum { METRICS_OVER_RELEASE, METRICS_BUSY_DESTROY, METRICS_MISUSES };
#define METRICS_BOUNDS 17	/* of a histogram: 1 us, 3 us, ... 100 s */
#define METRICS_BUCKETS (METRICS_BOUNDS + 1)
#define METRICS_TOTAL METRICS_BUCKETS
#define METRICS_HOLD_FIRST 2	/* the first bucket of METRICS_HOLD_DURATION */

struct metrics_description {
	const char *name;		/* without "_total" */
	const char *help;
	enum metrics_type type;
	enum metrics_rule rule;
	uint32_t first;			/* the first bucket that is written */
	bool is_time;			/* values in nanoseconds */
	const char *label;		/* of the part; null: none */
	const char *const *values;	/* of that label */
};

extern const struct metrics_description metrics_families[METRICS_FAMILIES];
/* The bounds of the buckets, as values of the label "le". */
extern const char *const metrics_bounds[METRICS_BOUNDS];

struct metrics_sample {
	uint32_t series;
	uint32_t part;
	int64_t value;
};

struct metrics_samples {
	struct metrics_sample *list;
	uint32_t count, room;
};

/* The labels of all samples of one semaphore. */
struct metrics_labels {
	char *semaphore;
	enum metrics_policy policy;
	enum metrics_scope scope;
	const char *server;	/* METRICS_CLUSTER; otherwise null */
};

/* A server of METRICS_CLUSTER; the text of the label lives until the exit. */
struct metrics_server {
	const char *label;
	bool is_up;
};

/*
 * The longest call site of an exemplar, with the terminating 0.  The names and
 * values of the labels of an exemplar have 128 characters at most.
 */
#define METRICS_SITE 121
_Static_assert(sizeof("site") - 1 + METRICS_SITE - 1 <= 128, "OpenMetrics");

struct metrics_exemplar {
	enum metrics_family family;
	uint32_t series, part;
	int64_t ns;			/* the value */
	int64_t time_ms;		/* when it was observed, since 1970; >= 0 */
	char site[METRICS_SITE];	/* of the call that waited or acquired */
};

struct metrics {
	struct metrics_labels *series;
	uint32_t series_count, series_room;
	struct metrics_samples families[METRICS_FAMILIES];
	/* Semaphores, or processes, that exist and cannot be read. */
	int64_t unreadable[METRICS_SCOPES];
	bool is_read[METRICS_SCOPES];	/* by scope: a source was read */
	struct metrics_server *servers;
	uint32_t servers_count;
	bool wants_exemplars;
	struct metrics_exemplar *exemplars;
	uint32_t exemplars_count, exemplars_room;
};

/* Returns an empty model; metrics_free frees it. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/*
 * Returns a copy of a text in valid UTF-8, without control characters.  Two
 * texts may become equal.
 */
char *metrics_clean(const char *text);
/*
 * Returns the number of a new series.  The name may be any text; samples of two
 * names that become equal when they are cleaned are combined.
 */
uint32_t metrics_series(struct metrics *m, const char *semaphore,
			enum metrics_policy policy, enum metrics_scope scope);
/*
 * The same for a semaphore of a server, which is in the scope METRICS_CLUSTER.
 * The server is a clean text.
 */
uint32_t metrics_series_of(struct metrics *m, const char *server,
			   const char *semaphore);
/*
 * Add a server: whether it was read completely.  If it is added again, because
 * several URLs have this label, all must have been read.
 */
void metrics_add_server(struct metrics *m, const char *label, bool is_up);
void metrics_add(struct metrics *m, enum metrics_family family,
		 uint32_t series, uint32_t part, int64_t value);
/* Returns the bucket of a time. */
uint32_t metrics_bucket(int64_t ns);
/* Add an exemplar.  Its site may be any text, and may have been cut. */
void metrics_add_exemplar(struct metrics *m,
			  const struct metrics_exemplar *exemplar);
/*
 * Returns the newest exemplar of a bucket; null: none.  Requires: metrics_merge
 * was called.
 */
const struct metrics_exemplar *
metrics_find_exemplar(const struct metrics *m, enum metrics_family family,
		      uint32_t series, uint32_t part);
/*
 * Sort the samples of each family by labels and part, and combine those with
 * the same labels and part by the rule of the family.
 */
void metrics_merge(struct metrics *m);
/* Orders labels, as strcmp orders texts. */
int metrics_compare(const struct metrics_labels *a,
		    const struct metrics_labels *b);
const char *metrics_policy_text(enum metrics_policy policy);
const char *metrics_scope_text(enum metrics_scope scope);

#endif /* WEIR_CMD_EXPORT_METRICS_H */
