/* SPDX-License-Identifier: MIT */
/*
 * The explorer's implementation of atomics, futex, clock, CPU and heap.  The
 * threads of a scenario take turns on one real thread, so the accesses
 * themselves are plain.
 *
 * Delayed stores (--delays).  A store may stay in a store buffer of its thread:
 * the thread sees it, other threads do not.  It reaches memory before any
 * release of the same thread, before a read-modify-write of the same address,
 * and before the thread sleeps, wakes another thread or ends; otherwise when
 * the search decides.  So a store that must be ordered before a later access
 * and is not becomes visible after it.  Loads that are executed early: stale.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/event.h"
#include "base/spin.h"
#include "base/fork.h"
#include "base/mem.h"
#include "base/frame.h"
#include "base/thread.h"
#include "engine.h"
#if EX_PROCESSES
#include "process.h"
#endif
#include "weir/base.h"

static const struct ex_place here = { "explorer", 0 };

static uint64_t read_memory(const void *p, size_t size)
{
	uint64_t v = 0;

	/* Little-endian.  With a constant size memcpy is not a call. */
	switch (size) {
	case 8:
		memcpy(&v, p, 8);
		break;
	case 4:
		memcpy(&v, p, 4);
		break;
	default:
		memcpy(&v, p, size);
	}
	return v;
}

static bool inside(const void *p, const char *start, size_t size)
{
	return (const char *)p >= start && (const char *)p < start + size;
}

static void check_alive(const void *p, const struct ex_place *at)
{
	int i;

	for (i = 0; i < ex->freed_count; i++)
		if (inside(p, ex->freed[i].memory, ex->freed[i].size))
			ex_fail("%s:%d: access to freed memory", at->file,
				at->line);
	if (!inside(p, ex->stacks[0], sizeof(ex->stacks)))
		return;
	i = (int)(((const char *)p - ex->stacks[0]) / FIBER_STACK);
#if EX_PROCESSES
	/* The memory of a killed process is there until its last thread ends. */
	if (proc_status(proc_of(i)) > EX_STOPPED)
		return;
#endif
	if (i != ex->self && (ex->threads[i].status == EX_DONE ||
			      (const char *)p < (char *)ex->threads[i].fiber.sp))
		ex_fail("%s:%d: access to the stack of a call that has returned",
			at->file, at->line);
}

static void write_memory(void *p, size_t size, uint64_t value)
{
	uint64_t before = read_memory(p, size);

	memcpy(p, &value, size);
	ex->writes++;
	if (ex->self >= 0)
		ex->threads[ex->self].own_writes++;
	if (ex_meaning.written)
		ex_meaning.written(p, before, read_memory(p, size));
}

/* A write by an atomic access, which races.c has seen. */
static void write_atomic(void *p, size_t size, uint64_t value,
			 enum ex_order order)
{
	uint64_t before = read_memory(p, size);

	write_memory(p, size, value);
	if (ex->stale && ex->self >= 0)
		ex_stale_write(p, before, read_memory(p, size), order);
}

/*
 * Returns true if there is nothing to decide; the point is counted.  Noinline,
 * like ex_decide, so that its registers are not part of the thread's state.
 */
__attribute__((noinline)) static bool goes_on(bool shared)
{
	const struct ex_thread *t = &ex->threads[ex->self];
	bool replays = ex->path_at < ex->path_length;

#if EX_PROCESSES
	if (!replays && ex_process_goes_on()) {
		(void)ex_decide(NULL, 1);
		return true;
	}
	if (!replays && ex_process_is_dying())
		return false;
#endif
	if (replays && !ex->path[ex->path_at].chosen && ex_can_go(t)) {
		ex->path_at++;
		return true;
	}
	/* Depth first without budget, continuing is the only option. */
	if (!replays && (!shared || (ex->search == EX_DEPTH_FIRST &&
				     !ex->budget && !ex->delays))) {
		(void)ex_decide(NULL, 1);
		return true;
	}
	return false;
}

