/* SPDX-License-Identifier: MIT */
/*
 * Threads, and one run of a scenario from start to end.
 *
 * The controller runs on the program's own stack, and each thread of the
 * scenario on a stack of its own.  At a point where another thread could run
 * first, the running thread pauses: the controller lists the options, search.c
 * chooses one, and the controller switches to that thread.  So every thread
 * that does not run is inside ex_pause, and its stack is its complete state.
 *
 * A decision is addressed by its number among all points of the run, including
 * points with a single option.  Option 0 is "continue with this thread" where
 * that is possible, and options that cost budget come last.  So the list of
 * decisions other than 0 is a schedule, independent of the bound.
 *
 * The order of threads matters only before an access to memory that several
 * threads use and at least one writes.  Other accesses commute, and nothing is
 * decided before them, except whether a signal handler of this thread runs.  The
 * runs discover which memory is shared; when a run discovers more of it, the
 * search starts again (search.c).
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#if EX_PROCESSES
#include "process.h"
#endif
#include "weir/base.h"

struct engine *ex;

void ex_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ex->message, sizeof(ex->message), format, args);
	va_end(args);
	ex->failed = true;
	/* The threads are not unwound; the next run creates new ones. */
	siglongjmp(ex->failed_outside, 1);
}

void ex_step(void)
{
	if (++ex->steps > EX_STEPS_MAX)
		ex_fail("livelock: more than %d steps", EX_STEPS_MAX);
}

/*
 * Memory that threads share.
 */
static struct ex_use *use_of(const void *address)
{
	size_t i = ((uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15)) >> 52;

	while (ex->uses[i].address && ex->uses[i].address != address)
		i = (i + 1) % EX_PLACES;
	ex->uses[i].address = address;
	return &ex->uses[i];
}

static bool is_shared(unsigned users)
{
	unsigned threads = users & ~EX_WRITTEN;

	return users & EX_WRITTEN && threads & (threads - 1);
}

bool ex_note_users(const void *address, unsigned users)
{
	struct ex_use *use = use_of(address);
	bool before = is_shared(use->users);

	use->users |= (ex_users)users;
	if (before != is_shared(use->users))
		ex->more_is_shared = true;
	return is_shared(use->users);
}

bool ex_note_use(const void *address, bool write)
{
	return ex_note_users(address,
			     1u << ex->self | (write ? EX_WRITTEN : 0));
}

void ex_free(void *memory, size_t size)
{
	if (ex->freed_count == EX_FREED_MAX)
		ex_fail("too much is freed");
	/* Freeing memory orders the stores of this thread before it. */
	ex_drain(NULL);
	ex->freed[ex->freed_count].memory = memory;
	ex->freed[ex->freed_count++].size = size;
	/* Any access by any thread must be ordered with this one. */
	for (size_t i = 0; i < size && !EX_PROCESSES; i++)
		ex_note_users((char *)memory + i,
			      EX_WRITTEN | ((1u << EX_THREADS) - 1));
	ex_touch(memory, size, true);
}

bool ex_is_freed(const void *memory)
{
	for (int i = 0; i < ex->freed_count; i++)
		if (ex->freed[i].memory == memory)
			return true;
	return false;
}

/*
 * The options at a point.
 */
static bool can_go_on(const struct ex_thread *t)
{
#if EX_PROCESSES
	if (!ex_process_lets_go((int)(t - ex->threads)))
		return false;
#endif
	return t->status == EX_READY ||
	       ((t->status == EX_SPINNING || t->status == EX_POLLING) &&
		t->writes_seen != ex->writes);
}

bool ex_can_go(const struct ex_thread *t)
{
	if (can_go_on(t))
		return true;
	if (t->status != EX_POLLING)
		return false;
	for (int i = 0; i < ex->thread_count; i++)
		if (can_go_on(&ex->threads[i]))
			return false;
	return true;
}

