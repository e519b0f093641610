/* SPDX-License-Identifier: MIT */
/*
 * Processes: which threads can run, and which decisions there are.
 *
 * Killing a process costs 1.  The decision names the thread that ends first; the
 * other threads end later, one after another, in any order.  Until a thread of a
 * killed process ends, it may go on: it runs on another CPU, which the signal has
 * not reached yet.  That costs 1.  A thread that sleeps or is stopped does not
 * run again.  After a millisecond no thread of a killed process runs.
 *
 * A time-out costs 1 while a thread can go on or end: it is early then.
 *
 * Stopping a process costs 1.  Its threads leave the queues of the kernel.  When
 * no thread can go on, ex_quiet checks the state, and the stopped processes
 * continue without cost; earlier, that costs 1.
 *
 * The death or stop of another process than the running one matters only to the
 * kernel's queues and locks and to liveness words.  So it is decided before
 * accesses to these, and when the running thread cannot go on.  The death or
 * stop of the running process is decided before every access to shared memory,
 * plain stores to a shared file included.
 */
#include "process.h"

#include <stdlib.h>
#include <string.h>

#include "weir/base.h"

#if EX_PROCESSES

#define TIMEOUTS 3		/* of each thread between two ends, */
#define MORE_TIMEOUTS 5		/* and more if its call is limited */
/* After that time a killed thread is gone, and a store is visible. */
#define LONG_NS 1000000

/* Static memory: restored before each run, and part of the state. */
static struct {
	enum ex_proc_status status;
	bool pinned;		/* stopped by the scenario */
} procs[EX_PROCS];

static struct {
	uint8_t proc;
	uint8_t timeouts, more;
	bool stays;		/* killed while it could not run */
	bool settles;		/* in proc_settle */
	bool keeper;
	void *(*fn)(void *);
	void *arg;
} tasks[EX_THREADS];

static bool exploring, time_passes_early;
static const struct ex_place here = { "process", 0 };

/*
 * For scenarios.
 */
int proc_of(int t)
{
	return tasks[t].proc;
}

bool proc_is_keeper(int t)
{
	return tasks[t].keeper;
}

void proc_set_keeper(int t)
{
	tasks[t].keeper = true;
}

void proc_allow_timeouts(int t)
{
	/* Those of an earlier call of the thread do not count. */
	tasks[t].timeouts = 0;
	tasks[t].more = MORE_TIMEOUTS;
}

int proc_self(void)
{
	return ex->self < 0 ? 0 : tasks[ex->self].proc;
}

enum ex_proc_status proc_status(int proc)
{
	return procs[proc].status;
}

int proc_thread(void *(*fn)(void *), void *arg)
{
	int t = ex_thread_new();

	/* The new thread sees all stores of this one. */
	if (ex->self >= 0)
		ex_drain(NULL);
	tasks[t].proc = (uint8_t)proc_self();
	tasks[t].fn = fn;
	tasks[t].arg = arg;
	ex_races_start(t);
	return t;
}

bool proc_sleeps(int t)
{
	return t < ex->thread_count && ex->threads[t].status == EX_BLOCKED;
}

static void block(void)
{
	struct ex_thread *t = &ex->threads[ex->self];

	ex_drain(NULL);
	ex_process_at(EX_CALL, NULL);
	t->status = EX_BLOCKED;
	t->futex = NULL;
	t->deadline = WEIR_FOREVER;
	t->slept_at = 0;
	ex_pause();
}

void proc_settle(void)
{
	tasks[ex->self].settles = true;
	while (tasks[ex->self].settles)
		block();
}

void proc_let_time_pass(void)
{
	time_passes_early = true;
}

void proc_explore(void)
{
	exploring = true;
}

void proc_pause(void)
{
	for (;;)
		block();
}

/*
 * Processes that end, stop and continue.
 */
static bool is_gone(int t)
{
	return ex->threads[t].status == EX_DONE;
}

static bool has_threads(int proc)
{
	for (int t = 0; t < ex->thread_count; t++)
		if (tasks[t].proc == proc && !is_gone(t))
			return true;
	return false;
}

static void end_thread(int t)
{
	int proc = tasks[t].proc;

	while (ex->threads[t].delayed_count)
		ex_drain_one(&ex->threads[t]);
	ex->threads[t].status = EX_DONE;
	ex->threads[t].handler = NULL;
	ex->writes++;
	ex_races_end(t);
	kernel_end_thread(t);
	if (procs[proc].status == EX_DYING && !has_threads(proc))
		procs[proc].status = EX_ENDED;
}

