/* SPDX-License-Identifier: MIT */
/*
 * Threads, and one run of a scenario from start to end.
 *
 * The controller runs on the program's own stack, each thread of the scenario
 * on one of its own.  A thread that comes to a point where others might go first
 * pauses: the controller lists what may happen next, has search.c choose, and
 * goes on with that thread.  So every thread that does not run stands in
 * ex_pause, and its whole state is its stack.
 *
 * A decision is addressed by its number among all points of the run, also those
 * with nothing to decide.  Option 0 is "go on as you are" wherever that is
 * possible, and what costs budget comes last: so a list of the decisions that
 * are not 0 is a schedule, whatever the bound.
 *
 * Who goes first matters only before an access to memory that several threads
 * use and somebody writes; other accesses commute with everything, and nothing
 * is decided before them.  Which memory that is shows as the runs go by; when a
 * run finds more of it the search begins again (search.c).
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "weir/base.h"

#define WRITTEN 0x80u		/* in ex_use.users, beside a bit for each thread */

struct engine *ex;

void ex_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ex->message, sizeof(ex->message), format, args);
	va_end(args);
	ex->failed = true;
	/* Leave the threads as they are; the next run makes new ones. */
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
	unsigned threads = users & ~WRITTEN;

	return users & WRITTEN && threads & (threads - 1);
}

static bool note_users(const void *address, unsigned users)
{
	struct ex_use *use = use_of(address);
	bool before = is_shared(use->users);

	use->users |= (uint8_t)users;
	if (before != is_shared(use->users))
		ex->more_is_shared = true;
	return is_shared(use->users);
}

bool ex_note_use(const void *address, bool write)
{
	return note_users(address, 1u << ex->self | (write ? WRITTEN : 0));
}

void ex_free(void *memory, size_t size)
{
	if (ex->freed_count == EX_FREED_MAX)
		ex_fail("too much is freed");
	/* Giving memory back orders what its owner did to it. */
	ex_drain(NULL);
	ex->freed[ex->freed_count].memory = memory;
	ex->freed[ex->freed_count++].size = size;
	/* It matters whether any access to it came before. */
	for (size_t i = 0; i < size; i++)
		note_users((char *)memory + i, WRITTEN | 0xf);
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
 * What may happen next.
 */
static bool can_go_on(const struct ex_thread *t)
{
	return t->status == EX_READY ||
	       ((t->status == EX_SPINNING || t->status == EX_LOOKING) &&
		t->writes_seen != ex->writes);
}

bool ex_can_go(const struct ex_thread *t)
{
	if (can_go_on(t))
		return true;
	if (t->status != EX_LOOKING)
		return false;
	for (int i = 0; i < ex->thread_count; i++)
		if (can_go_on(&ex->threads[i]))
			return false;
	return true;
}

static bool current_can_go(void)
{
	return ex->self >= 0 && ex_can_go(&ex->threads[ex->self]);
}

/* One of a kind for each thread of a set, a bit each. */
static int list_kind(struct ex_option *options, int n, unsigned who,
		     enum ex_kind kind)
{
	for (; who; who &= who - 1)
		options[n++] = (struct ex_option){ (uint8_t)__builtin_ctz(who),
						   (uint8_t)kind };
	return n;
}

/* This is done at every point of every run. */
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
			handlers |= bit;	/* one that is done has none */
		if (t->status == EX_BLOCKED) {
			blocked |= bit;
			if (t->deadline != WEIR_FOREVER)
				timed |= bit;
		} else if (t->status == EX_READY || ex_can_go(t)) {
			go |= bit;
		}
	}
	n = list_kind(options, n, go & self, EX_GO);
	/* A delayed store may reach memory at any time. */
	n = list_kind(options, n, delayed, EX_DRAIN);
	if (go & self && ex->search == EX_DEPTH_FIRST && !ex->budget)
		return n;
	n = list_kind(options, n, go & ~self, EX_GO);
	n = list_kind(options, n, timed, EX_TIMEOUT);
	if (!ex->budget)
		return n;
	n = list_kind(options, n, blocked, EX_SPURIOUS);
	return list_kind(options, n, handlers & (blocked | self), EX_SIGNAL);
}

/* A wake for no reason does not count as a way on. */
static bool is_stuck(const struct ex_option *options, int n)
{
	for (int i = 0; i < n; i++)
		if (options[i].kind != EX_SPURIOUS)
			return false;
	return true;
}

void ex_wake(struct ex_thread *t, enum weir_woke_ why)
{
	t->status = EX_READY;
	t->futex = NULL;
	t->woke = why;
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
	    (switches && current_can_go() && ex->search == EX_DEPTH_FIRST))
		ex->budget--;
	if (o.kind == EX_TIMEOUT) {
		note_users(&ex->now_ns, 1u << o.thread | WRITTEN);
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

/* Decide who runs now; the controller, when the run is over. */
static struct fiber *who_is_next(void)
{
	struct ex_option options[EX_OPTIONS_MAX];

	for (;;) {
		int n = list_options(options), chosen;

		if (is_stuck(options, n))
			return &ex->controller;
		chosen = ex_decide(options, n);
		if (ex->abandoned)
			return &ex->controller;
		apply(options[chosen]);
		if (options[chosen].kind != EX_DRAIN)
			return &ex->threads[ex->self].fiber;
	}
}

/* Run until everybody is done, or the search gives this run up. */
static void control(void)
{
	struct fiber *next;

	while ((next = who_is_next()) != &ex->controller)
		fiber_switch(&ex->controller, next);
	for (int i = 0; i < ex->thread_count && !ex->abandoned; i++)
		if (ex->threads[i].status != EX_DONE)
			ex_fail("deadlock: thread %d cannot go on", i);
}

/*
 * Depth first the controller decides, as the state of all threads must be on their
 * stacks by then.  Other searches do not ask for it, and a thread decides itself: most
 * often it goes on, and nothing is switched.
 */
__attribute__((noinline)) void ex_pause(void)
{
	struct ex_thread *t = &ex->threads[ex->self];
	struct fiber *next = &ex->controller;

	if (ex->search != EX_DEPTH_FIRST) {
		t->fiber.sp = __builtin_frame_address(0);
		next = who_is_next();
	}
	if (next != &t->fiber)
		fiber_switch(&t->fiber, next);
	if (t->handle) {
		void (*handler)(void) = t->handler;

		t->handle = false;
		t->handler = NULL;
		handler();
	}
}

/*
 * Running.
 */
static void thread_main(void)
{
	struct ex_thread *t = &ex->threads[ex->self];

	ex->scenario->threads[ex->self]();
	while (t->delayed_count)
		ex_drain_one(t);
	t->status = EX_DONE;
	t->handler = NULL;
	ex->writes++;	/* somebody may have waited for a plain variable of ours */
	ex_pause();
	abort();	/* nobody goes on with a thread that is done */
}

static void make_threads(void)
{
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
	ex->runs++;
	if (sigsetjmp(ex->failed_outside, 0)) {
		ex->self = -1;
		return false;
	}
	ex_state_restore();
	if (ex->races)
		ex_races_begin();
	ex->scenario->setup();
	make_threads();
	control();
	ex->self = -1;
	if (ex->tracing)
		ex_trace_end();
	if (ex->abandoned)
		ex->abandoned_runs++;
	else if (ex->scenario->check)
		ex->scenario->check();
	return true;
}
