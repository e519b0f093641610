/* SPDX-License-Identifier: MIT */
/*
 * C50: the verdict on random systems equals an exhaustive search over all
 * orders of release.  The systems have weights, contexts that need all or one of
 * several objects, waits for idle, waits above the capacity, and contexts that
 * have ended.
 *
 * tests/diag/planted shows that wrong reductions fail here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "diag/verdict.h"
#include "search.h"

#define SYSTEMS 10000

static const struct dg_limits limits = { OBJECTS, CONTEXTS,
					 OBJECTS * CONTEXTS, WAITS, 0 };
static void *memory;
static uint64_t rng;

static void prepare(void)
{
	if (!memory)
		memory = calloc(1, weir_diag_model_size_(&limits));
	CHECK(memory);
	if (!rng)
		rng = seed_of(0);
}

static int below(int limit)
{
	return (int)random_below(&rng, limit);
}

/* Each context holds a part of what is still free. */
static void draw_holds(struct system *s)
{
	for (int o = 0; o < s->objects; o++) {
		int room = s->capacity[o] = 1 + below(4);

		for (int c = 0; c < s->contexts; c++) {
			int n = below(2) ? below(room + 1) : 0;

			s->held[c][o] = n;
			room -= n;
		}
	}
}

static void draw_wait(struct system *s, int context, int object)
{
	struct system_wait *w = &s->wait[s->waits++];

	*w = (struct system_wait){ .context = context, .object = object };
	w->weight = 1 + below(s->capacity[object]);
	if (!below(20)) {
		w->weight = s->capacity[object] + 1;
		w->oversized = true;
	}
}

/*
 * Make some waits waits for idle.  A context that waits for idle has no other
 * wait, and no context needs all of several objects: see reduce.c.
 */
static void draw_idle(struct system *s)
{
	int waits[CONTEXTS] = { 0 };

	if (below(3))
		return;
	for (int w = 0; w < s->waits; w++)
		waits[s->wait[w].context]++;
	for (int c = 0; c < s->contexts; c++)
		s->any_of[c] = waits[c] > 1;
	for (int w = 0; w < s->waits; w++)
		if (waits[s->wait[w].context] == 1 && below(2))
			s->wait[w] = (struct system_wait){
				.context = s->wait[w].context,
				.object = s->wait[w].object, .idle = true };
}

static void draw(struct system *s)
{
	int order[CONTEXTS];

	memset(s, 0, sizeof(*s));
	s->objects = 1 + below(OBJECTS);
	s->contexts = 2 + below(CONTEXTS - 1);
	draw_holds(s);
	for (int c = 0; c < s->contexts; c++) {
		int with = below(c + 1);

		order[c] = order[with];
		order[with] = c;
		s->any_of[c] = below(3) == 0;
		s->ended[c] = below(12) == 0;
	}
	/* The queues of the objects have different orders. */
	for (int o = 0; o < s->objects; o++)
		for (int i = 0; i < s->contexts; i++) {
			int c = order[(i + o) % s->contexts];

			if (!s->ended[c] && s->waits < WAITS && below(2))
				draw_wait(s, c, o);
		}
	draw_idle(s);
}

static void build(const struct system *s, struct dg_model *m)
{
	weir_diag_model_init_(m, &limits, memory);
	for (int o = 0; o < s->objects; o++) {
		uint32_t i = weir_diag_add_object_(m);

		m->objects[i].capacity = s->capacity[o];
	}
	for (int c = 0; c < s->contexts; c++) {
		uint32_t i = weir_diag_add_context_(m);

		m->contexts[i].ended = s->ended[c];
		for (int o = 0; o < s->objects; o++)
			if (s->held[c][o])
				(void)weir_diag_add_hold_(m, i, (uint32_t)o,
							  s->held[c][o]);
	}
	for (int w = 0; w < s->waits; w++) {
		const struct system_wait *wait = &s->wait[w];
		uint32_t i = weir_diag_add_wait_(m, (uint32_t)wait->context,
						 (uint32_t)wait->object,
						 wait->weight, wait->weight);

		m->waits[i].ticket = (uint64_t)w;
		m->waits[i].flags = (wait->idle ? RG_IDLE : 0) |
				    (wait->oversized ? RG_OVERSIZED : 0) |
				    (s->any_of[wait->context] ? RG_ANY_OF : 0);
	}
	weir_diag_finish_(m);
}

static void print(const struct system *s)
{
	for (int o = 0; o < s->objects; o++)
		fprintf(stderr, "object %d: capacity %d\n", o, s->capacity[o]);
	for (int c = 0; c < s->contexts; c++) {
		fprintf(stderr, "context %d%s%s: holds", c,
			s->any_of[c] ? " any-of" : "",
			s->ended[c] ? " ended" : "");
		for (int o = 0; o < s->objects; o++)
			fprintf(stderr, " %d", s->held[c][o]);
		fprintf(stderr, "\n");
	}
	for (int w = 0; w < s->waits; w++)
		fprintf(stderr, "wait %d: context %d object %d weight %d%s%s\n",
			w, s->wait[w].context, s->wait[w].object,
			s->wait[w].weight, s->wait[w].idle ? " idle" : "",
			s->wait[w].oversized ? " oversized" : "");
}

static bool is_judged_stuck(const struct dg_context *c)
{
	return c->verdict >= DG_NO_RELEASER;
}