/* The thread of a killed process does not run again. */
static void stay(int t)
{
	tasks[t].stays = true;
	ex_races_end(t);
}

static void begin_death(int proc)
{
	bool stopped = procs[proc].status == EX_STOPPED;

	procs[proc].status = EX_DYING;
	procs[proc].pinned = false;
	for (int t = 0; t < ex->thread_count; t++)
		if (tasks[t].proc == proc &&
		    (stopped || ex->threads[t].status != EX_READY))
			stay(t);
}

static void stop(int proc)
{
	procs[proc].status = EX_STOPPED;
	for (int t = 0; t < ex->thread_count; t++) {
		if (tasks[t].proc != proc || is_gone(t))
			continue;
		while (ex->threads[t].delayed_count)
			ex_drain_one(&ex->threads[t]);
		kernel_stop_thread(t);
	}
}

static void cont(int proc)
{
	procs[proc].status = EX_RUNNING;
	procs[proc].pinned = false;
	ex->writes++;
}

void proc_kill(int proc)
{
	if (procs[proc].status <= EX_STOPPED)
		begin_death(proc);
	ex_point(EX_CALL, NULL, 0, true, &here);
}

void proc_destroy(int proc)
{
	if (procs[proc].status <= EX_STOPPED)
		begin_death(proc);
	for (int t = 0; t < ex->thread_count; t++)
		if (tasks[t].proc == proc && !is_gone(t))
			end_thread(t);
	procs[proc].status = EX_CLOSED;
	kernel_close(proc);
}

void proc_stop(int proc)
{
	if (procs[proc].status == EX_RUNNING) {
		stop(proc);
		procs[proc].pinned = true;
	}
	ex_point(EX_CALL, NULL, 0, true, &here);
}

void proc_continue(int proc)
{
	if (procs[proc].status == EX_STOPPED)
		cont(proc);
	ex_point(EX_CALL, NULL, 0, true, &here);
}

void proc_exit(void)
{
	int t = ex->self;

	begin_death(tasks[t].proc);
	end_thread(t);
	ex_process_at(EX_CALL, NULL);
	ex_pause();
	__builtin_unreachable();
}

void proc_check(void)
{
	if (ex->self < 0 || !ex_process_is_dying())
		return;
	end_thread(ex->self);
	ex_process_at(EX_CALL, NULL);
	ex_pause();
}

/* After some time no thread of a killed process runs, and every store is visible. */
static void time_passes(int64_t ns)
{
	if (ns < LONG_NS)
		return;
	if (ex->stale)
		ex_stale_fence();
	for (int t = 0; t < ex->thread_count; t++)
		if (procs[tasks[t].proc].status == EX_DYING)
			stay(t);
}

/*
 * The options.
 */
bool ex_process_lets_go(int t)
{
	switch (procs[tasks[t].proc].status) {
	case EX_RUNNING:
		return true;
	case EX_DYING:
		return !tasks[t].stays;
	default:
		return false;
	}
}

bool ex_process_is_dying(void)
{
	return procs[proc_self()].status == EX_DYING;
}

bool ex_process_explores(void)
{
	return exploring;
}

static bool self_goes(void)
{
	return ex->self >= 0 && ex_can_go(&ex->threads[ex->self]);
}

/* Returns true if a switch away from the running thread costs. */
static bool switch_costs(void)
{
	return self_goes() && !ex_process_is_dying();
}

bool ex_process_goes_on(void)
{
	return !exploring && self_goes();
}

void ex_process_at(enum ex_op op, const void *p)
{
	ex->point_op = op;
	ex->point_word = p;
}

/* Called before a plain access. */
void ex_process_plain(const void *p, bool write)
{
	if (write && ex->self >= 0 && exploring && kernel_is_shared(p)) {
		ex_point(EX_PLAIN, p, 0, true, &ex->threads[ex->self].at);
	}
}

/* The threads whose process may be killed, stopped or continued now. */
struct sets {
	unsigned go, dying_go, timed, delayed, sleeps;
	unsigned ends, closes, kills, stops, conts;
};