void ex_point(enum ex_op op, const void *p, size_t size, bool shared,
	      const struct ex_place *at)
{
	ex_step();
#if EX_PROCESSES
	ex_process_at(op, p);
#endif
	/* A handler may run between any two accesses of its thread. */
	ex->only_signals = !shared && ex->threads[ex->self].handler;
	if (!goes_on(shared || ex->only_signals))
		ex_pause();
	ex->only_signals = false;
	if (ex->tracing)
		ex_trace_begin(op, p, size, at);
}

/* A depth-first run begins like the previous one: checks are not repeated. */
static bool is_replayed(void)
{
	return ex->search == EX_DEPTH_FIRST && ex->path_at < ex->path_length;
}

/* Called before an access.  Returns false in setup and check. */
static bool enter(enum ex_op op, const void *p, size_t size,
		  const struct ex_place *at)
{
	if (ex->self < 0)
		return false;
	if (is_replayed() && !ex->path[ex->path_at].chosen) {
		ex_step();
		ex->path_at++;
#if EX_PROCESSES
		ex_process_at(op, p);
#endif
	} else {
		ex_point(op, p, size, ex_note_use(p, op != EX_LOAD), at);
		check_alive(p, at);
	}
	ex->threads[ex->self].at = *at;
	return true;
}

/* Returns true if the search decides to spend budget on a disturbance. */
__attribute__((noinline)) static bool disturbed(const char *what)
{
	bool may = ex->budget > 0;

#if EX_PROCESSES
	may = may && ex_process_explores();
#endif
	if (!ex_decide(NULL, may ? 2 : 1))
		return false;
	ex->budget--;
	if (ex->tracing)
		ex_trace_note(what);
	return true;
}

bool ex_others_wrote(const struct ex_thread *t)
{
	return t->rechecks && ex->writes - t->own_writes != t->others_seen;
}

/*
 * Delayed stores.
 */
void ex_drain_one(struct ex_thread *t)
{
	struct ex_delayed first = t->delayed[0];
	int self = ex->self;

	memmove(t->delayed, t->delayed + 1,
		(size_t)--t->delayed_count * sizeof(first));
	memset(&t->delayed[t->delayed_count], 0, sizeof(first));
	ex->self = (int)(t - ex->threads);
	check_alive(first.p, &here);
	if (ex->tracing)
		ex_trace_begin(EX_STORE, first.p, first.size, &here);
	write_memory(first.p, first.size, first.value);
	ex->self = self;
}

/* Drain all stores of t, or those up to the last one at p. */
static void drain(struct ex_thread *t, const void *p)
{
	int n = t->delayed_count;

	while (p && n && t->delayed[n - 1].p != p)
		n--;
	while (n--)
		ex_drain_one(t);
}

void ex_drain(const void *p)
{
	struct ex_thread *t = &ex->threads[ex->self];

	if (t->delayed_count)
		drain(t, p);
}

static void drain_for(const void *p, enum ex_order order)
{
	ex_drain(order == EX_RELEASE || order == EX_ACQ_REL ? NULL : p);
}

/* Stores stay in order, so a delayed release stays behind earlier stores. */
static bool is_delayed(void *p, size_t size, uint64_t value)
{
	struct ex_thread *t = &ex->threads[ex->self];

	if (!ex->delays || t->delayed_count == EX_DELAYED_MAX ||
	    !disturbed("is delayed"))
		return false;
	t->delayed[t->delayed_count++] = (struct ex_delayed){ p, size, value };
	return true;
}

static bool own_delayed(const void *p, uint64_t *value)
{
	const struct ex_thread *t = &ex->threads[ex->self];

	for (int i = t->delayed_count; i--;) {
		if (t->delayed[i].p == p) {
			*value = t->delayed[i].value;
			return true;
		}
	}
	return false;
}

