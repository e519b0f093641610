/* SPDX-License-Identifier: MIT */
/*
 * Find unordered accesses.
 *
 * If two threads access the same byte, at least one access is a write and at
 * least one is plain, the accesses must be ordered by happens-before.
 * Happens-before is program order, and the order from a release to an acquire
 * that reads the released value or the result of read-modify-writes on it
 * (C11's release sequence, without later stores of the same thread, as in
 * C++20).  The memory orders are those of the source, so an order that is too
 * weak fails on every machine, in the first schedule that executes both
 * accesses.
 *
 * Plain accesses are visible if the core is compiled with -fsanitize=thread:
 * the compiler then calls the functions below before each plain access.
 * Nothing else of ThreadSanitizer is used; its library is not linked.
 *
 * The same calls make delayed stores (seam.c) correct for memory that is
 * accessed both atomically and plainly.
 *
 * A vector clock per thread counts its releases.  Each byte records when each
 * thread last read and wrote it.  Each atomic records the clock of its
 * releases.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#if EX_PROCESSES
#include "process.h"
#endif

#define WORDS 4096		/* a power of two */
#define WORD ((size_t)8)

enum way { PLAIN_READ, PLAIN_WRITE, ATOMIC_READ, ATOMIC_WRITE, WAYS };

static struct shadow {
	const struct ex_scenario *scenario;
	uint64_t run;
	struct ex_clock now[EX_THREADS];
	struct ex_clock ended;		/* of all threads that have ended */
	struct word {
		uintptr_t address;
		ex_users users;		/* a bit for each thread, in any run */
		uint64_t run;		/* to which the rest belongs */
		struct ex_clock released;	/* by the atomic at this address */
		struct ex_clock last[WORD][WAYS];
	} words[WORDS];
} *shadow;

/* A constructor: `shadow` must be set in the initial memory. */
__attribute__((constructor)) static void make(void)
{
	shadow = calloc(1, sizeof(*shadow));
	if (!shadow)
		abort();
}

void ex_races_begin(void)
{
	if (shadow->scenario != ex->scenario)
		memset(shadow->words, 0, sizeof(shadow->words));
	shadow->scenario = ex->scenario;
	shadow->run++;
	memset(shadow->now, 0, sizeof(shadow->now));
	memset(&shadow->ended, 0, sizeof(shadow->ended));
	for (int i = 0; i < EX_THREADS; i++)
		shadow->now[i].at[i] = 1;
}

static struct word *word_at(uintptr_t address)
{
	size_t i = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 52;

	while (shadow->words[i].address && shadow->words[i].address != address)
		i = (i + 1) % WORDS;
	shadow->words[i].address = address;
	return &shadow->words[i];
}

static void refresh(struct word *w)
{
	if (w->run == shadow->run)
		return;
	w->run = shadow->run;
	memset(&w->released, 0, sizeof(w->released));
	memset(w->last, 0, sizeof(w->last));
}

/*
 * Accesses are not recorded while only one thread has used the word, which is
 * the common case.  When a second thread uses it, the record is incomplete and
 * the search starts again.
 */
static bool is_shared(struct word *w)
{
	ex_users users = w->users | (ex_users)(1u << ex->self);
	bool shared = users & (users - 1);

	if (shared && !(w->users & (w->users - 1)))
		ex->more_is_shared = true;
	w->users = users;
	return shared;
}

/* Fail if another thread's last access of this kind is not ordered before. */
static void check_before(const struct ex_clock *last, enum way way, enum way ours)
{
	static const char *const names[WAYS] = { "read", "write", "atomic read",
						 "atomic write" };
	const struct ex_clock *now = &shadow->now[ex->self];
	const struct ex_place *near = &ex->threads[ex->self].at;

	for (int i = 0; i < ex->thread_count; i++)
		if (i != ex->self && last->at[i] > now->at[i])
			ex_fail("race: %s:%d, or after it: %s by thread %d is "
				"not ordered after %s by thread %d", near->file,
				near->line, names[ours], ex->self, names[way],
				i);
}

static void use_byte(struct word *w, size_t i, enum way ours)
{
	static const unsigned conflicts[WAYS] = {
		[PLAIN_READ] = 1u << PLAIN_WRITE | 1u << ATOMIC_WRITE,
		[PLAIN_WRITE] = (1u << WAYS) - 1,
		[ATOMIC_READ] = 1u << PLAIN_WRITE,
		[ATOMIC_WRITE] = 1u << PLAIN_WRITE | 1u << PLAIN_READ,
	};

	for (enum way way = 0; way < WAYS; way++)
		if (conflicts[ours] & 1u << way)
			check_before(&w->last[i][way], way, ours);
	w->last[i][ours].at[ex->self] = shadow->now[ex->self].at[ex->self];
}