/* Add an option of this kind for each thread of a bit set. */
int ex_list_kind(struct ex_option *options, int n, unsigned set,
		 enum ex_kind kind)
{
	for (; set; set &= set - 1)
		options[n++] = (struct ex_option){ (uint8_t)__builtin_ctz(set),
						   (uint8_t)kind };
	return n;
}

void ex_wake(struct ex_thread *t, enum weir_woke_ why)
{
	t->status = EX_READY;
	t->futex = NULL;
	t->woke = why;
}

#if EX_PROCESSES
#define list_options ex_process_options
#define is_stuck(options, n) false
#else
static bool self_can_go(void)
{
	return ex->self >= 0 && ex_can_go(&ex->threads[ex->self]);
}

/* Called at every point of every run. */
static int list_options(struct ex_option *options)
{
	unsigned go = 0, blocked = 0, timed = 0, delayed = 0, handlers = 0, self = 0;
	int count = ex->thread_count, n = 0;

	if (ex->self >= 0)
		self = 1u << ex->self;
	for (int i = 0; i < count; i++) {
		const struct ex_thread *t = &ex->threads[i];
		unsigned bit = 1u << i;

		if (t->delayed_count)
			delayed |= bit;
		if (t->handler)
			handlers |= bit;	/* never of an ended thread */
		if (t->status == EX_BLOCKED) {
			blocked |= bit;
			if (t->deadline != WEIR_FOREVER)
				timed |= bit;
		} else if (t->status == EX_READY || ex_can_go(t)) {
			go |= bit;
		}
	}
	n = ex_list_kind(options, n, go & self, EX_GO);
	if (ex->only_signals)
		return ex->budget ? ex_list_kind(options, n, handlers & self,
						 EX_SIGNAL) : n;
	/* A delayed store may reach memory at any time. */
	n = ex_list_kind(options, n, delayed, EX_DRAIN);
	if (go & self && ex->search == EX_DEPTH_FIRST && !ex->budget)
		return n;
	n = ex_list_kind(options, n, go & ~self, EX_GO);
	n = ex_list_kind(options, n, timed, EX_TIMEOUT);
	if (!ex->budget)
		return n;
	n = ex_list_kind(options, n, blocked, EX_SPURIOUS);
	return ex_list_kind(options, n, handlers & (blocked | self), EX_SIGNAL);
}

/* Returns true if only spurious wake-ups are possible. */
static bool is_stuck(const struct ex_option *options, int n)
{
	for (int i = 0; i < n; i++)
		if (options[i].kind != EX_SPURIOUS)
			return false;
	return true;
}

static void apply(struct ex_option o)
{
	struct ex_thread *t = &ex->threads[o.thread];
	bool switches = o.thread != ex->self;

	if (o.kind == EX_DRAIN) {
		ex_drain_one(t);
		return;
	}
	if (o.kind == EX_SPURIOUS || o.kind == EX_SIGNAL ||
	    (switches && self_can_go() && ex->search == EX_DEPTH_FIRST))
		ex->budget--;
	if (o.kind == EX_TIMEOUT) {
		ex_note_users(&ex->now_ns, 1u << o.thread | EX_WRITTEN);
		if (ex->now_ns < t->deadline)
			ex->now_ns = t->deadline;
	}
	if (t->status == EX_BLOCKED)
		ex_wake(t, o.kind == EX_TIMEOUT ? WEIR_WOKE_LATE_ :
			   o.kind == EX_SIGNAL	? WEIR_WOKE_SIGNAL_ :
						  WEIR_WOKEN_);
	t->status = EX_READY;
	t->handle = o.kind == EX_SIGNAL;
	ex->self = o.thread;
}

#endif

/* Choose the thread that runs now; the controller if the run has ended. */
static struct fiber *choose_next(void)
{
	struct ex_option options[EX_OPTIONS_MAX];