/*
 * Atomics.
 */
uint64_t ex_load(const void *p, size_t size, enum ex_order order,
		 const struct ex_place *at)
{
	bool newest = order == EX_SEQ_CST;
	uint64_t value;

	if (newest)
		order = EX_ACQUIRE;
	if (enter(EX_LOAD, p, size, at)) {
		if (newest)
			ex_drain(NULL);
		if (ex->races)
			ex_races_atomic(p, size, true, false,
					ex->stale && !newest ? EX_RELAXED :
							       order);
		if (ex->stale && newest)
			ex_stale_read_newest(p, read_memory(p, size));
		else if (ex->stale)
			return ex_stale_read(p, read_memory(p, size), order);
		if (own_delayed(p, &value))
			return value;
	}
	return read_memory(p, size);
}

void ex_store(void *p, size_t size, uint64_t value, enum ex_order order,
	      const struct ex_place *at)
{
	if (enter(EX_STORE, p, size, at)) {
		if (ex->races)
			ex_races_atomic(p, size, false, true, order);
		if (is_delayed(p, size, value))
			return;
		drain_for(p, order);
	}
	write_atomic(p, size, value, order);
}

uint64_t ex_rmw(void *p, size_t size, enum ex_rmw op, uint64_t operand,
		enum ex_order order, const struct ex_place *at)
{
	uint64_t before;

	if (enter(EX_RMW, p, size, at)) {
		if (ex->races)
			ex_races_atomic(p, size, true, true, order);
		drain_for(p, order);
	}
	before = read_memory(p, size);
	write_atomic(p, size, op == EX_SWAP ? operand :
			      op == EX_ADD  ? before + operand :
					      before - operand, order);
	return before;
}

bool ex_cas(void *p, size_t size, void *expected, uint64_t value,
	    enum ex_order order, const struct ex_place *at)
{
	bool runs = enter(EX_CAS, p, size, at);
	uint64_t before;
	bool equal;

	if (runs)
		drain_for(p, order);
	before = read_memory(p, size);
	equal = before == read_memory(expected, size);
	if (runs && equal && disturbed("fails spuriously"))
		equal = false;
	if (runs && ex->races)
		ex_races_atomic(p, size, true, equal,
				equal ? order : EX_RELAXED);
	if (equal)
		write_atomic(p, size, value, order);
	else
		memcpy(expected, &before, size);
	if (runs && ex->stale && !equal)
		ex_stale_read_newest(p, before);
	return equal;
}

/*
 * For scenarios.
 */
static void let_others_go(enum ex_status status)
{
	struct ex_thread *t = &ex->threads[ex->self];

	if (ex->self < 0)
		ex_fail("setup or check waits, and no thread runs");
	ex_step();
	ex_drain(NULL);
	if (t->read_stale) {
		/* The newer value is visible soon: the thread reads again. */
		t->read_stale = false;
		return;
	}
	t->status = status;
	t->writes_seen = ex->writes;
#if EX_PROCESSES
	ex_process_at(EX_CALL, NULL);
#endif
	ex_pause();
}

void ex_recheck(void)
{
	struct ex_thread *t = &ex->threads[ex->self];

	t->rechecks = true;
	t->others_seen = ex->writes - t->own_writes;
}

void ex_yield(void)
{
	bool missed = false;

	if (ex->self >= 0) {
		missed = ex_others_wrote(&ex->threads[ex->self]);
		ex->threads[ex->self].rechecks = false;
	}
	if (!missed)
		let_others_go(EX_SPINNING);
}

bool ex_is_watched(void)
{
	return ex->watched;
}

int ex_self(void)
{
	return ex->self;
}

void ex_signal(void (*handler)(void))
{
	ex->threads[ex->self].handler = handler;
}

void ex_signal_point(void)
{
	if (ex->self >= 0 && ex->threads[ex->self].handler)
		ex_point(EX_CALL, NULL, 0, false, &here);
}

