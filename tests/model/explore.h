/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_EXPLORE_H
#define TESTS_MODEL_EXPLORE_H

/*
 * The schedule explorer.
 *
 * The same core source, built against the seam in tests/model/seam, runs on
 * user-level threads; before each atomic access, wait and wake the explorer
 * decides who goes on.  It runs a scenario again and again until every
 * combination of decisions has been tried, within a bound on preemptions:
 * switches away from a thread that could have gone on.  (Most bugs need one or
 * two.)  Beside the next thread it chooses
 *
 *   - that a timed wait times out,
 *   - that a wait wakes for no reason,       \  each at the cost of one
 *   - that a weak CAS fails for no reason,    > preemption
 *   - that a signal handler runs now.        /
 *
 * It finds: a failed EX_ASSERT or CHECK, a panic, a deadlock (nobody can run,
 * somebody is not done), a livelock (too many steps), and an access to memory
 * that a scenario has given up with ex_free, or to the stack of a call that has
 * returned.  A failing schedule is printed step by step, with the list of
 * decisions that replays it.
 *
 * WEIR_MODEL_BOUND in the environment raises the bound of every scenario to at
 * least that.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EX_THREADS 4

struct ex_scenario {
	const char *name;
	void (*setup)(void);			/* before each run */
	void (*threads[EX_THREADS])(void);
	void (*check)(void);			/* after each run */
	int bound;				/* preemptions */
};

void ex_register(struct ex_scenario *scenario);

/*
 *     SCENARIO(name, bound, setup, check, thread, thread, ...)
 */
#define SCENARIO(id, preemptions, before, after, ...)                          \
	__attribute__((constructor)) static void register_##id(void)           \
	{                                                                      \
		static struct ex_scenario this_one = {                         \
			.name = #id,                                           \
			.setup = before,                                       \
			.threads = { __VA_ARGS__ },                            \
			.check = after,                                        \
			.bound = preemptions,                                  \
		};                                                             \
		ex_register(&this_one);                                        \
	}

#define EX_ASSERT(condition)                                                   \
	do {                                                                   \
		if (!(condition))                                              \
			ex_fail("%s:%d: %s", __FILE__, __LINE__, #condition);  \
	} while (0)

__attribute__((noreturn, format(printf, 1, 2)))
void ex_fail(const char *format, ...);

/* For threads of a scenario. */
void ex_free(void *memory, size_t size);	/* nobody may touch it again */
void ex_signal(void (*handler)(void));	/* may interrupt this thread, once */
void ex_clock_advance(int64_t ns);
void ex_expect_panics(void);			/* in setup: they are no failure */
int ex_self(void);				/* which thread of the scenario */
bool ex_await(const uint32_t *flag);		/* wait for another's ex_set */
void ex_set(uint32_t *flag);

/* For the seam. */
enum ex_op { EX_LOAD, EX_STORE, EX_RMW, EX_CAS, EX_WAIT, EX_WAKE };
void ex_point(enum ex_op op, const void *address, size_t size,
	      const char *file, int line);
bool ex_cas_fails(void);
void ex_yield(void);				/* nothing to do until others act */

#endif /* TESTS_MODEL_EXPLORE_H */
