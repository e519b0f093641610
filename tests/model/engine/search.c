/* SPDX-License-Identifier: MIT */
/*
 * The choice of decisions.
 *
 * Depth first.  A run is determined by its decisions.  After a run the last
 * decision that has another option is changed, and the decisions after it are
 * dropped.  The next run replays the list and then takes option 0 at every
 * point.  The bound limits the cost of a run: a preemption costs one, and so
 * does each disturbance (a spurious wake-up, a CAS that fails spuriously, a
 * signal, a delayed store, a stale read).  A state that was reached before is not explored
 * again (state.c).  If the search ends without a failure, no schedule within
 * the bound fails.
 *
 * PCT (Burckhardt, Kothari, Musuvathi, Nagarakatti: "A randomized scheduler
 * with probabilistic guarantees of finding bugs", 2010).  Each actor has a
 * random priority, and the actor with the highest priority runs.  At d - 1
 * random points the running actor gets the lowest priority; d is 4 here.  One
 * run finds a bug that needs d ordering decisions with probability at least 1 /
 * (n k^(d-1)), with n actors and k points.  Here each thread's timeout, signal
 * and so on is an actor, so n is at most 5 times the number of threads.
 * Spurious CAS failures are drawn separately.
 *
 * Random: every option has the same probability at every point.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define DISTURB_ONE_IN 16	/* of the yes-or-no decisions */
#define DEATH_ONE_IN 64		/* of the points that allow it */
#define DISTURB_MAX 3		/* disturbances in a random run */

static uint64_t next_random(void)
{
	/* xorshift64* */
	ex->random ^= ex->random >> 12;
	ex->random ^= ex->random << 25;
	ex->random ^= ex->random >> 27;
	return ex->random * UINT64_C(2685821657736338717);
}

static int random_below(int n)
{
	return (int)((next_random() >> 33) % (uint64_t)n);
}

/*
 * One decision.
 */
static void append(int chosen, int options, uint64_t state)
{
	if (ex->path_length == EX_POINTS_MAX)
		ex_fail("too many points");
	ex->path[ex->path_length++] = (struct ex_decision){
		(uint8_t)chosen, (uint8_t)options, ex->budget, state };
}

/* Returns true if the run was in this state before, without a cost since. */
static bool is_on_path(uint64_t state)
{
	for (int i = 0; i < ex->path_length; i++)
		if (ex->path[i].state == state &&
		    ex->path[i].budget == ex->budget)
			return true;
	return false;
}

static int decide_depth_first(const struct ex_option *options, int n)
{
	uint64_t state = 0;

	if (ex->path_at < ex->path_length) {
		const struct ex_decision *d = &ex->path[ex->path_at];

		if (d->options != n)
			ex_fail("the scenario is not deterministic");
		return d->chosen;
	}
	/* Races depend on the history, which is not part of the state. */
	if (options && n > 1 && !ex->races) {
		state = ex_state_hash();
		if (ex_state_is_known(state, ex->budget)) {
			if (is_on_path(state))
				ex_fail("livelock: the same state again");
			ex->abandoned = true;
			return 0;
		}
	}
	append(0, n, state);
	return 0;
}

static uint32_t *priority_of(struct ex_option o)
{
	return &ex->priority[o.thread][o.kind];
}

static int highest(const struct ex_option *options, int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (*priority_of(options[i]) > *priority_of(options[best]))
			best = i;
	return best;
}

static int decide_by_priority(const struct ex_option *options, int n)
{
	int best = highest(options, n);

	for (int i = 0; i < EX_CHANGES; i++) {
		if (ex->changes[i] != ex->path_at)
			continue;
		*priority_of(options[best]) = (uint32_t)i;	/* the lowest */
		best = highest(options, n);
	}
	return best;
}

#if EX_PROCESSES
/* The number of options before the deaths, stops and spurious wake-ups. */
static int count_cheap(const struct ex_option *options, int n)
{
	for (int i = 1; i < n; i++)
		if (options[i].kind == EX_KILL || options[i].kind == EX_STOP ||
		    options[i].kind == EX_SPURIOUS)
			return i;
	return n;
}
#endif

static int decide_at_random(const struct ex_option *options, int n)
{
	int chosen = 0, all = n;

#if EX_PROCESSES
	if (options) {
		n = count_cheap(options, n);
		if (n < all && !random_below(DEATH_ONE_IN)) {
			chosen = n + random_below(all - n);
			append(chosen, all, 0);
			return chosen;
		}
	}
#endif
	if (n > 1 && !options)
		chosen = random_below(DISTURB_ONE_IN) ? 0 :
			 n == 2 ? 1 : 1 + random_below(n - 1);
	else if (n > 1 && ex->search == EX_PCT)
		chosen = decide_by_priority(options, n);
	else if (n > 1)
		chosen = random_below(n);
	append(chosen, all, 0);
	return chosen;
}

