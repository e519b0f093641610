/* SPDX-License-Identifier: MIT */
/*
 * The explorer's engine: explore.h.
 *
 * Stateless search: a run is determined by the decisions taken, a list of small
 * numbers.  After a run the last decision that had another option is changed
 * and what follows it forgotten; the next run replays the list and goes on with
 * option 0 from there.  Option 0 is always "go on as you are", so the first
 * run has no preemption.
 *
 * Who goes first matters only before an access to memory that several threads
 * use and somebody writes; other accesses commute with everything, and nothing
 * is decided before them.  Which memory that is shows as the runs go by.  When a
 * run finds more of it, the search begins again with what is known by then.  So
 * in the search that is completed no run has met a location that it took for
 * private and was not.
 */
#include "explore.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/fork.h"
#include "base/futex.h"
#include "fiber.h"
#include "weir/base.h"

#define DECISIONS_MAX 100000
#define STEPS_MAX 20000
#define FREED_MAX 8
#define SCENARIOS_MAX 128
#define OPTIONS_MAX 16

#define PLACES 4096			/* a power of two */
#define WRITTEN 0x80u			/* beside a bit for each thread */

enum status { READY, BLOCKED, SPINNING, DONE };
enum kind { GO, TIMEOUT, SPURIOUS, SIGNAL };

static struct thread {
	struct fiber fiber;
	enum status status;
	uint32_t *futex;		/* slept on */
	int64_t deadline;
	enum weir_woke_ woke;		/* why the sleep ended */
	uint64_t slept_at;		/* order among sleepers */
	uint64_t writes_seen;		/* while SPINNING */
	void (*handler)(void);		/* signal handler that may still come */
	bool handle;			/* run it now */
} threads[EX_THREADS];

static struct decision {
	uint8_t chosen, options;
} path[DECISIONS_MAX];
static int path_length, path_at;

static struct {
	const char *memory;
	size_t size;
} freed[FREED_MAX];
static int freed_count;

/* Memory used by threads, since the scenario was begun. */
static struct place {
	const void *address;
	uint8_t users;
} places[PLACES];
static bool more_is_shared;

static struct ex_scenario *scenarios[SCENARIOS_MAX];
static int scenario_count;

static struct ex_scenario *scenario;
static int self = -1;			/* -1: the explorer */
static int thread_count;
static int budget;			/* preemptions left */
static int64_t now_ns;
static uint64_t writes;
static int steps;
static bool tracing;
static struct fiber explorer;
static bool failed;
static jmp_buf failed_outside;		/* in setup or check */
static char message[512];

void ex_register(struct ex_scenario *s)
{
	if (scenario_count == SCENARIOS_MAX)
		abort();
	scenarios[scenario_count++] = s;
}

void ex_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	failed = true;
	if (self < 0)
		longjmp(failed_outside, 1);
	/* Leave the threads as they are; the next run makes new ones. */
	fiber_switch(&threads[self].fiber, &explorer);
	abort();
}

/* Take a decision: replay it, or choose option 0 and note the others. */
static int decide(int options)
{
	if (path_at == path_length) {
		if (path_length == DECISIONS_MAX)
			ex_fail("too many decisions");
		path[path_length].chosen = 0;
		path[path_length++].options = (uint8_t)options;
	}
	if (path[path_at].options != options)
		ex_fail("the scenario is not deterministic");
	return path[path_at++].chosen;
}

static bool can_go(const struct thread *t)
{
	return t->status == READY ||
	       (t->status == SPINNING && t->writes_seen != writes);
}

struct option {
	int thread;
	enum kind kind;
};

static int list_options(struct option *options)
{
	bool current = self >= 0 && can_go(&threads[self]);
	int n = 0;

	if (current)
		options[n++] = (struct option){ self, GO };
	if (current && !budget)
		return n;
	for (int i = 0; i < thread_count; i++) {
		const struct thread *t = &threads[i];

		if (i != self && can_go(t))
			options[n++] = (struct option){ i, GO };
		if (t->status == BLOCKED && t->deadline != WEIR_FOREVER)
			options[n++] = (struct option){ i, TIMEOUT };
		if (t->status == BLOCKED && budget)
			options[n++] = (struct option){ i, SPURIOUS };
		if (t->handler && budget && t->status != DONE &&
		    (i == self || t->status == BLOCKED))
			options[n++] = (struct option){ i, SIGNAL };
	}
	return n;
}

static void wake(struct thread *t, enum weir_woke_ why)
{
	t->status = READY;
	t->futex = NULL;
	t->woke = why;
}