	for (;;) {
		int n = list_options(options), chosen;

		if (is_stuck(options, n))
			return &ex->controller;
		chosen = ex_decide(options, n);
		if (ex->abandoned)
			return &ex->controller;
#if EX_PROCESSES
		if (options[chosen].kind == EX_FINISH)
			return &ex->controller;
		if (ex_process_apply(options[chosen]))
			return &ex->threads[ex->self].fiber;
#else
		apply(options[chosen]);
		if (options[chosen].kind != EX_DRAIN)
			return &ex->threads[ex->self].fiber;
#endif
	}
}

/* Run until all threads have ended, or the search abandons this run. */
static void control(void)
{
	struct fiber *next;

	while ((next = choose_next()) != &ex->controller)
		fiber_switch(&ex->controller, next);
#if EX_PROCESSES
	return;
#endif
	for (int i = 0; i < ex->thread_count && !ex->abandoned; i++)
		if (ex->threads[i].status != EX_DONE)
			ex_fail("deadlock: thread %d cannot go on", i);
}

/*
 * In the depth-first search the controller decides, because the state is hashed
 * and must be on the threads' stacks by then.  In other searches the thread
 * decides itself: it mostly continues, which saves two switches.
 */
__attribute__((noinline)) void ex_pause(void)
{
	struct ex_thread *t = &ex->threads[ex->self];
	struct fiber *next = &ex->controller;

	if (ex->search != EX_DEPTH_FIRST) {
		t->fiber.sp = __builtin_frame_address(0);
		next = choose_next();
	}
	if (next != &t->fiber)
		fiber_switch(&t->fiber, next);
	if (t->handle) {
		void (*handler)(void) = t->handler;

		t->handle = false;
		t->handler = NULL;
		/* The handler may pause without a point of its own: it waits. */
		ex->only_signals = false;
		handler();
	}
}

/*
 * Running.
 */
static void thread_main(void)
{
	struct ex_thread *t = &ex->threads[ex->self];

#if EX_PROCESSES
	ex_process_main();
#else
	ex->scenario->threads[ex->self]();
#endif
	while (t->delayed_count)
		ex_drain_one(t);
	t->status = EX_DONE;
	t->handler = NULL;
	ex->writes++;	/* a thread may wait for a plain variable of this one */
	ex_pause();
	abort();	/* an ended thread is never chosen */
}

#if EX_PROCESSES
int ex_thread_new(void)
{
	int i = ex->thread_count++;
	struct ex_thread *t = &ex->threads[i];

	if (i == EX_THREADS)
		ex_fail("too many threads");
	*t = (struct ex_thread){ .fiber.stack = ex->stacks[i] };
	fiber_prepare(&t->fiber, thread_main);
	return i;
}
#endif

static void make_threads(void)
{
#if EX_PROCESSES
	ex_process_begin();
	return;
#endif
	while (ex->thread_count < EX_THREADS &&
	       ex->scenario->threads[ex->thread_count]) {
		int i = ex->thread_count++;
		struct ex_thread *t = &ex->threads[i];

		*t = (struct ex_thread){ .fiber.stack = ex->stacks[i] };
		fiber_prepare(&t->fiber, thread_main);
	}
}

bool ex_run(void)
{
	ex->path_at = ex->steps = 0;
	ex->freed_count = 0;
	ex->now_ns = 1000000000;
	ex->writes = 0;
	ex->budget = ex->bound;
	ex->self = -1;
	ex->thread_count = 0;
	ex->panics_expected = ex->abandoned = ex->failed = false;
	ex->only_signals = false;
	ex->runs++;
	if (sigsetjmp(ex->failed_outside, 0)) {
		ex->self = -1;
		return false;
	}
#if EX_PROCESSES
	if (ex_process_resume()) {
		control();
		goto ended;
	}
#endif
	ex_state_restore();
	if (ex->races)
		ex_races_begin();
	if (ex->stale)
		ex_stale_begin();
	ex->scenario->setup();
	make_threads();
	control();
#if EX_PROCESSES
ended:
#endif
	ex->self = -1;
	if (ex->tracing)
		ex_trace_end();
	if (ex->abandoned)
		ex->abandoned_runs++;
	else if (ex->scenario->check)
		ex->scenario->check();
	return true;
}