/* Returns true if the fate of another process matters to the next step. */
static bool others_matter(void)
{
	return !self_goes() || ex->point_op == EX_WAIT ||
	       ex->point_op == EX_WAKE || ex->point_op == EX_CALL ||
	       kernel_is_alive_word(ex->point_word);
}

static void add_proc(struct sets *s, int proc, bool matter)
{
	unsigned bit = 1u << proc;
	bool own = ex->self >= 0 && tasks[ex->self].proc == proc;

	switch (procs[proc].status) {
	case EX_RUNNING:
		if ((own || matter) && ex->scenario->stoppable & bit)
			s->stops |= bit;
		break;
	case EX_STOPPED:
		if (matter && !procs[proc].pinned)
			s->conts |= bit;
		break;
	case EX_ENDED:
		if (matter)
			s->closes |= bit;
		break;
	default:
		break;
	}
}

static void add_thread(struct sets *s, int i, bool matter)
{
	const struct ex_thread *t = &ex->threads[i];
	int proc = tasks[i].proc;
	bool own = ex->self >= 0 && tasks[ex->self].proc == proc;
	enum ex_proc_status status = procs[proc].status;
	unsigned bit = 1u << i;

	if (t->status == EX_DONE)
		return;
	if (t->delayed_count)
		s->delayed |= bit;
	if (status <= EX_STOPPED && (own || matter) &&
	    ex->scenario->mortal & 1u << proc)
		s->kills |= bit;
	if (status == EX_DYING && (matter || i == ex->self))
		s->ends |= bit;
	if (status == EX_RUNNING && t->status == EX_BLOCKED) {
		/* A nap has no word; it always ends. */
		if (t->deadline != WEIR_FOREVER &&
		    (!t->futex ||
		     tasks[i].timeouts < TIMEOUTS + tasks[i].more))
			s->timed |= bit;
		if (matter && t->futex)
			s->sleeps |= bit;
	} else if (t->status != EX_BLOCKED && ex_can_go(t)) {
		if (status == EX_DYING && i != ex->self)
			s->dying_go |= bit;
		else
			s->go |= bit;
	}
}

static unsigned lowest(unsigned set)
{
	return set & -set;
}

/* Before the exploration: one option at a time. */
static int settle_options(struct ex_option *options, struct sets *s)
{
	unsigned self = ex->self < 0 ? 0 : 1u << ex->self;

	if (s->go)
		return ex_list_kind(options, 0, s->go & self ? self :
						lowest(s->go), EX_GO);
	if (s->ends)
		return ex_list_kind(options, 0, lowest(s->ends), EX_END);
	if (s->closes)
		return ex_list_kind(options, 0, lowest(s->closes), EX_CLOSE);
	if (s->timed && time_passes_early)
		return ex_list_kind(options, 0, lowest(s->timed), EX_TIMEOUT);
	return 0;
}

/*
 * The state at the end of settling.  It is the same in all runs of a scenario,
 * so the depth-first search begins there.
 */
static struct snapshot {
	const struct ex_scenario *scenario;
	int path_at, steps, thread_count, self, freed_count;
	enum ex_op point_op;
	const void *point_word;
	int64_t now_ns;
	uint64_t writes;
	struct ex_thread threads[EX_THREADS];
	char *memory;
	char *stacks[EX_THREADS];
} *snapshot;

/* A constructor: the pointer is part of the initial memory. */
__attribute__((constructor)) static void make_snapshot(void)
{
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		abort();
}

static size_t stack_used(const struct ex_thread *t)
{
	return (size_t)(t->fiber.stack + FIBER_STACK - (char *)t->fiber.sp);
}

static void save(void)
{
	struct snapshot *s = snapshot;

	if (ex->search != EX_DEPTH_FIRST || ex->tracing || ex->races ||
	    s->scenario == ex->scenario)
		return;
	if (!s->memory)
		s->memory = malloc(ex_state_size());
	for (int i = 0; i < ex->thread_count; i++) {
		if (!s->stacks[i])
			s->stacks[i] = malloc(FIBER_STACK);
		if (!s->memory || !s->stacks[i])
			abort();
		memcpy(s->stacks[i], ex->threads[i].fiber.sp,
		       stack_used(&ex->threads[i]));
	}
	s->scenario = ex->scenario;
	s->path_at = ex->path_at;
	s->steps = ex->steps;
	s->thread_count = ex->thread_count;
	s->self = ex->self;
	s->freed_count = ex->freed_count;
	s->point_op = ex->point_op;
	s->point_word = ex->point_word;
	s->now_ns = ex->now_ns;
	s->writes = ex->writes;
	memcpy(s->threads, ex->threads, sizeof(s->threads));
	ex_state_save(s->memory);
}

