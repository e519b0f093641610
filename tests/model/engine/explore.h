/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_EXPLORE_H
#define TESTS_MODEL_EXPLORE_H

/*
 * The schedule explorer (README.md in this folder): the interface for scenarios
 * and for the seam.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * EX_PROCESSES: the threads belong to processes, which may be killed and stopped
 * (process.h).
 */
#ifndef EX_PROCESSES
#define EX_PROCESSES 0
#endif
#if EX_PROCESSES
#define EX_THREADS 10
#else
#define EX_THREADS 4
#endif

struct ex_scenario {
	const char *name;
	void (*setup)(void);			/* before each run */
	void (*threads[EX_THREADS])(void);
	void (*check)(void);			/* after each run */
	int bound;				/* preemptions */
#if EX_PROCESSES
	unsigned mortal, stoppable;		/* a bit for each process */
#endif
};

void ex_register(const struct ex_scenario *scenario);

/*
 *     SCENARIO(name, bound, setup, check, thread, thread, ...)
 *
 * Every run begins with the static memory of the program as it was at the
 * start, so a setup need not undo the changes of the previous run.
 */
#define SCENARIO(id, preemptions, before, after, ...)                          \
	__attribute__((constructor)) static void register_##id(void)           \
	{                                                                      \
		static const struct ex_scenario this_one = {                   \
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
			ex_fail("%s:%d: %s", EX_FILE, __LINE__, #condition);   \
	} while (0)

#define EX_FILE (strrchr(__FILE__, '/') ? strrchr(__FILE__, '/') + 1 : __FILE__)

__attribute__((noreturn, format(printf, 1, 2)))
void ex_fail(const char *format, ...);

/*
 * For threads of a scenario.
 */
void ex_free(void *memory, size_t size);	/* later accesses fail */
bool ex_is_freed(const void *memory);
void ex_signal(void (*handler)(void));	/* may interrupt this thread, once */
void ex_signal_point(void);		/* a handler may run here */
void ex_clock_advance(int64_t ns);
void ex_expect_panics(void);		/* for setup: panics do not fail */
int ex_self(void);				/* number of this thread */
bool ex_is_stale(void);			/* loads may return older values */
bool ex_is_watched(void);			/* --watched */
void ex_await(const uint32_t *flag);		/* wait until it is set */
void ex_set(uint32_t *flag);
extern uint32_t ex_event;			/* the descriptor is readable */
void ex_yield(void);			/* wait until another thread writes */
extern uint32_t ex_forks;			/* the count of forks, 0 */
/*
 * Begin a check that may be followed by ex_yield.  That ex_yield returns at
 * once if another thread has written since this call.
 */
void ex_recheck(void);
/* A plain access: two of them, one a write, must be ordered. */
void ex_touch(const void *memory, size_t size, bool write);

/*
 * The meaning of the memory, defined by the program that uses the engine.
 */
struct ex_meaning {
	/* Called after each atomic write; may fail the run. */
	void (*written)(const void *address, uint64_t before, uint64_t after);
	/* The name of an address, and its value, in a trace; false: none. */
	bool (*name)(const void *address, char *text, size_t size);
	bool (*show)(const void *address, uint64_t value, char *text,
		     size_t size);
};
extern const struct ex_meaning ex_meaning;

/*
 * For the seam: atomic accesses, with their place in the source.
 */
enum ex_order {
	EX_RELAXED, EX_ACQUIRE, EX_RELEASE, EX_ACQ_REL,
	EX_SEQ_CST	/* a load that returns the newest value */
};
enum ex_rmw { EX_SWAP, EX_ADD, EX_SUB };

struct ex_place {
	const char *file;
	int line;
};

uint64_t ex_load(const void *p, size_t size, enum ex_order order,
		 const struct ex_place *at);
void ex_store(void *p, size_t size, uint64_t value, enum ex_order order,
	      const struct ex_place *at);
uint64_t ex_rmw(void *p, size_t size, enum ex_rmw op, uint64_t operand,
		enum ex_order order, const struct ex_place *at);
bool ex_cas(void *p, size_t size, void *expected, uint64_t value,
	    enum ex_order order, const struct ex_place *at);

#endif /* TESTS_MODEL_EXPLORE_H */
