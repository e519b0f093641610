/* SPDX-License-Identifier: MIT */
/*
 * From the model of a process to samples.
 *
 * The counts come from the memory of another process and may be false.  They
 * are limited to the range of a sample; sums saturate.
 */
#include "cmd/export/model.h"

_Static_assert((int)RG_OUTCOMES == (int)METRICS_OUTCOMES &&
	       (int)RG_IMMEDIATE == (int)METRICS_IMMEDIATE &&
	       (int)RG_QUEUED == (int)METRICS_QUEUED &&
	       (int)RG_TIMEOUT == (int)METRICS_TIMEOUT &&
	       (int)RG_CANCELLED == (int)METRICS_CANCELLED &&
	       (int)RG_CLOSED == (int)METRICS_CLOSED &&
	       (int)RG_WOULD_BLOCK == (int)METRICS_WOULD_BLOCK, "outcomes");
_Static_assert((int)RG_MISUSES == (int)METRICS_MISUSES &&
	       (int)RG_OVER_RELEASE == (int)METRICS_OVER_RELEASE &&
	       (int)RG_BUSY_DESTROY == (int)METRICS_BUSY_DESTROY, "misuses");
_Static_assert(RG_BUCKETS == METRICS_BUCKETS, "buckets");

const char *model_name(const struct dg_object *object)
{
	return *object->name ? object->name : "(unnamed)";
}

enum metrics_policy model_policy(const struct dg_object *object)
{
	return object->flags & RG_BARGING ? METRICS_BARGING : METRICS_FIFO;
}

static int64_t limit(uint64_t count)
{
	return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static bool is_deadlock(enum dg_verdict verdict)
{
	return verdict == DG_DEADLOCK || verdict == DG_SELF_NESTED;
}

/*
 * Returns false for a wait for idle, which wants no permits, and for a grant.
 */
static bool is_request(const struct dg_wait *wait)
{
	return !(wait->flags & (RG_GRANTED | RG_IDLE));
}

/*
 * A wait for idle counts, although it is no request: the tasks of two groups may
 * wait for the end of each other's.
 */
int64_t model_deadlocked(const struct dg_model *model,
			 const struct dg_object *object)
{
	int64_t count = 0;

	for (uint32_t i = object->first_wait; i != DG_NONE;
	     i = model->waits[i].next_of_object) {
		const struct dg_wait *wait = &model->waits[i];

		count += !(wait->flags & RG_GRANTED) &&
			 is_deadlock(model->contexts[wait->context].verdict);
	}
	return count;
}

static void add_waits(struct metrics *m, const struct dg_model *model,
		      const struct dg_object *object, uint32_t series)
{
	int64_t waiters = 0, permits = 0, oldest = 0;

	for (uint32_t i = object->first_wait; i != DG_NONE;
	     i = model->waits[i].next_of_object) {
		const struct dg_wait *wait = &model->waits[i];

		if (!is_request(wait))
			continue;
		waiters++;
		permits = weir_diag_add_(permits, wait->min);
		if (wait->age_ns > oldest)
			oldest = wait->age_ns;
	}
	metrics_add(m, METRICS_WAITERS, series, 0, waiters);
	metrics_add(m, METRICS_WAITING_PERMITS, series, 0, permits);
	metrics_add(m, METRICS_OLDEST_WAITER, series, 0, oldest);
	metrics_add(m, METRICS_DEADLOCKED, series, 0,
		    model_deadlocked(model, object));
}

static void add_holds(struct metrics *m, const struct dg_model *model,
		      const struct dg_object *object, uint32_t series)
{
	int64_t oldest = 0, newest = INT64_MAX;

	for (uint32_t i = object->first_hold; i != DG_NONE;
	     i = model->holds[i].next_of_object) {
		int64_t age = model->holds[i].age_ns;

		/* DG_UNKNOWN is negative. */
		if (age < 0 || model->holds[i].weight <= 0)
			continue;
		oldest = age > oldest ? age : oldest;
		newest = age < newest ? age : newest;
	}
	metrics_add(m, METRICS_OLDEST_HOLDER, series, 0, oldest);
	if (newest != INT64_MAX)
		metrics_add(m, METRICS_NEWEST_HOLDER, series, 0, newest);
	metrics_add(m, METRICS_LEAKED, series, 0, object->leaked);
}

uint32_t model_add_state(struct metrics *m, const struct dg_model *model,
			 const struct dg_object *object)
{
	uint32_t series = metrics_series(m, model_name(object),
					 model_policy(object),
					 METRICS_PROCESS);

	add_waits(m, model, object, series);
	/* An unbounded semaphore has no capacity and no holders. */
	if (object->flags & RG_UNBOUNDED)
		return series;
	metrics_add(m, METRICS_PERMITS, series, 0, object->capacity);
	metrics_add(m, METRICS_AVAILABLE, series, 0,
		    object->free > 0 ? object->free : 0);
	add_holds(m, model, object, series);
	return series;
}

static void add_histogram(struct metrics *m, enum metrics_family family,
			  uint32_t series, const uint64_t *buckets,
			  uint64_t total_ns)
{
	for (uint32_t i = 0; i < METRICS_BUCKETS; i++)
		metrics_add(m, family, series, i, limit(buckets[i]));
	metrics_add(m, family, series, METRICS_TOTAL, limit(total_ns));
}

/*
 * Add the histogram of hold times.  The registry counts holds below the first
 * bound of the family in `releases` only.  Holds whose time is not known are not
 * in the histogram.
 */
static void add_hold_times(struct metrics *m, uint32_t series,
			   const struct dg_object *object)
{
	uint64_t buckets[METRICS_BUCKETS] = { 0 };
	uint64_t shorter = dg_measured(object);

	for (uint32_t i = METRICS_HOLD_FIRST + 1; i < METRICS_BUCKETS; i++) {
		buckets[i] = object->holds[i];
		shorter -= buckets[i] < shorter ? buckets[i] : shorter;
	}
	buckets[METRICS_HOLD_FIRST] = shorter;
	add_histogram(m, METRICS_HOLD_DURATION, series, buckets,
		      object->hold_ns);
}

void model_add_counts(struct metrics *m, uint32_t series,
		      const struct dg_object *object)
{
	/*
	 * The calls of a rate limit are not counted.  A call that waits acquires the
	 * semaphore inside, whose counts say nothing about tokens.
	 */
	if (object->type == RG_RATE)
		return;
	for (uint32_t i = 0; i < METRICS_OUTCOMES; i++)
		metrics_add(m, METRICS_ACQUIRES, series, i,
			    limit(object->acquires[i]));
	metrics_add(m, METRICS_RELEASES, series, 0, limit(object->releases));
	for (uint32_t i = 0; i < METRICS_MISUSES; i++)
		metrics_add(m, METRICS_MISUSE, series, i,
			    limit(object->misuses[i]));
	add_histogram(m, METRICS_WAIT_DURATION, series, object->waits,
		      object->wait_ns);
	if (!(object->flags & RG_UNBOUNDED) && object->type != RG_CHAN)
		add_hold_times(m, series, object);
}
