/* SPDX-License-Identifier: MIT */
/*
 * The search.  A state has what each context holds, which waits were granted,
 * and which contexts have given up waiting for the rest (any-of).  The moves of
 * a state are:
 *
 *   - A grant that the semaphore makes by itself: the first waiter of a queue if
 *     it fits; a waiter for idle if no permit is out.  While there is such a
 *     move, no other move is made, because a semaphore grants at once.
 *   - A context that does not wait releases one permit.
 *
 * All moves of all reachable states are followed.
 */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
	int held[CONTEXTS][OBJECTS];
	bool granted[WAITS];
	bool free_to_go[CONTEXTS];
};

#define SEEN_MAX (1u << 20)
static uint64_t *seen;
static uint32_t *stamps;	/* seen[i] is of this run if they are equal */
static uint32_t stamp;
static unsigned visited;
static const struct system *sys;
static bool *result;

static uint64_t encode(const struct state *s)
{
	uint64_t code = 0;

	for (int c = 0; c < sys->contexts; c++)
		for (int o = 0; o < sys->objects; o++)
			code = code * 8 + (uint64_t)s->held[c][o];
	for (int w = 0; w < sys->waits; w++)
		code = code * 2 + s->granted[w];
	for (int c = 0; c < sys->contexts; c++)
		code = code * 2 + s->free_to_go[c];
	return code;
}

/* Returns true if the state is new. */
static bool remember(const struct state *s)
{
	uint64_t code = encode(s);
	uint32_t at = (uint32_t)(code * UINT64_C(0x9e3779b97f4a7c15) >> 44);

	while (stamps[at % SEEN_MAX] == stamp) {
		if (seen[at % SEEN_MAX] == code)
			return false;
		at++;
	}
	stamps[at % SEEN_MAX] = stamp;
	seen[at % SEEN_MAX] = code;
	if (++visited > SEEN_MAX / 2) {
		fprintf(stderr, "a system has too many states\n");
		exit(1);
	}
	return true;
}

static bool waits(const struct state *s, int context)
{
	if (s->free_to_go[context])
		return false;
	for (int w = 0; w < sys->waits; w++)
		if (sys->wait[w].context == context && !s->granted[w])
			return true;
	return false;
}

static int out(const struct state *s, int object)
{
	int sum = 0;

	for (int c = 0; c < sys->contexts; c++)
		sum += s->held[c][object];
	return sum;
}

static void explore(const struct state *s);

static void grant_and_explore(const struct state *s, int w)
{
	const struct system_wait *wait = &sys->wait[w];
	struct state next = *s;

	next.granted[w] = true;
	if (!wait->idle)
		next.held[wait->context][wait->object] += wait->weight;
	if (sys->any_of[wait->context])
		next.free_to_go[wait->context] = true;
	explore(&next);
}

/* Whether the wait is still in its queue. */
static bool is_queued(const struct state *s, int w)
{
	const struct system_wait *wait = &sys->wait[w];

	return !s->granted[w] && !s->free_to_go[wait->context] &&
	       !wait->idle && !wait->oversized;
}

/* Make the grants that the semaphores make by themselves. */
static bool forced(const struct state *s)
{
	bool any = false;

	for (int o = 0; o < sys->objects; o++) {
		int room = sys->capacity[o] - out(s, o);

		for (int w = 0; w < sys->waits; w++) {
			const struct system_wait *wait = &sys->wait[w];

			if (wait->object != o || !is_queued(s, w))
				continue;
			if (wait->weight <= room) {
				any = true;
				grant_and_explore(s, w);
			}
			break;
		}
		for (int w = 0; w < sys->waits && !out(s, o); w++)
			if (sys->wait[w].object == o && sys->wait[w].idle &&
			    !s->granted[w] &&
			    !s->free_to_go[sys->wait[w].context]) {
				any = true;
				grant_and_explore(s, w);
			}
	}
	return any;
}

static void explore(const struct state *s)
{
	if (!remember(s))
		return;
	for (int c = 0; c < sys->contexts; c++)
		if (!waits(s, c))
			result[c] = true;
	if (forced(s))
		return;
	for (int c = 0; c < sys->contexts; c++)
		for (int o = 0; o < sys->objects; o++) {
			struct state next = *s;

			if (waits(s, c) || sys->ended[c] || !s->held[c][o])
				continue;
			next.held[c][o]--;
			explore(&next);
		}
}

unsigned search(const struct system *system, bool proceeds[CONTEXTS])
{
	struct state first;

	if (!seen) {
		seen = calloc(SEEN_MAX, sizeof(*seen));
		stamps = calloc(SEEN_MAX, sizeof(*stamps));
		if (!seen || !stamps)
			exit(1);
	}
	stamp++;
	visited = 0;
	sys = system;
	result = proceeds;
	memset(proceeds, 0, CONTEXTS * sizeof(*proceeds));
	memset(&first, 0, sizeof(first));
	memcpy(first.held, system->held, sizeof(first.held));
	explore(&first);
	return visited;
}
