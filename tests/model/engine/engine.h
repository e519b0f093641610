/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_ENGINE_H
#define TESTS_MODEL_ENGINE_H

/*
 * Shared by the engine's files.
 *
 *   control.c   threads, which of them can run, one run from start to end
 *   seam.c      replaces atomics, futex, clock and heap of the core
 *   search.c    chooses the decisions: depth first, PCT, random, replay
 *   state.c     restores the initial memory; recognises known states
 *   races.c     happens-before, to find unordered accesses
 *   stale.c     loads that return an older value
 *   trace.c     prints a failing run
 *   process.c   processes and the kernel services between them (EX_PROCESSES)
 *   main.c      the command
 *
 * The engine keeps all its memory behind one pointer.  So the static variables
 * of the program belong to the scenarios: they are restored before each run and
 * are part of the state.
 */
#include <setjmp.h>

#include "base/futex.h"
#include "explore.h"
#include "fiber.h"

#define EX_POINTS_MAX 50000	/* in a run */
#define EX_STEPS_MAX 20000
#define EX_FREED_MAX 32
#define EX_PLACES 4096		/* a power of two */
#define EX_DELAYED_MAX 8
#define EX_BOUND_MAX 7
#define EX_CHANGES 3		/* PCT: d - 1 */

enum ex_status {
	EX_READY,
	EX_BLOCKED,
	EX_SPINNING,	/* until another thread writes */
	EX_POLLING,	/* the same, or until no other thread can run */
	EX_DONE
};

/* The kinds of decisions, in the order in which options are listed. */
enum ex_kind {
	EX_GO,		/* the thread continues */
	EX_TIMEOUT,	/* its timed wait times out */
	EX_DRAIN,	/* its oldest delayed store reaches memory */
	EX_SPURIOUS,	/* its wait wakes spuriously */
	EX_SIGNAL,	/* its signal handler runs */
#if EX_PROCESSES
	EX_END,		/* the thread of a killed process ends */
	EX_CLOSE,	/* the files of a dead process are closed */
	EX_KILL,	/* its process is killed, and this thread ends first */
	EX_STOP,	/* the process is stopped */
	EX_CONT,	/* the process continues */
	EX_FINISH,	/* the run ends: no thread can go on */
#endif
	EX_KINDS
};

struct ex_option {
	uint8_t thread, kind;
};

#define EX_OPTIONS_MAX (EX_THREADS * EX_KINDS)

#if EX_THREADS > 7
typedef uint16_t ex_users;
#define EX_WRITTEN 0x8000u
#else
typedef uint8_t ex_users;
#define EX_WRITTEN 0x80u		/* with a bit per thread */
#endif

struct ex_decision {
	uint8_t chosen, options;
	int budget;		/* when it was first taken */
	uint64_t state;		/* hash of the state then; 0: not computed */
};

struct ex_thread {
	struct fiber fiber;
	enum ex_status status;
	uint32_t *futex;		/* that it sleeps on */
	int64_t deadline;
	enum weir_woke_ woke;		/* why the sleep ended */
	uint64_t slept_at;		/* order among sleepers */
	uint64_t writes_seen;		/* ex->writes when it began to wait */
	uint64_t own_writes;
	uint64_t others_seen;		/* writes by others at ex_recheck */
	bool rechecks;			/* since ex_recheck, to ex_yield */
	bool read_stale;		/* since it last waited */
	void (*handler)(void);		/* signal handler that may still run */
	bool handle;			/* run the handler now */
	struct ex_place at;		/* its last atomic access */
	struct ex_delayed {		/* stores not in memory yet */
		void *p;
		size_t size;
		uint64_t value;
	} delayed[EX_DELAYED_MAX];
	int delayed_count;
};

enum ex_op {
	EX_LOAD, EX_STORE, EX_RMW, EX_CAS, EX_WAIT, EX_WAKE, EX_CLOCK,
	EX_PLAIN, EX_CALL
};

enum ex_search { EX_DEPTH_FIRST, EX_PCT, EX_RANDOM, EX_REPLAY };

struct engine {
	const struct ex_scenario *scenario;
	struct ex_thread threads[EX_THREADS];
	int thread_count;
	int self;			/* -1: setup or check */
	struct fiber controller;
	_Alignas(16) char stacks[EX_THREADS][FIBER_STACK];

	/* The current run. */
	int budget;			/* preemptions and disturbances left */
	int64_t now_ns;
	uint64_t writes;
	int steps;
	bool panics_expected;
	bool only_signals;		/* at this point only a handler matters */
	bool abandoned;			/* reached a known state */
	bool failed;
	char message[512];
	sigjmp_buf failed_outside;	/* where ex_fail jumps to */
	struct {
		const char *memory;
		size_t size;
	} freed[EX_FREED_MAX];
	int freed_count;

#if EX_PROCESSES
	enum ex_op point_op;		/* the step that the thread takes next */
	const void *point_word;
#endif

