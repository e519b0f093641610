/* SPDX-License-Identifier: MIT */
/*
 * Threads make seeded random calls on one semaphore and record the calls and
 * their results; afterwards some order of single steps must explain all of
 * them.
 *
 * Checks: C24, all operations take part in one total order; in that order, the
 * clauses that linear.c and interval.c name, among them C4 (FIFO), C5, C6, C13
 * and C19; in the end C16, all permits are free; C26, no wait uses the heap.
 *
 * Runs for about ten seconds; with WEIR_FULL=1 for about three minutes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../regress/waiter.h"
#include "check.h"
#include "interval.h"
#include "linear.h"
#include "record.h"

#define STEPS_MAX_PER_HISTORY 300000
/* For each of the four tests. */
#define SHORT_NS (UNDER_TSAN ? INT64_C(1000000000) : INT64_C(2500000000))
#define FULL_NS INT64_C(42000000000)
#define WARM_UP 12		/* runs */

/*
 * Memory may grow by this many pages after the warm-up: each of the 64 threads
 * may touch a page or two more of its stack when a rare path goes deeper than
 * before.  A leak of 16 bytes in each wait would exceed this within the short
 * form.  A machine on which the time ends before the warm-up does not check this.
 */
#define PAGES_MORE 256

enum { KINDS = 16 };

static struct {
	int64_t few, many, undecided;
	int64_t calls, steps, allocations;
	int64_t results[KINDS], waits[KINDS];	/* by -err */
	int64_t handed_over;	/* STATs with granted permits */
	long growth;
} sum;

static linear *memory;

static bool is_full(void)
{
	const char *full = getenv("WEIR_FULL");

	return full && atoi(full) > 0;
}

static void count(const history *h, const struct shape *shape,
		  const verdict *v)
{
	*(shape->workers == WORKERS_MAX ? &sum.many : &sum.few) += 1;
	sum.calls += h->count;
	sum.steps += (int64_t)v->steps;
	sum.undecided += v->judgement == UNDECIDED;
	for (int i = 0; i < h->count; i++) {
		const op *o = &h->ops[i];

		sum.results[-o->err]++;
		if (o->queued)
			sum.waits[-o->err]++;
		sum.handed_over += o->kind == OP_STAT && o->granted;
	}
}

static const char *policy_name(const struct shape *shape)
{
	if (shape->policy == WEIR_FIFO)
		return "FIFO";
	return shape->overdue ? "BARGING, short bound" : "BARGING";
}

static void judge(const history *h, const struct shape *shape, int number)
{
	verdict v;

	interval_check(h, &v);
	if (v.judgement == GOOD)
		linear_check(memory, h, STEPS_MAX_PER_HISTORY, &v);
	count(h, shape, &v);
	if (v.judgement == BAD)
		check_fail(__FILE__, __LINE__, "run %d, %s, %d threads, %d "
			   "permits at the start:\n%s", number,
			   policy_name(shape), shape->workers, shape->permits,
			   v.why);
}

static struct shape draw_shape(weir_policy policy, bool many, uint64_t *random)
{
	static const int few[] = { 2, 3, 4, 5, 6, 8 };
	struct shape s = { .policy = policy };

	s.seed = next_random(random);
	s.workers = many ? WORKERS_MAX : few[random_below(random, 6)];
	s.calls = many ? 50 : 150;
	s.permits = 1 + (int)random_below(random, 16);
	/* With one permit contention is highest. */
	if (!random_below(random, 4))
		s.permits = 1;
	s.heaviest = 1 + (int)random_below(random, 4);
	if (s.heaviest > s.permits)
		s.heaviest = s.permits;
	s.resizes = random_below(random, 2);
	s.contexts = random_below(random, 4);
	s.closes = !random_below(random, 3);
	s.how = random_below(random, 2) ? WEIR_CLOSE_NOW : WEIR_CLOSE_DRAIN;
	s.overdue = random_below(random, 2);
	s.barge_us = s.overdue ? 1 + (uint32_t)random_below(random, 100) :
				 WEIR_BARGE_US_MAX;
	return s;
}

