/* SPDX-License-Identifier: MIT */
/*
 * The published numbers of stat, [S8].  tests/model/shown_scenarios.c explores
 * the other orders of the table; there all threads see the stores to a word in
 * the order in which they were executed.
 */
#include "program.h"

static weir_sem t;

static void show(weir_sem *sem, struct weir_waiter_ *w, int number)
{
	struct weir_shown_ shown;

	shown.waiters = shown.oversized = (uint32_t)number;
	shown.permits = shown.since_ns = shown.until_ns = number;
	weir_sem_show_(sem, w, &shown);
}

THREAD(show_first)
{
	show(&s, &w1, 1);
	return unused;
}

THREAD(show_other)
{
	show(&t, &w2, 2);
	return unused;
}

/* The stores of the second publication replace those of the first one. */
PROGRAM(two_publications)
{
	struct weir_shown_ shown;

	RUN2(show_first, show_other);
	if (weir_sem_read_shown_(&s, &shown) &&
	    weir_sem_still_shown_(&s, &shown)) {
		assert(shown.waiters == 1 && shown.oversized == 1);
		assert(shown.permits == 1);
		assert(shown.since_ns == 1 && shown.until_ns == 1);
	}
}
