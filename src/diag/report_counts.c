/* SPDX-License-Identifier: MIT */
/* The counts of an object in a report: its calls, and how long they took. */
#include "diag/phrase.h"

/* The process may have written any count: sums of the buckets do not overflow. */
#define COUNT_MAX (INT64_MAX / (int64_t)RG_BUCKETS)
/* The registry counts holds in this bucket, and below, as releases only. */
#define SHORT_HOLDS 2u
/* The first bucket of holds if they are timed with a coarse clock: below 10 ms. */
#define COARSE_HOLDS 8u

static int64_t limit(uint64_t count)
{
	return count > (uint64_t)COUNT_MAX ? COUNT_MAX : (int64_t)count;
}

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

/* Returns the upper bound of a bucket: 1, 3, 10 us ... 100 s. */
static int64_t bound_ns(uint32_t bucket)
{
	int64_t ns = 1000;

	for (uint32_t i = 0; i < bucket / 2; i++)
		ns *= 10;
	return bucket % 2 ? 3 * ns : ns;
}

/* Returns the first bucket up to which there are `part` durations. */
static uint32_t find_bucket(const int64_t *buckets, int64_t part)
{
	uint32_t i = 0;

	for (int64_t sum = buckets[0]; sum < part && i < RG_BUCKETS - 1;)
		sum += buckets[++i];
	return i;
}

/* "99 % below 100 ms"; the last bucket has no upper bound: "some above 1m40s" */
static void put_bound(struct dg_text *text, const char *part, uint32_t bucket)
{
	bool last = bucket == RG_BUCKETS - 1;

	put(text, part);
	put(text, last ? " above " : " below ");
	weir_diag_put_limit_(text, bound_ns(last ? bucket - 1 : bucket));
}

static uint32_t at_least(uint32_t least, uint32_t bucket)
{
	return bucket < least ? least : bucket;
}

/*
 * "  waits half below 3 ms, 99 % below 100 ms, 7.2 ms on average"; no bound is lower
 * than that of the bucket `least`.
 */
static void put_durations(struct dg_text *text, const char *name,
			  const int64_t *buckets, uint64_t sum_ns,
			  uint32_t least)
{
	uint32_t half, most;
	int64_t total = 0;

	for (uint32_t i = 0; i < RG_BUCKETS; i++)
		total += buckets[i];
	if (!total)
		return;
	half = at_least(least, find_bucket(buckets, total - total / 2));
	most = at_least(least, find_bucket(buckets, total - total / 100));
	put(text, name);
	if (half < most) {
		put_bound(text, "half", half);
		put(text, ", ");
	}
	put_bound(text, most == RG_BUCKETS - 1 ? "some" :
			half < most || total >= 100 ? "99 %" : "all", most);
	put(text, ", ");
	weir_diag_put_time_(text, (int64_t)(sum_ns / (uint64_t)total &
					    INT64_MAX));
	put(text, " on average\n");
}

/* "  calls 1204 without a wait, 37 after a wait, 3 timed out" */
static void put_outcomes(struct dg_text *text, const struct dg_object *object)
{
	static const char *const outcomes[RG_OUTCOMES] = {
		[RG_IMMEDIATE] = "without a wait", [RG_QUEUED] = "after a wait",
		[RG_TIMEOUT] = "timed out", [RG_CANCELLED] = "cancelled",
		[RG_CLOSED] = "refused", [RG_WOULD_BLOCK] = "would block"
	};
	bool first = true;

	for (int i = 0; i < RG_OUTCOMES; i++) {
		if (!object->acquires[i])
			continue;
		put(text, first ? "  calls " : ", ");
		weir_diag_put_int_(text, limit(object->acquires[i]));
		put(text, " ");
		put(text, outcomes[i]);
		first = false;
	}
	put(text, first ? "" : "\n");
}

void weir_diag_put_history_(struct dg_text *text, const struct dg_model *model,
			    const struct dg_object *object)
{
	int64_t waits[RG_BUCKETS], holds[RG_BUCKETS], shorter;
	uint64_t others = object->releases;

	/* These are counts of the semaphore inside, which few calls take. */
	if (object->type == RG_RATE)
		return;
	for (int i = RG_IMMEDIATE + 1; i < RG_OUTCOMES; i++)
		others |= object->acquires[i];
	/* The holders say the same. */
	if (!others)
		return;
	put_outcomes(text, object);
	shorter = limit(dg_measured(object));
	for (uint32_t i = 0; i < RG_BUCKETS; i++) {
		waits[i] = limit(object->waits[i]);
		holds[i] = i <= SHORT_HOLDS ? 0 : limit(object->holds[i]);
		shorter -= holds[i] < shorter ? holds[i] : shorter;
	}
	holds[SHORT_HOLDS] = shorter;
	put_durations(text, "  waits ", waits, object->wait_ns, 0);
	if (!(object->flags & RG_UNBOUNDED) && object->type != RG_CHAN)
		put_durations(text, "  holds ", holds, object->hold_ns,
			      model->coarse ? COARSE_HOLDS : SHORT_HOLDS);
}
