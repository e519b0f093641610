/* SPDX-License-Identifier: MIT */
/*
 * The model of the kernel services of base/shared.h.
 *
 * Queues.  A thread sleeps on one or several words.  It queues on them one after
 * another, and another thread may run in between: futex_waitv(2) compares and
 * queues word by word.  A wake-up takes the first entry of that word off the
 * queue.  The thread's entries for other words stay until the thread runs, so
 * they can swallow another wake-up.  A stop takes the thread off all queues; when
 * it continues, it compares and queues again, at the end.  A thread of a killed
 * process stays queued until it ends.  As in base/shared.c, the clock decides
 * whether a sleep was late: a thread that was woken, and runs after its deadline,
 * finds that it is late.
 *
 * Robust lists.  When a thread ends, the kernel marks each listed word that has
 * the thread's id and wakes one sleeper on it.  Then it wakes one sleeper on the
 * obituary word if its owner bits are 0.
 *
 * validate.c runs the programs of programs.h here; tests/named/kernel.c runs the
 * same programs on the kernel.
 */
#include <pthread.h>
#include <string.h>

#include "base/futex.h"
#include "base/shared.h"
#include "base/ticks.h"
#include "process.h"
#include "audit.h"
#include "world.h"

#define ENTRIES 40
#define OWNER UINT32_C(0x3fffffff)
#define WAITERS UINT32_C(0x80000000)
#define NAP_NS 1000000		/* a nap is at least that long: fewer states */

static struct entry {
	uint32_t *word;
	uint32_t thread;
} queue[ENTRIES];
static uint32_t entries;

static struct {
	struct weir_alive_word_ *words;
	uint32_t *obituary;
	uint8_t count;
	bool waits, woken, restarts;
} robust[EX_THREADS];

static const struct ex_place here = { "kernel", 0 };

/*
 * Queues.
 */
static void leave_at(uint32_t i)
{
	entries--;
	memmove(&queue[i], &queue[i + 1], (entries - i) * sizeof(queue[0]));
	memset(&queue[entries], 0, sizeof(queue[0]));
}

static void leave(int t)
{
	for (uint32_t i = entries; i--;)
		if (queue[i].thread == (uint32_t)t)
			leave_at(i);
}

/* `by`: the thread that wakes, or that has ended. */
static bool wake_one(const uint32_t *word, int by)
{
	for (uint32_t i = 0; i < entries; i++) {
		int t = (int)queue[i].thread;

		if (queue[i].word != word)
			continue;
		leave_at(i);
		ex_races_wake(by, t);
		robust[t].woken = true;
		if (ex->threads[t].status == EX_BLOCKED)
			ex_wake(&ex->threads[t], WEIR_WOKEN_);
		return true;
	}
	return false;
}

bool kernel_is_asleep(int t)
{
	return robust[t].waits && !robust[t].woken;
}

bool kernel_has_sleeper(const uint32_t *word)
{
	for (uint32_t i = 0; i < entries; i++)
		if (queue[i].word == word)
			return true;
	return false;
}

const uint32_t *kernel_other_word(int t, const uint32_t *word)
{
	for (uint32_t i = 0; i < entries; i++)
		if (queue[i].thread == (uint32_t)t && queue[i].word != word)
			return queue[i].word;
	return NULL;
}

static void count_write(void)
{
	ex->writes++;
	if (ex->self >= 0)
		ex->threads[ex->self].own_writes++;
}

static void enter_call(enum ex_op op, const uint32_t *word)
{
	ex_drain(NULL);
	ex_point(op, word, op == EX_WAKE ? 0 : sizeof(*word), true, &here);
	ex_races_see_ends();
}

/* Queue on all words.  Returns false if one has another value. */
static bool enqueue(const struct weir_watch_ *watches, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		enter_call(EX_WAIT, watches[i].word);
		if (robust[ex->self].restarts || robust[ex->self].woken)
			return true;
		if (ex->stale)
			ex_stale_read_newest(watches[i].word,
					     *watches[i].word);
		if (*watches[i].word != watches[i].value)
			return false;
		if (entries == ENTRIES)
			ex_fail("too many sleepers");
		queue[entries++] = (struct entry){ watches[i].word,
						   (uint32_t)ex->self };
		count_write();
	}
	return true;
}

static enum weir_woke_ sleep_on(const struct weir_watch_ *watches,
				unsigned count, int64_t deadline_ns)
{
	struct ex_thread *t = &ex->threads[ex->self];
	int self = ex->self;
	enum weir_woke_ woke = WEIR_WOKEN_;

	audit_sleeps(self);
	do {
		robust[self].waits = true;
		robust[self].woken = robust[self].restarts = false;
		if (enqueue(watches, count) && !robust[self].woken &&
		    !robust[self].restarts && deadline_ns > ex->now_ns) {
			t->status = EX_BLOCKED;
			t->futex = watches[0].word;
			t->deadline = deadline_ns;
			t->slept_at = 0;
			ex_pause();
			woke = t->woke;
		}
		leave(self);
	} while (robust[self].restarts);
	if (deadline_ns <= ex->now_ns)
		woke = WEIR_WOKE_LATE_;
	robust[self].waits = robust[self].woken = false;
	return woke;
}