TEST(c50_verdict_equals_exhaustive_search)
{
	int rounds = SYSTEMS * check_scale();
	unsigned long states = 0;
	int stuck = 0;

	prepare();
	for (int i = 0; i < rounds; i++) {
		bool proceeds[CONTEXTS], any = false;
		struct dg_model m;
		struct system s;

		draw(&s);
		build(&s, &m);
		weir_diag_judge_(&m);
		states += search(&s, proceeds);
		for (int c = 0; c < s.contexts; c++) {
			bool left = is_judged_stuck(&m.contexts[c]);

			if (left == proceeds[c]) {
				print(&s);
				check_fail(__FILE__, __LINE__,
					   "system %d: context %d is %s, but "
					   "the search says that it can%s "
					   "proceed", i, c,
					   weir_diag_verdict_name_(
						   m.contexts[c].verdict),
					   proceeds[c] ? "" : "not");
			}
			CHECK_EQ(m.contexts[c].group != 0, left);
			any = any || left;
		}
		stuck += any;
	}
	printf("%d systems, %d with contexts that cannot proceed, %lu states\n",
	       rounds, stuck, states);
	/* Neither kind is rare. */
	CHECK(stuck > rounds / 20 && stuck < rounds * 19 / 20);
}

/* The search with the way out applied lets the whole group proceed. */
static bool is_resolved(const struct system *s, const struct dg_model *m,
			uint32_t group)
{
	bool proceeds[CONTEXTS];

	(void)search(s, proceeds);
	for (int c = 0; c < s->contexts; c++)
		if (m->contexts[c].group == group && !proceeds[c])
			return false;
	return true;
}

static void cancel(struct system *s, int context)
{
	int n = 0;

	for (int w = 0; w < s->waits; w++)
		if (s->wait[w].context != context)
			s->wait[n++] = s->wait[w];
	s->waits = n;
}

/*
 * Raise the capacity.  The requests that were above it and now fit are moved to the
 * end of the queue.
 */
static void raise_capacity(struct system *s, int object, int by)
{
	struct system_wait moved[WAITS];
	int n = 0, moved_n = 0;

	s->capacity[object] += by;
	for (int w = 0; w < s->waits; w++) {
		struct system_wait wait = s->wait[w];

		if (wait.object == object && wait.oversized &&
		    wait.weight <= s->capacity[object]) {
			wait.oversized = false;
			moved[moved_n++] = wait;
		} else {
			s->wait[n++] = wait;
		}
	}
	memcpy(&s->wait[n], moved, (size_t)moved_n * sizeof(*moved));
}

/*
 * A system in which other threads of some contexts may release what these hold.
 * Without such a release nothing changes: the same contexts are left.  The
 * verdict is DEADLOCK, SELF-NESTED or LEAKED only if such a release does not help.
 */
TEST(c50_other_threads_of_a_process_may_release)
{
	int possible = 0, certain = 0;

	prepare();
	for (int i = 0; i < SYSTEMS; i++) {
		bool proceeds[CONTEXTS], helped[CONTEXTS];
		struct system s, released;
		struct dg_model m;

		draw(&s);
		build(&s, &m);
		released = s;
		for (int c = 0; c < s.contexts; c++)
			if (m.contexts[c].first_wait != DG_NONE && below(2)) {
				m.contexts[c].others = true;
				cancel(&released, c);
			}
		weir_diag_judge_(&m);
		(void)search(&s, proceeds);
		(void)search(&released, helped);
		for (int c = 0; c < s.contexts; c++) {
			enum dg_verdict v = m.contexts[c].verdict;

			CHECK_EQ(is_judged_stuck(&m.contexts[c]), !proceeds[c]);
			if (proceeds[c] || v == DG_UNSATISFIABLE)
				continue;
			CHECK_EQ(v == DG_NO_RELEASER ||
				 v == DG_POSSIBLE_DEADLOCK, helped[c]);
			possible += v == DG_POSSIBLE_DEADLOCK;
			certain += v == DG_DEADLOCK;
		}
	}
	printf("%d contexts in a possible deadlock, %d in one\n", possible,
	       certain);
	CHECK(possible > 100 && certain > 100);
}

static bool is_oversized(const struct dg_model *m, uint32_t group)
{
	for (uint32_t i = 0; i < m->used.contexts; i++)
		if (m->contexts[i].group == group &&
		    m->contexts[i].verdict == DG_UNSATISFIABLE)
			return true;
	return false;
}

TEST(c50_ways_out_are_ways_out)
{
	int ways_seen = 0, raises_of_oversized = 0;

	prepare();
	for (int i = 0; i < SYSTEMS / 4; i++) {
		struct dg_way ways[8];
		struct dg_model m;
		struct system s;

		draw(&s);
		build(&s, &m);
		weir_diag_judge_(&m);
		for (uint32_t g = 1; g <= m.groups; g++) {
			uint32_t n = weir_diag_ways_(&m, g, ways, 8);

			for (uint32_t k = 0; k < n; k++) {
				struct system changed = s;
				int o = (int)ways[k].object;
				int by = (int)ways[k].by;

				ways_seen++;
				if (ways[k].context != DG_NONE) {
					cancel(&changed, (int)ways[k].context);
					CHECK(is_resolved(&changed, &m, g));
					continue;
				}
				raise_capacity(&changed, o, by);
				CHECK(is_resolved(&changed, &m, g));
				changed = s;
				raise_capacity(&changed, o, by - 1);
				CHECK(!is_resolved(&changed, &m, g));
				raises_of_oversized += is_oversized(&m, g);
			}
		}
	}
	printf("%d ways out, %d raise the capacity for a request above it\n",
	       ways_seen, raises_of_oversized);
	CHECK(ways_seen > 100 && raises_of_oversized > 20);
}