void ex_clock_advance(int64_t ns)
{
	ex_note_use(&ex->now_ns, true);
	ex->now_ns += ns;
}

void ex_set(uint32_t *flag)
{
	ex_store(flag, sizeof(*flag), 1, EX_RELEASE, &here);
}

void ex_await(const uint32_t *flag)
{
	while (!ex_load(flag, sizeof(*flag), EX_ACQUIRE, &here))
		ex_yield();
}

void ex_expect_panics(void)
{
	ex->panics_expected = true;
}

/*
 * Sleeping and the clock.
 */
enum weir_woke_ weir_futex_wait_(uint32_t *word, uint32_t value,
				 int64_t deadline_ns)
{
	struct ex_thread *t = &ex->threads[ex->self];

	ex_drain(NULL);
	ex_point(EX_WAIT, word, sizeof(*word), true, &here);
	check_alive(word, &here);
	if (*word != value)
		return WEIR_WOKEN_;
	if (deadline_ns <= ex->now_ns)
		return WEIR_WOKE_LATE_;
	t->status = EX_BLOCKED;
	t->futex = word;
	t->deadline = deadline_ns;
	t->slept_at = ex->writes++;
	t->own_writes++;
	ex_pause();
	return t->woke;
}

/* No time limit: a scenario must not depend on it. */
void weir_futex_doze_(uint32_t *word, uint32_t value, uint32_t ns)
{
	(void)ns;
	(void)weir_futex_wait_(word, value, WEIR_FOREVER);
}

/* The word may be freed already: like futex(2), this does not read it. */
void weir_futex_wake_(uint32_t *word)
{
	struct ex_thread *first = NULL;

	ex_drain(NULL);
	ex_point(EX_WAKE, word, 0, true, &here);
	for (int i = 0; i < ex->thread_count; i++) {
		struct ex_thread *t = &ex->threads[i];

		if (t->status == EX_BLOCKED && t->futex == word &&
		    (!first || t->slept_at < first->slept_at))
			first = t;
	}
	ex->writes++;
	if (ex->self >= 0)
		ex->threads[ex->self].own_writes++;
	if (first)
		ex_wake(first, WEIR_WOKEN_);
}

int64_t weir_now_ns(void)
{
	if (ex->self >= 0)
		ex_point(EX_CLOCK, &ex->now_ns, sizeof(ex->now_ns),
			 ex_note_use(&ex->now_ns, false), &here);
	return ex->now_ns;
}

int64_t weir_recent_ns_(void)
{
	return weir_now_ns();
}

int64_t weir_deadline_after(int64_t timeout_ns)
{
	int64_t now = weir_now_ns();

	return timeout_ns > WEIR_FOREVER - now ? WEIR_FOREVER :
						 now + timeout_ns;
}

/*
 * The machine: one CPU or one per thread, one process, a small heap.
 */
uint8_t weir_cpu_(void)
{
	return (uint8_t)(ex->spins ? ex->self + 1 : 1);
}

uint32_t weir_cpu_number_(void)
{
	return ex->self < 0 ? 0 : (uint32_t)ex->self;
}

uint32_t weir_cpu_span_(void)
{
	return EX_THREADS;
}

bool weir_cpu_has_others_(void)
{
	return ex->spins > 0;
}

void weir_cpu_yield_(void)
{
	let_others_go(EX_POLLING);
}

bool weir_spin_wait_may_pay_(void)
{
	return ex->spins > 0;
}

struct weir_spin_wait_ weir_spin_wait_begin_(int64_t ns)
{
	(void)ns;
	return (struct weir_spin_wait_){ 0, 0, 0 };
}

bool weir_spin_wait_continue_(struct weir_spin_wait_ *spin)
{
	if (++spin->pauses >= ex->spins)
		return false;
	let_others_go(EX_POLLING);
	return true;
}