/* Decide who goes on, and go on with it. */
static void schedule(void)
{
	struct option options[EX_THREADS * OPTIONS_MAX], o;
	bool current = self >= 0 && can_go(&threads[self]);
	struct thread *t;
	int from = self, n = list_options(options);

	/* A wake for no reason does not count as a way on. */
	if (!current) {
		bool way = false;

		for (int i = 0; i < n; i++)
			way |= options[i].kind != SPURIOUS;
		if (!way) {
			for (int i = 0; i < thread_count; i++)
				if (threads[i].status != DONE)
					ex_fail("deadlock: thread %d cannot "
						"go on", i);
			fiber_switch(&threads[from].fiber, &explorer);
		}
	}
	o = options[n > 1 ? decide(n) : 0];
	t = &threads[o.thread];
	if (o.kind == SPURIOUS || o.kind == SIGNAL ||
	    (current && o.thread != self))
		budget--;
	if (o.kind == TIMEOUT && now_ns < t->deadline)
		now_ns = t->deadline;
	if (t->status == BLOCKED)
		wake(t, o.kind == TIMEOUT ? WEIR_WOKE_LATE_ :
			o.kind == SIGNAL  ? WEIR_WOKE_SIGNAL_ : WEIR_WOKEN_);
	t->status = READY;
	if (o.kind == SIGNAL)
		t->handle = true;
	if (o.thread != self) {
		self = o.thread;
		if (from < 0) {
			fiber_switch(&explorer, &t->fiber);
			return;
		}
		fiber_switch(&threads[from].fiber, &t->fiber);
	}
	/* Back on the thread that was interrupted. */
	t = &threads[self];
	if (t->handle) {
		void (*handler)(void) = t->handler;

		t->handle = false;
		t->handler = NULL;
		handler();
	}
}

static bool inside(const void *p, const char *start, size_t size)
{
	return (const char *)p >= start && (const char *)p < start + size;
}

static void check_alive(const void *p, const char *file, int line)
{
	for (int i = 0; i < freed_count; i++)
		if (inside(p, freed[i].memory, freed[i].size))
			ex_fail("%s:%d: access to freed memory", file, line);
	for (int i = 0; i < thread_count; i++) {
		const struct thread *t = &threads[i];

		if (i == self || !inside(p, t->fiber.stack, FIBER_STACK))
			continue;
		if (t->status == DONE || (const char *)p < (char *)t->fiber.sp)
			ex_fail("%s:%d: access to the stack of a call that has "
				"returned", file, line);
	}
}

static struct place *place_of(const void *address)
{
	size_t i = ((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15)) >> 52;

	while (places[i].address && places[i].address != address)
		i = (i + 1) % PLACES;
	places[i].address = address;
	return &places[i];
}

static bool is_shared(uint8_t users)
{
	unsigned threads_only = users & ~WRITTEN;

	return users & WRITTEN && threads_only & (threads_only - 1);
}

/* Note a use; true if who goes first here matters. */
static bool note_use(const void *address, unsigned users)
{
	struct place *place = place_of(address);
	bool before = is_shared(place->users);

	place->users |= (uint8_t)users;
	if (before != is_shared(place->users))
		more_is_shared = true;
	return is_shared(place->users);
}

static uint64_t read_memory(const void *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);	/* little-endian */
	return v;
}

static void trace(enum ex_op op, const void *p, size_t size, const char *file,
		  int line)
{
	static const char *const names[] = { "load", "store", "rmw", "cas",
					     "wait", "wake" };
	const char *base = strrchr(file, '/');

	printf("%*s%d %-5s %s:%d", self * 12, "", self, names[op],
	       base ? base + 1 : file, line);
	if (op != EX_WAKE)
		printf("  %p = %#" PRIx64, p, read_memory(p, size));
	printf("\n");
}

void ex_point(enum ex_op op, const void *p, size_t size, const char *file,
	      int line)
{
	if (self < 0)
		return;		/* setup or check: nobody else runs */
	if (++steps > STEPS_MAX)
		ex_fail("livelock: more than %d steps", STEPS_MAX);
	if (op == EX_WAIT || op == EX_WAKE ||
	    note_use(p, 1u << self | (op == EX_LOAD ? 0 : WRITTEN)))
		schedule();
	if (op != EX_WAKE)
		check_alive(p, file, line);
	if (tracing)
		trace(op, p, size, file, line);
	if (op != EX_LOAD)
		writes++;
}

bool ex_cas_fails(void)
{
	if (self < 0 || !budget)
		return false;
	if (!decide(2))
		return false;
	budget--;
	if (tracing)
		printf("%*s  fails for no reason\n", self * 12, "");
	return true;
}

void ex_yield(void)
{
	if (self < 0)
		ex_fail("the lock is held with nobody running");
	if (++steps > STEPS_MAX)
		ex_fail("livelock: more than %d steps", STEPS_MAX);
	threads[self].status = SPINNING;
	threads[self].writes_seen = writes;
	schedule();
}

int ex_self(void)
{
	return self;
}

void ex_free(void *memory, size_t size)
{
	if (freed_count == FREED_MAX)
		abort();
	freed[freed_count].memory = memory;
	freed[freed_count++].size = size;
	/* It matters whether any access to it came before. */
	for (size_t i = 0; i < size; i++)
		note_use((char *)memory + i, WRITTEN | 0xf);
}

void ex_signal(void (*handler)(void))
{
	threads[self].handler = handler;
}

void ex_clock_advance(int64_t ns)
{
	now_ns += ns;
}

