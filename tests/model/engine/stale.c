/* SPDX-License-Identifier: MIT */
/*
 * Stale reads (--stale).  A load may return an older value than the memory
 * holds, as C11 allows and as POWER, RISC-V and ARM do: a load that is executed
 * early has this effect.
 *
 * The coherence order of an atomic is the order in which the run writes it.
 * Each atomic has a history of its last writes.  A thread has seen a write if
 * it made or read this write, or if another thread did and that access happens
 * before (races.c has the clocks).  A load may return the newest write that its
 * thread has seen, or any later one.  An acquire load of an older write joins
 * the release clock of that write only.  Each older value costs 1 of the bound.
 *
 *   Read-modify-writes read the newest write.  So does a CAS that fails and the
 *   kernel's comparison in a futex wait.
 *   A plain write starts a new history: races.c requires that it happens before
 *   every later access by another thread.
 *   A thread that has read an older value and then waits until another thread
 *   writes does not wait: a store becomes visible after a finite time.
 *
 * Not modelled: stores that are executed before earlier loads, and the writes
 * that a history has dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define PLACES 4096		/* a power of two */
#define DEPTH 8

struct write {
	uint64_t value;
	struct ex_clock released;	/* what an acquire of it joins */
	struct ex_clock seen;		/* each thread's first access; 0: none */
};

static struct stale {
	const struct ex_scenario *scenario;
	uint64_t run;
	struct history {
		uintptr_t address;
		uint64_t run;		/* to which the rest belongs */
		int count;
		struct write writes[DEPTH];	/* oldest first */
	} places[PLACES];
} *stale;

/* A constructor: `stale` must be set in the initial memory. */
__attribute__((constructor)) static void make(void)
{
	stale = calloc(1, sizeof(*stale));
	if (!stale)
		abort();
}

bool ex_is_stale(void)
{
	return ex->stale;
}

void ex_stale_begin(void)
{
	if (stale->scenario != ex->scenario)
		memset(stale->places, 0, sizeof(stale->places));
	stale->scenario = ex->scenario;
	stale->run++;
}

/* The place of p, or the empty place where it belongs. */
static struct history *find(const void *p)
{
	uintptr_t address = (uintptr_t)p;
	size_t i = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 52;

	while (stale->places[i].address && stale->places[i].address != address)
		i = (i + 1) % PLACES;
	return &stale->places[i];
}

/*
 * The history of p, whose value in memory is `value`.  It starts again if this is
 * another run, or if the memory was written in another way.
 */
static struct history *history_of(const void *p, uint64_t value)
{
	struct history *h = find(p);

	if (h->run == stale->run && h->count &&
	    h->writes[h->count - 1].value == value)
		return h;
	h->address = (uintptr_t)p;
	h->run = stale->run;
	h->count = 1;
	memset(h->writes, 0, sizeof(h->writes));
	h->writes[0].value = value;
	return h;
}

void ex_stale_plain_write(const void *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		find((const char *)p + i)->count = 0;
}

static void see(struct write *w, uint32_t epoch)
{
	uint32_t *seen = &w->seen.at[ex->self];

	if (!*seen)
		*seen = epoch;
}

static bool has_seen(const struct write *w, const struct ex_clock *now)
{
	for (int i = 0; i < ex->thread_count; i++)
		if (w->seen.at[i] && w->seen.at[i] <= now->at[i])
			return true;
	return false;
}

void ex_stale_write(const void *p, uint64_t before, uint64_t after,
		    enum ex_order order)
{
	struct history *h = history_of(p, before);
	uint32_t epoch = ex_races_now()->at[ex->self];
	struct write *w;

	/* races.c has counted the release already. */
	if (order == EX_RELEASE || order == EX_ACQ_REL)
		epoch--;
	if (h->count == DEPTH)
		memmove(h->writes, h->writes + 1,
			(size_t)--h->count * sizeof(*h->writes));
	w = &h->writes[h->count++];
	*w = (struct write){ .value = after, .released = *ex_races_released(p) };
	see(w, epoch);
}

void ex_stale_fence(void)
{
	for (int i = 0; i < PLACES; i++) {
		struct history *h = &stale->places[i];

		if (h->run != stale->run || !h->count)
			continue;
		for (int t = 0; t < EX_THREADS; t++)
			h->writes[h->count - 1].seen.at[t] = 1;
	}
}

void ex_stale_read_newest(const void *p, uint64_t value)
{
	struct history *h = history_of(p, value);

	see(&h->writes[h->count - 1], ex_races_now()->at[ex->self]);
}

uint64_t ex_stale_read(const void *p, uint64_t value, enum ex_order order)
{
	const struct ex_clock *now = ex_races_now();
	struct history *h = history_of(p, value);
	int newest = h->count - 1, first = newest, back;
	struct write *w;

	while (first && !has_seen(&h->writes[first], now))
		first--;
	back = ex_decide(NULL, ex->budget ? newest - first + 1 : 1);
	w = &h->writes[newest - back];
	if (back) {
		ex->budget--;
		ex->threads[ex->self].read_stale = true;
		if (ex->tracing)
			ex_trace_note("reads an older value");
	}
	see(w, now->at[ex->self]);
	if (order == EX_ACQUIRE)
		ex_races_join(&w->released);
	return w->value;
}
