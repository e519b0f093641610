/* SPDX-License-Identifier: MIT */
/*
 * The published numbers of stat, [S8].  In most programs, all numbers of a
 * publication are equal.  tests/model/shown_scenarios.c has the same programs;
 * there all threads see the stores to a word in the order in which they were
 * executed.
 */
#include <stdint.h>

static uint32_t forks;
#define FORKS forks
#include "program.h"

static weir_sem t;
static uint32_t withdrawn;

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

THREAD(show_second)
{
	show(&s, &w1, 2);
	return unused;
}

THREAD(show_other)
{
	show(&t, &w2, 3);
	return unused;
}

THREAD(withdraw)
{
	weir_sem_withdraw_shown_(&s, &w1);
	/* As the unlock of the thread that changed the lists. */
	at_store_release(&withdrawn, 1);
	return unused;
}

THREAD(show_again)
{
	withdraw(NULL);
	show(&s, &w1, 2);
	return unused;
}

/*
 * Returns the number that is published for s; 0: none is valid.  The number 1 is
 * not valid if its withdrawal was seen before the last check.
 */
static int64_t read_number(void)
{
	struct weir_shown_ shown;
	bool is_shown = weir_sem_read_shown_(&s, &shown);
	bool late = at_load_acquire(&withdrawn);

	if (!is_shown || !weir_sem_still_shown_(&s, &shown))
		return 0;
	assert(shown.waiters == shown.permits);
	assert(shown.oversized == shown.permits);
	assert(shown.since_ns == shown.permits);
	assert(shown.until_ns == shown.permits);
	assert(!late || shown.permits != 1);
	return shown.permits;
}

THREAD(read_own)
{
	assert(read_number() != 3);
	return unused;
}

THREAD(read_none)
{
	assert(read_number() == 0);
	return unused;
}

/* The stores of the second publication replace those of the first one. */
PROGRAM(two_publications)
{
	RUN2(show_first, show_other);
	assert(read_number() <= 1);
}

PROGRAM(shown_again)
{
	show(&s, &w1, 1);
	RUN2(show_again, read_own);
}

PROGRAM(shown_meets_other)
{
	show(&s, &w1, 1);
	RUN2(show_other, read_own);
}

/* The thread that withdraws may find the number of the other semaphore. */
PROGRAM(shown_is_withdrawn_beside_other)
{
	show(&s, &w1, 1);
	RUN3(show_other, withdraw, read_own);
}

PROGRAM(shown_by_two)
{
	show(&s, &w1, 1);
	RUN3(show_other, show_second, read_own);
}

/* C29: in the child of a fork the numbers of s are not valid. */
PROGRAM(shown_before_fork)
{
	show(&s, &w1, 1);
	forks = 1;
	RUN2(show_other, read_none);
}

/* Two waiters for one permit each, and the numbers are published. */
static void two_wait(void)
{
	weir_sem_info info;

	start_with(0, 2, WEIR_FIFO, 0);
	queue_up(&w1, 1, NULL);
	queue_up(&w2, 1, NULL);
	OK(weir_sem_stat(&s, &info));
	assert(info.waiters == 2 && info.waiting_permits == 2);
}

THREAD(stat_counts_two)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(info.waiters + info.granted == 2);
	return unused;
}

/* A request waits or is granted, and never both, although the door stays SHUT. */
PROGRAM(stat_meets_grant_before_another_waiter)
{
	two_wait();
	RUN2(put_one, stat_counts_two);
}

THREAD(close_now)
{
	weir_sem_close(&s, WEIR_CLOSE_NOW);
	return unused;
}

THREAD(stat_of_closed)
{
	weir_sem_info info;

	OK(weir_sem_stat(&s, &info));
	assert(!info.closed || !info.waiters);
	return unused;
}

/* C19: a closed semaphore has no waiters. */
PROGRAM(stat_meets_close)
{
	two_wait();
	RUN2(close_now, stat_of_closed);
}