static void use(const void *p, size_t size, enum way ours)
{
	uintptr_t at = (uintptr_t)p, end = at + size;

	while (at < end) {
		struct word *w = word_at(at / WORD * WORD);
		uintptr_t next = at / WORD * WORD + WORD;

		if (is_shared(w)) {
			refresh(w);
			for (; at < next && at < end; at++)
				use_byte(w, at % WORD, ours);
		}
		at = next;
	}
}

static void join(struct ex_clock *into, const struct ex_clock *from)
{
	for (int i = 0; i < EX_THREADS; i++)
		if (into->at[i] < from->at[i])
			into->at[i] = from->at[i];
}

const struct ex_clock *ex_races_now(void)
{
	return &shadow->now[ex->self];
}

const struct ex_clock *ex_races_released(const void *p)
{
	return &word_at((uintptr_t)p)->released;
}

void ex_races_join(const struct ex_clock *released)
{
	join(&shadow->now[ex->self], released);
}

void ex_races_atomic(const void *p, size_t size, bool read, bool write,
		     enum ex_order order)
{
	struct ex_clock *now = &shadow->now[ex->self];
	struct word *w = word_at((uintptr_t)p);

	refresh(w);
	if (read)
		use(p, size, ATOMIC_READ);
	if (write)
		use(p, size, ATOMIC_WRITE);
	if (read && (order == EX_ACQUIRE || order == EX_ACQ_REL))
		join(now, &w->released);
	if (!write)
		return;
	/*
	 * A store ends the release sequence; a read-modify-write continues it.
	 */
	if (!read)
		memset(&w->released, 0, sizeof(w->released));
	if (order == EX_RELEASE || order == EX_ACQ_REL) {
		join(&w->released, now);
		now->at[ex->self]++;
	}
}

/*
 * Processes: the kernel orders the start and the end of threads.
 */
void ex_races_start(int t)
{
	if (!ex->races || ex->self < 0)
		return;
	join(&shadow->now[t], &shadow->now[ex->self]);
	shadow->now[ex->self].at[ex->self]++;
}

void ex_races_end(int t)
{
	if (ex->races)
		join(&shadow->ended, &shadow->now[t]);
}

void ex_races_see_ends(void)
{
	if (ex->races && ex->self >= 0)
		ex_races_join(&shadow->ended);
}

/*
 * The kernel's wake-up is a barrier: a woken thread does not load a value that is
 * older than what the waking thread had seen.  Only for --stale: races must be found
 * in every schedule, also in those in which the thread sleeps.
 */
void ex_races_wake(int from, int to)
{
	if (!ex->stale || from < 0 || from == to)
		return;
	join(&shadow->now[to], &shadow->now[from]);
	shadow->now[from].at[from]++;
}

/*
 * Plain accesses, reported by the compiler.
 */

/*
 * The static variables of src/named have one copy for all processes of a run, so
 * a list there leads from the memory of one process to that of another.
 */
static bool is_checked(const void *p)
{
#if EX_PROCESSES
	return kernel_is_shared(p) || ex_is_own_heap(p) ||
	       ((const char *)p >= ex->stacks[0] &&
		(const char *)p < ex->stacks[EX_THREADS]);
#else
	(void)p;
	return true;
#endif
}

static void plain(const void *p, size_t size, bool write)
{
	if (ex->self < 0)
		return;
	/* The delayed stores of this thread to p come first. */
	ex_drain(p);
	if (ex->stale && write)
		ex_stale_plain_write(p, size);
	if (ex->races && is_checked(p))
		use(p, size, write ? PLAIN_WRITE : PLAIN_READ);
#if EX_PROCESSES
	ex_process_plain(p, write);
#endif
}

void ex_touch(const void *p, size_t size, bool write)
{
	plain(p, size, write);
}

#define REPORTED(size)                                                         \
	void __tsan_read##size(void *p);                                       \
	void __tsan_write##size(void *p);                                      \
	void __tsan_read##size(void *p) { plain(p, size, false); }             \
	void __tsan_write##size(void *p) { plain(p, size, true); }             \
	void __tsan_unaligned_read##size(void *p);                             \
	void __tsan_unaligned_write##size(void *p);                            \
	void __tsan_unaligned_read##size(void *p) { plain(p, size, false); }   \
	void __tsan_unaligned_write##size(void *p) { plain(p, size, true); }

REPORTED(1)
REPORTED(2)
REPORTED(4)
REPORTED(8)
REPORTED(16)

void __tsan_read_range(void *p, unsigned long size);
void __tsan_write_range(void *p, unsigned long size);
void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);

void __tsan_read_range(void *p, unsigned long size)
{
	plain(p, size, false);
}

void __tsan_write_range(void *p, unsigned long size)
{
	plain(p, size, true);
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
	(void)caller;
}

void __tsan_func_exit(void)
{
}