bool ex_process_resume(void)
{
	const struct snapshot *s = snapshot;

	/* The path must contain the points of the settling. */
	if (ex->search != EX_DEPTH_FIRST || ex->tracing || ex->races ||
	    s->scenario != ex->scenario || ex->path_length <= s->path_at)
		return false;
	ex->path_at = s->path_at;
	ex->steps = s->steps;
	ex->thread_count = s->thread_count;
	ex->self = s->self;
	ex->freed_count = s->freed_count;
	ex->point_op = s->point_op;
	ex->point_word = s->point_word;
	ex->now_ns = s->now_ns;
	ex->writes = s->writes;
	memcpy(ex->threads, s->threads, sizeof(s->threads));
	for (int i = 0; i < ex->thread_count; i++)
		memcpy(ex->threads[i].fiber.sp, s->stacks[i],
		       stack_used(&ex->threads[i]));
	ex_state_load(s->memory);
	return true;
}

static void end_settling(void)
{
	save();
	exploring = true;
	for (int t = 0; t < ex->thread_count; t++) {
		if (!tasks[t].settles)
			continue;
		tasks[t].settles = false;
		ex_wake(&ex->threads[t], WEIR_WOKEN_);
	}
}

static void collect(struct sets *s)
{
	bool matter = others_matter();

	memset(s, 0, sizeof(*s));
	for (int i = 0; i < ex->thread_count; i++)
		add_thread(s, i, matter);
	for (int p = 0; p < EX_PROCS; p++)
		add_proc(s, p, matter);
}

/* Disturbances, which cost 1 each. */
static int list_costly(struct ex_option *options, int n, const struct sets *s)
{
	n = ex_list_kind(options, n, s->kills, EX_KILL);
	n = ex_list_kind(options, n, s->stops, EX_STOP);
	return ex_list_kind(options, n, s->sleeps, EX_SPURIOUS);
}

int ex_process_options(struct ex_option *options)
{
	unsigned self = ex->self < 0 ? 0 : 1u << ex->self;
	bool few = ex->search == EX_DEPTH_FIRST && !ex->budget;
	struct sets s;
	int n = 0;

	collect(&s);
	if (!exploring) {
		n = settle_options(options, &s);
		if (n)
			return n;
		end_settling();
		collect(&s);
	}
	n = ex_list_kind(options, n, s.go & self, EX_GO);
	n = ex_list_kind(options, n, s.delayed, EX_DRAIN);
	if (ex->point_op == EX_PLAIN && s.go & self && !ex_process_is_dying()) {
		if (few)
			return n;
		n = ex_list_kind(options, n, s.kills, EX_KILL);
		return ex_list_kind(options, n, s.stops, EX_STOP);
	}
	if (s.go & self && !ex_process_is_dying()) {
		/* The rest costs 1. */
		if (few)
			return n;
		n = ex_list_kind(options, n, s.go & ~self, EX_GO);
		n = ex_list_kind(options, n, s.dying_go, EX_GO);
		n = ex_list_kind(options, n, s.timed, EX_TIMEOUT);
		n = ex_list_kind(options, n, s.ends, EX_END);
		n = ex_list_kind(options, n, s.closes, EX_CLOSE);
		n = ex_list_kind(options, n, s.conts, EX_CONT);
		return list_costly(options, n, &s);
	}
	n = ex_list_kind(options, n, s.go & ~self, EX_GO);
	n = ex_list_kind(options, n, s.ends, EX_END);
	n = ex_list_kind(options, n, s.closes, EX_CLOSE);
	if (!n) {
		/* No thread can go on. */
		ex_idle();
		n = ex_list_kind(options, n, s.timed, EX_TIMEOUT);
		if (!n)
			ex_quiet();
		n = ex_list_kind(options, n, s.conts, EX_CONT);
		if (!n)
			options[n++] = (struct ex_option){ 0, EX_FINISH };
		if (few)
			return n;
	} else {
		if (few)
			return n;
		n = ex_list_kind(options, n, s.timed, EX_TIMEOUT);
		n = ex_list_kind(options, n, s.conts, EX_CONT);
	}
	n = ex_list_kind(options, n, s.dying_go, EX_GO);
	return list_costly(options, n, &s);
}