bool weir_spin_wait_back_off_(struct weir_spin_wait_ *spin)
{
	return weir_spin_wait_continue_(spin);
}

void weir_spin_wait_end_(bool paid)
{
	(void)paid;
}

void weir_backoff_wait_(struct weir_backoff_ *backoff)
{
	(void)backoff;
	ex_yield();
}

void weir_backoff_recheck_(struct weir_backoff_ *backoff)
{
	(void)backoff;
	if (ex->self >= 0)
		ex_recheck();
}

uint32_t weir_generation_ = 1;

uint32_t ex_forks;

uint32_t weir_forks_(void)
{
	return ex_forks;
}

/* One per thread, and one for setup and check. */
struct weir_to_run_ *weir_thread_to_run_(void)
{
	static struct weir_to_run_ to_run[EX_THREADS + 1];

	return &to_run[ex->self + 1];
}

/* Callbacks of scenarios return. */
void weir_frame_enter_at_(struct weir_frame_ *frame, const char *call,
			  const void *object, void (*left)(void *arg),
			  void *arg, const void *at)
{
	(void)frame;
	(void)call;
	(void)object;
	(void)left;
	(void)arg;
	(void)at;
}

void weir_frame_leave_(struct weir_frame_ *frame)
{
	(void)frame;
}

void weir_frame_set_object_(struct weir_frame_ *frame, const void *object)
{
	frame->object = object;
}

void weir_frame_end_(struct weir_frame_ *frame)
{
	(void)frame;
}

weir_err weir_frame_check_at_(const char *call, const void *at)
{
	(void)call;
	(void)at;
	return WEIR_OK;
}

int weir_thread_cancel_off_(void)
{
	return 0;
}

void weir_thread_cancel_reset_(int before)
{
	(void)before;
}

/* Nonzero while the only descriptor, number 1, is readable. */
uint32_t ex_event;

int weir_event_open_(void)
{
	ex_event = 0;
	return 1;
}

static void check_event(int fd)
{
	if (fd != 1)
		ex_fail("descriptor %d is not open", fd);
}

/* The kernel's lock orders the calls that raise and clear a descriptor. */
static void set_event(int fd, uint32_t value)
{
	check_event(fd);
	(void)ex_rmw(&ex_event, sizeof(ex_event), EX_SWAP, value, EX_ACQ_REL,
		     &here);
}

void weir_event_raise_(int fd)
{
	set_event(fd, 1);
}

void weir_event_clear_(int fd)
{
	set_event(fd, 0);
}

void weir_event_close_(int fd)
{
	check_event(fd);
}

/* A heap of cache lines.  Freed lines are not reused: late accesses fail. */
#define LINE ((size_t)64)
#ifdef EX_HEAP_LINES
#define LINES EX_HEAP_LINES
#else
#define LINES 4
#endif

static _Alignas(64) char heap[LINES][LINE];
static uint16_t heap_used, heap_sizes[LINES];

#if EX_PROCESSES
static uint8_t heap_owners[LINES];	/* process that allocated the line */

bool ex_is_own_heap(const void *p)
{
	return inside(p, heap[0], sizeof(heap)) &&
	       heap_owners[(size_t)((const char *)p - heap[0]) / LINE] == proc_self();
}
#endif

void *weir_mem_alloc_(size_t size)
{
	size_t lines = (size + LINE - 1) / LINE;
	size_t at = heap_used;

	if (lines > LINES - at)
		return NULL;
	heap_used = (uint16_t)(at + lines);
	heap_sizes[at] = (uint16_t)lines;
#if EX_PROCESSES
	memset(&heap_owners[at], proc_self(), lines);
#endif
	return heap[at];
}

void weir_mem_free_(void *memory)
{
	size_t at = (size_t)((char *)memory - heap[0]) / LINE;

	/* After the run, no thread is left that could access it. */
	if (memory && ex->self >= 0)
		ex_free(memory, heap_sizes[at] * LINE);
}