static void histories(weir_policy policy, bool many, uint64_t number)
{
	int64_t until = weir_now_ns() + (is_full() ? FULL_NS : SHORT_NS);
	uint64_t random = seed_of(number);
	long before = -1, growth = 0;

	if (is_full())
		alarm(1200);
	memory = linear_new();
	CHECK(memory != NULL);
	record_start();
	for (int i = 0; !i || weir_now_ns() < until; i++) {
		struct shape shape = draw_shape(policy, many, &random);
		int64_t allocated = record_allocations();
		history h = record_run(&shape);

		sum.allocations += record_allocations() - allocated;
		judge(&h, &shape, i);
		if (i == WARM_UP - 1)
			before = check_resident_pages();
	}
	if (before >= 0)
		growth = check_resident_pages() - before;
	if (MEMORY_IS_OURS)
		CHECK(growth <= PAGES_MORE);
	if (growth > sum.growth)
		sum.growth = growth;
	record_stop();
	linear_free(memory);
}

TEST(c4_few_threads)
{
	histories(WEIR_FIFO, false, 1);
}

TEST(c4_sixty_four_threads)
{
	histories(WEIR_FIFO, true, 2);
}

TEST(c30_few_threads)
{
	histories(WEIR_BARGING, false, 3);
}

TEST(c30_sixty_four_threads)
{
	histories(WEIR_BARGING, true, 4);
}

static void print_waits(void)
{
	static const weir_err ends[] = { WEIR_OK, WEIR_ETIMEDOUT,
					 WEIR_ECANCELED, WEIR_ECLOSED,
					 WEIR_ETOOBIG };

	printf("evidence: history: acquires that waited, by result |");
	for (int i = 0; i < 5; i++)
		printf("%s %s %" PRId64, i ? "," : "", weir_err_name(ends[i]),
		       sum.waits[-ends[i]]);
	printf("\n");
}

static bool every_result_occurred(void)
{
	return sum.results[-WEIR_EAGAIN] && sum.results[-WEIR_ECLOSED] &&
	       sum.waits[-WEIR_OK] && sum.waits[-WEIR_ETIMEDOUT] &&
	       sum.waits[-WEIR_ECANCELED] && sum.waits[-WEIR_ECLOSED] &&
	       sum.waits[-WEIR_ETOOBIG];
}

/*
 * The runs must be diverse.  A slow machine has made few of them: make more until
 * every result has occurred, up to MORE times.
 */
#define MORE 8

TEST(c16_every_result_occurred)
{
	int64_t runs;

	if (!sum.few && !sum.many)
		return;
	for (uint64_t i = 0; i < MORE && !every_result_occurred(); i++)
		histories(WEIR_FIFO, false, 5 + i);
	runs = sum.few + sum.many;
	printf("evidence: history: histories explained by one order of steps | "
	       "%" PRId64 " of %" PRId64 ", the rest undecided\n",
	       runs - sum.undecided, runs);
	printf("evidence: history: of these by %d threads; by 2 to 8 | %" PRId64
	       "; %" PRId64 "\n", WORKERS_MAX, sum.many, sum.few);
	printf("evidence: history: operations in them | %" PRId64 "\n",
	       sum.calls);
	printf("evidence: history: steps tried by the search | %" PRId64 "\n",
	       sum.steps);
	print_waits();
	printf("evidence: history: stats that saw a pending grant | %" PRId64
	       "\n", sum.handed_over);
	printf("evidence: history: growth of memory; allocations | "
	       "%ld pages; %" PRId64 "\n", sum.growth, sum.allocations);
	printf("evidence: history: seed | WEIR_SEED=%" PRIu64 "\n",
	       check_seed());
	/*
	 * If many are undecided, the checker has become ineffective.  Two are not
	 * many, also if there were few runs.
	 */
	CHECK(sum.undecided < runs);
	CHECK(sum.undecided <= 2 || sum.undecided * 10 <= runs);
	CHECK(every_result_occurred());
}