/* Returns true if a thread can go on or end without a cost. */
static bool any_goes(void)
{
	for (int i = 0; i < ex->thread_count; i++) {
		if (ex->threads[i].status == EX_DONE)
			continue;
		if (procs[tasks[i].proc].status == EX_DYING ||
		    (ex->threads[i].status != EX_BLOCKED &&
		     ex_can_go(&ex->threads[i])))
			return true;
	}
	for (int p = 0; p < EX_PROCS; p++)
		if (procs[p].status == EX_ENDED)
			return true;
	return false;
}

static bool costs(struct ex_option o)
{
	switch (o.kind) {
	case EX_SPURIOUS:
	case EX_SIGNAL:
	case EX_KILL:
	case EX_STOP:
		return true;
	case EX_CONT:
		return any_goes();
	case EX_END:
		return o.thread != ex->self && switch_costs();
	case EX_CLOSE:
		return switch_costs();
	case EX_GO:
		return o.thread != ex->self &&
		       (procs[tasks[o.thread].proc].status == EX_DYING ||
			(ex->search == EX_DEPTH_FIRST && switch_costs()));
	case EX_TIMEOUT:
		return ex->search == EX_DEPTH_FIRST && any_goes();
	default:
		return false;
	}
}

static void note(const char *what, int number)
{
	if (!ex->tracing || !exploring)
		return;
	ex_trace_end();
	ex_trace_event(what, number);
}

/* A thread or process has ended: a sleep with a limit may find something new. */
static void allow_more_timeouts(void)
{
	for (int i = 0; i < ex->thread_count; i++)
		tasks[i].timeouts = 0;
}

bool ex_process_apply(struct ex_option o)
{
	struct ex_thread *t = &ex->threads[o.thread];

	if (o.kind == EX_DRAIN) {
		ex_drain_one(t);
		return false;
	}
	if (exploring && costs(o))
		ex->budget--;
	switch (o.kind) {
	case EX_KILL:
		note("kill process", tasks[o.thread].proc);
		begin_death(tasks[o.thread].proc);
		note("end of thread", o.thread);
		end_thread(o.thread);
		return false;
	case EX_END:
		note("end of thread", o.thread);
		end_thread(o.thread);
		allow_more_timeouts();
		return false;
	case EX_CLOSE:
		allow_more_timeouts();
		note("close files of process", o.thread);
		procs[o.thread].status = EX_CLOSED;
		kernel_close(o.thread);
		return false;
	case EX_STOP:
		note("stop process", o.thread);
		stop(o.thread);
		return false;
	case EX_CONT:
		note("continue process", o.thread);
		cont(o.thread);
		return false;
	case EX_TIMEOUT:
		note("time-out of thread", o.thread);
		ex_note_users(&ex->now_ns, 1u << o.thread | EX_WRITTEN);
		if (ex->now_ns < t->deadline) {
			time_passes(t->deadline - ex->now_ns);
			ex->now_ns = t->deadline;
		}
		/* A nap has no word; the code counts its naps. */
		if (exploring && t->futex)
			tasks[o.thread].timeouts++;
		break;
	case EX_SPURIOUS:
		note("spurious wake-up of thread", o.thread);
		break;
	default:
		break;
	}
	if (t->status == EX_BLOCKED)
		ex_wake(t, o.kind == EX_TIMEOUT ? WEIR_WOKE_LATE_ :
						  WEIR_WOKEN_);
	t->status = EX_READY;
	ex->self = o.thread;
	return true;
}

/*
 * Running.
 */
void ex_process_main(void)
{
	int t = ex->self;

	if (tasks[t].fn)
		(void)tasks[t].fn(tasks[t].arg);
	else
		ex->scenario->threads[tasks[t].proc]();
	/* As end_thread does it; the caller sets EX_DONE. */
	ex_races_end(t);
	kernel_end_thread(t);
	ex_process_at(EX_CALL, NULL);
}

void ex_process_begin(void)
{
	for (int i = 0; i < EX_PROCS && ex->scenario->threads[i]; i++)
		tasks[ex_thread_new()].proc = (uint8_t)i;
}

#endif