void ex_set(uint32_t *flag)
{
	ex_point(EX_STORE, flag, sizeof(*flag), __FILE__, __LINE__);
	*flag = 1;
}

bool ex_await(const uint32_t *flag)
{
	for (;;) {
		ex_point(EX_LOAD, flag, sizeof(*flag), __FILE__, __LINE__);
		if (*flag)
			return true;
		ex_yield();
	}
}

/*
 * The rest of the seam: sleeping, the clock, waiting for others.
 */
enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	struct thread *t = &threads[self];

	ex_point(EX_WAIT, word, sizeof(*word), __FILE__, __LINE__);
	if (*word != value)
		return WEIR_WOKEN_;
	if (deadline_ns <= now_ns)
		return WEIR_WOKE_LATE_;
	t->status = BLOCKED;
	t->futex = word;
	t->deadline = deadline_ns;
	t->slept_at = writes++;
	schedule();
	return t->woke;
}

void weir_futex_wake_(uint32_t *word)
{
	struct thread *first = NULL;

	ex_point(EX_WAKE, word, sizeof(*word), __FILE__, __LINE__);
	for (int i = 0; i < thread_count; i++) {
		struct thread *t = &threads[i];

		if (t->status == BLOCKED && t->futex == word &&
		    (!first || t->slept_at < first->slept_at))
			first = t;
	}
	if (first)
		wake(first, WEIR_WOKEN_);
}

int64_t weir_now_ns(void)
{
	return now_ns;
}

int64_t weir_deadline_after(int64_t timeout_ns)
{
	return timeout_ns > WEIR_FOREVER - now_ns ? WEIR_FOREVER :
						    now_ns + timeout_ns;
}

uint8_t weir_cpu_(void)
{
	return 1;
}

bool weir_cpu_has_others_(void)
{
	return false;
}

void weir_backoff_wait_(struct weir_backoff_ *backoff)
{
	(void)backoff;
	ex_yield();
}

uint32_t weir_forks_(void)
{
	return 0;
}

/*
 * Running.
 */
static void thread_main(void)
{
	scenario->threads[self]();
	threads[self].status = DONE;
	writes++;	/* somebody may have waited for a plain variable of ours */
	threads[self].handler = NULL;
	schedule();
	abort();	/* nobody goes on with a thread that is done */
}

static bool panics_expected;

void ex_expect_panics(void)
{
	panics_expected = true;
}

static void on_panic(const char *text)
{
	if (panics_expected)
		return;
	ex_fail("panic: %s", text);
}

/* One run along path; false if it fails. */
static bool run(void)
{
	path_at = steps = 0;
	freed_count = 0;
	now_ns = 1000000000;
	writes = 0;
	budget = scenario->bound;
	self = -1;
	thread_count = 0;
	panics_expected = false;
	failed = false;
	if (setjmp(failed_outside))
		return false;
	scenario->setup();
	while (thread_count < EX_THREADS && scenario->threads[thread_count]) {
		struct thread *t = &threads[thread_count++];

		t->status = READY;
		t->futex = NULL;
		t->handler = NULL;
		t->handle = false;
		fiber_prepare(&t->fiber, thread_main);
	}
	schedule();
	self = -1;
	if (!failed && scenario->check)
		scenario->check();
	return !failed;
}

/* Change the last decision that has another option; false: none is left. */
static bool next_path(void)
{
	while (path_length) {
		struct decision *last = &path[path_length - 1];

		if (++last->chosen < last->options)
			return true;
		path_length--;
	}
	return false;
}

static void report(uint64_t runs)
{
	printf("FAIL %s after %" PRIu64 " schedules: %s\nschedule:",
	       scenario->name, runs, message);
	for (int i = 0; i < path_at; i++)
		printf(" %d", path[i].chosen);
	printf("\n");
	tracing = true;
	(void)run();
	tracing = false;
}

static bool explore(uint64_t *runs)
{
	memset(places, 0, sizeof(places));
	path_length = 0;
	*runs = 0;
	do {
		more_is_shared = false;
		++*runs;
		if (!run()) {
			report(*runs);
			return false;
		}
		if (more_is_shared)
			path_length = 0;
	} while (more_is_shared || next_path());
	return true;
}

static bool wanted(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const char *bound = getenv("WEIR_MODEL_BOUND");
	uint64_t total = 0;
	double begun = seconds();
	int passed = 0, failures = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	weir_set_panic_hook(on_panic);
	for (int i = 0; i < scenario_count; i++) {
		uint64_t runs;

		scenario = scenarios[i];
		if (!wanted(scenario->name, argc, argv))
			continue;
		if (bound && scenario->bound < atoi(bound))
			scenario->bound = atoi(bound);
		if (explore(&runs)) {
			printf("ok %s: %" PRIu64 " schedules, bound %d\n",
			       scenario->name, runs, scenario->bound);
			passed++;
		} else {
			failures++;
		}
		total += runs;
	}
	printf("%" PRIu64 " schedules, %.0f a second\n", total,
	       (double)total / (seconds() - begun));
	printf("%d passed, %d failed\n", passed, failures);
	return failures || !passed;
}