int ex_decide(const struct ex_option *options, int n)
{
	int chosen = 0;

	switch (ex->search) {
	case EX_DEPTH_FIRST:
		chosen = decide_depth_first(options, n);
		break;
	case EX_PCT:
	case EX_RANDOM:
		chosen = decide_at_random(options, n);
		break;
	case EX_REPLAY:
		if (ex->path_at < ex->path_length)
			chosen = ex->path[ex->path_at].chosen;
		if (chosen >= n)
			chosen = 0;
		break;
	}
	ex->path_at++;
	return chosen;
}

/*
 * The searches.
 */

/* Change the last decision that has another option; false: none has. */
static bool next_path(void)
{
	while (ex->path_length) {
		struct ex_decision *last = &ex->path[ex->path_length - 1];

		if (++last->chosen < last->options)
			return true;
		ex->path_length--;
	}
	return false;
}

bool ex_depth_first(int bound)
{
	ex->search = EX_DEPTH_FIRST;
	ex->bound = bound;
	ex->path_length = 0;
	memset(ex->uses, 0, sizeof(ex->uses));
	ex_state_forget();
	ex->exhausted = false;
	do {
		if (ex->enough && ex->runs >= ex->enough)
			return true;
		ex->more_is_shared = false;
		if (!ex_run())
			return false;
		if (ex->more_is_shared) {
			/* More points need decisions: start again. */
			ex->path_length = 0;
			ex_state_forget();
		}
	} while (ex->more_is_shared || next_path());
	ex->exhausted = true;
	return true;
}

/* Draw priorities, and the points of a run at which they change. */
static void shuffle_priorities(int points)
{
	for (int i = 0; i < EX_THREADS; i++)
		for (int k = 0; k < EX_KINDS; k++)
			ex->priority[i][k] = EX_CHANGES +
					     (uint32_t)random_below(1 << 20);
	for (int i = 0; i < EX_CHANGES; i++)
		ex->changes[i] = random_below(points);
}

bool ex_random(enum ex_search search, uint64_t runs)
{
	int points = 1;

	ex->search = search;
	ex->bound = DISTURB_MAX;
	while (runs--) {
		ex->path_length = 0;
		shuffle_priorities(points);
		if (!ex_run())
			return false;
		if (ex->path_length > points)
			points = ex->path_length;
	}
	return true;
}

bool ex_replay(const char *schedule)
{
	int at, chosen, length;

	memset(ex->path, 0, sizeof(ex->path));
	ex->path_length = 0;
	while (sscanf(schedule, "%d:%d%n", &at, &chosen, &length) == 2) {
		if (at < 0 || at >= EX_POINTS_MAX || chosen < 0 || chosen > 255)
			break;
		ex->path[at].chosen = (uint8_t)chosen;
		if (ex->path_length <= at)
			ex->path_length = at + 1;
		schedule += length;
	}
	ex->search = EX_REPLAY;
	ex->bound = EX_POINTS_MAX;
	return ex_run();
}

/*
 * Shorten a failing schedule, so that it is easier to read.  Set decisions to
 * 0, first many at a time, then few, and leave points out, so that later
 * decisions come earlier.  Keep a change if the run still fails with the same
 * message.
 */
static bool fails_with(const char *message)
{
	return !ex_run() && !strcmp(ex->message, message);
}

static int switches(void)
{
	int n = 0;

	for (int i = 0; i < ex->path_length; i++)
		n += ex->path[i].chosen != 0;
	return n;
}

/* Change the path; keep the change if it is simpler and still fails. */
static bool try_change(void (*change)(int at, int n), int at, int n,
		       const char *message)
{
	size_t size = (size_t)ex->path_length * sizeof(*ex->path);
	int length = ex->path_length, before = switches();

	memcpy(ex->kept, ex->path, size);
	change(at, n);
	if (switches() < before && fails_with(message))
		return true;
	memcpy(ex->path, ex->kept, size);
	ex->path_length = length;
	return false;
}

static void set_to_0(int at, int n)
{
	for (int i = at; i < at + n && i < ex->path_length; i++)
		ex->path[i].chosen = 0;
}

/* Remove the decision at `at` and the n points after it. */
static void leave_out(int at, int n)
{
	ex->path[at].chosen = 0;
	memmove(ex->path + at, ex->path + at + n,
		(size_t)(ex->path_length - at - n) * sizeof(*ex->path));
	ex->path_length -= n;
}

static bool leave_some_out(const char *message)
{
	for (int at = 0; at < ex->path_length; at++)
		for (int n = 1; n <= 40 && at + n < ex->path_length; n++)
			if (ex->path[at].chosen &&
			    try_change(leave_out, at, n, message))
				return true;
	return false;
}

void ex_shrink(void)
{
	char message[sizeof(ex->message)];
	bool shrunk;

	memcpy(message, ex->message, sizeof(message));
	ex->search = EX_REPLAY;
	ex->bound = EX_POINTS_MAX;
	do {
		shrunk = false;
		for (int n = ex->path_length; n; n /= 2)
			for (int i = 0; i < ex->path_length; i += n)
				shrunk |= try_change(set_to_0, i, n, message);
		shrunk |= leave_some_out(message);
	} while (shrunk);
	while (ex->path_length && !ex->path[ex->path_length - 1].chosen)
		ex->path_length--;
	(void)fails_with(message);
}