	/* The decisions. */
	enum ex_search search;
	bool delays;			/* stores may be delayed */
	uint32_t spins;			/* rounds of a spin; 0: one CPU */
	bool watched;			/* semaphores are watched */
	bool stale;			/* loads may return older values */
	bool races;			/* find unordered accesses */
	int bound;
	uint64_t enough;		/* schedules at most; 0: all */
	bool exhausted;			/* all within the bound were explored */
	struct ex_decision path[EX_POINTS_MAX], kept[EX_POINTS_MAX];
	int path_length, path_at;
	uint64_t random;
	uint32_t priority[EX_THREADS][EX_KINDS];	/* PCT */
	int changes[EX_CHANGES];

	/* Memory used by threads in any run of this scenario. */
	struct ex_use {
		const void *address;
		ex_users users;
	} uses[EX_PLACES];
	bool more_is_shared;

	bool tracing;
	struct {			/* begun, not printed yet */
		enum ex_op op;
		const void *p;
		size_t size;
		struct ex_place at;
		uint64_t before;
		const char *note;
		int thread, point;
	} step;
	uint64_t runs, abandoned_runs;
	uint64_t tick_run;
};

extern struct engine *ex;

/* control.c */
bool ex_run(void);			/* false: the run failed */
bool ex_can_go(const struct ex_thread *t);
void ex_pause(void);			/* decide which thread runs */
void ex_step(void);			/* count a step; too many: livelock */
bool ex_note_use(const void *address, bool write);
bool ex_note_users(const void *address, unsigned users);
int ex_list_kind(struct ex_option *options, int n, unsigned set,
		 enum ex_kind kind);
void ex_wake(struct ex_thread *t, enum weir_woke_ why);

/* seam.c */
void ex_point(enum ex_op op, const void *p, size_t size, bool shared,
	      const struct ex_place *at);
bool ex_others_wrote(const struct ex_thread *t);
void ex_drain_one(struct ex_thread *t);	/* its oldest delayed store */
void ex_drain(const void *p);		/* of this thread, up to that at p */

/* search.c */
int ex_decide(const struct ex_option *options, int n);	/* null: a yes or no */
bool ex_depth_first(int bound);		/* false: a run failed */
bool ex_random(enum ex_search search, uint64_t runs);
bool ex_replay(const char *schedule);
void ex_shrink(void);			/* shorten the failing path */

/* state.c */
void ex_state_begin(void);		/* once, before the first run */
void ex_state_new_scenario(void);
void ex_state_restore(void);
bool ex_state_fault(const void *address); /* true: the write may be repeated */
#if EX_PROCESSES
size_t ex_state_size(void);
void ex_state_save(char *to);
void ex_state_load(const char *from);
#endif
uint64_t ex_state_hash(void);
void ex_state_forget(void);		/* forget all known states */
bool ex_state_is_known(uint64_t state, int budget);

#if EX_PROCESSES
bool ex_is_own_heap(const void *p);	/* seam.c: of this process */
#endif

/* races.c */
struct ex_clock {			/* counts the releases of each thread */
	uint32_t at[EX_THREADS];
};

void ex_races_begin(void);
const struct ex_clock *ex_races_now(void);
const struct ex_clock *ex_races_released(const void *p);
void ex_races_join(const struct ex_clock *released);
void ex_races_atomic(const void *p, size_t size, bool read, bool write,
		     enum ex_order order);

/*
 * The start of thread t by the current one; the end of t; the current thread
 * runs after all threads that have ended.
 */
void ex_races_start(int t);
void ex_races_end(int t);
void ex_races_see_ends(void);
void ex_races_wake(int from, int to);	/* --stale: the kernel wakes a thread */

/* stale.c: loads and writes of atomics, after races.c has seen them */
void ex_stale_begin(void);
uint64_t ex_stale_read(const void *p, uint64_t value, enum ex_order order);
void ex_stale_read_newest(const void *p, uint64_t value);
void ex_stale_write(const void *p, uint64_t before, uint64_t after,
		    enum ex_order order);
void ex_stale_fence(void);		/* all threads have seen all writes */
void ex_stale_plain_write(const void *p, size_t size);

/* trace.c */
void ex_trace_begin(enum ex_op op, const void *p, size_t size,
		    const struct ex_place *at);
void ex_trace_note(const char *text);
void ex_trace_end(void);
#if EX_PROCESSES
void ex_trace_event(const char *what, int number);
#endif
void ex_trace_schedule(void);		/* the decisions that are not 0 */

#endif /* TESTS_MODEL_ENGINE_H */