enum weir_woke_ weir_shared_wait_any_(const struct weir_watch_ *watches,
				      unsigned count, int64_t deadline_ns)
{
	if (world_is_old())
		ex_fail("thread %d calls futex_waitv on an old kernel", ex->self);
	return sleep_on(watches, count, deadline_ns);
}

enum weir_woke_ weir_shared_wait_(uint32_t *word, uint32_t value,
				  int64_t deadline_ns)
{
	struct weir_watch_ watch = { word, value };

	return sleep_on(&watch, 1, deadline_ns);
}

void weir_shared_wake_(uint32_t *word)
{
	enter_call(EX_WAKE, word);
	count_write();
	(void)wake_one(word, ex->self);
}

void weir_shared_wake_all_(uint32_t *word)
{
	enter_call(EX_WAKE, word);
	count_write();
	while (wake_one(word, ex->self))
		;
}

bool weir_shared_sleepers_(uint32_t *word)
{
	enter_call(EX_CALL, word);
	return kernel_has_sleeper(word);
}

/* The sleep of a moved thread begins again on `from`, as enqueue has it. */
bool weir_shared_move_(uint32_t *from, uint32_t *to)
{
	enter_call(EX_CALL, from);
	for (uint32_t i = 0; i < entries; i++) {
		uint32_t t = queue[i].thread;

		if (queue[i].word != from)
			continue;
		if (from != to) {
			leave_at(i);
			queue[entries++] = (struct entry){ to, t };
			count_write();
		}
		return true;
	}
	return false;
}

bool weir_shared_can_wait_any_(void)
{
	return !world_is_old();
}

/* Time passes, and no word wakes the thread. */
void weir_futex_nap_(uint32_t ns)
{
	struct ex_thread *t = &ex->threads[ex->self];

	enter_call(EX_CALL, (uint32_t *)&ex->now_ns);
	t->status = EX_BLOCKED;
	t->futex = NULL;
	t->deadline = ex->now_ns + (ns > NAP_NS ? ns : NAP_NS);
	t->slept_at = 0;
	ex_pause();
}

/*
 * Robust lists.
 */
uint32_t weir_alive_value_(void)
{
	return (uint32_t)(ex->self + 101) | WAITERS;
}

bool weir_robust_enter_(struct weir_robust_ *list,
			struct weir_alive_word_ *words, unsigned count,
			uint32_t *obituary)
{
	(void)list;
	robust[ex->self].words = words;
	robust[ex->self].count = (uint8_t)count;
	robust[ex->self].obituary = obituary;
	return true;
}

void weir_robust_leave_(struct weir_robust_ *list)
{
	(void)list;
	robust[ex->self].words = NULL;
	robust[ex->self].count = 0;
	robust[ex->self].obituary = NULL;
}

bool kernel_is_alive_word(const void *p)
{
	for (int t = 0; t < ex->thread_count; t++)
		for (int i = 0; i < robust[t].count; i++)
			if (p == &robust[t].words[i].word)
				return true;
	return false;
}

void kernel_end_thread(int t)
{
	uint32_t id = (uint32_t)(t + 101);

	leave(t);
	for (int i = 0; i < robust[t].count; i++) {
		uint32_t *word = &robust[t].words[i].word, before = *word;

		if ((before & OWNER) != id)
			continue;
		*word = (before & WAITERS) | WEIR_DIED_;
		if (before & WAITERS)
			(void)wake_one(word, t);
	}
	if (robust[t].obituary && !(*robust[t].obituary & OWNER))
		(void)wake_one(robust[t].obituary, t);
	memset(&robust[t], 0, sizeof(robust[t]));
	ex->writes++;
}

void kernel_stop_thread(int t)
{
	leave(t);
	if (!robust[t].waits || robust[t].woken)
		return;
	robust[t].restarts = true;
	if (ex->threads[t].status == EX_BLOCKED)
		ex_wake(&ex->threads[t], WEIR_WOKEN_);
}

/*
 * The rest of base/shared.h, and base/ticks.h.
 */
static bool refuses_fences[EX_PROCS];

void world_refuse_fences(int proc)
{
	refuses_fences[proc] = true;
}

bool weir_fence_ask_(void)
{
	return !refuses_fences[proc_self()];
}

/*
 * A barrier on all CPUs of processes that have asked for it: no store is delayed
 * beyond it, no load is older.
 */
bool weir_fence_heavy_(void)
{
	enter_call(EX_CALL, (uint32_t *)&ex->now_ns);
	for (int t = 0; t < ex->thread_count; t++)
		while (ex->threads[t].delayed_count &&
		       (t == ex->self || !refuses_fences[proc_of(t)]))
			ex_drain_one(&ex->threads[t]);
	if (ex->stale)
		ex_stale_fence();
	return true;
}

/* A choice, at a cost of 1. */
bool world_ends_attempts(void)
{
	bool may = ex->budget > 0 && ex_process_explores();

	if (!ex_decide(NULL, may ? 2 : 1))
		return false;
	ex->budget--;
	return true;
}

int64_t weir_ticks_(void)
{
	return ex->now_ns;
}

int64_t weir_ticks_ns_(int64_t ticks)
{
	return ticks;
}
