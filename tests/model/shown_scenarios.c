/* SPDX-License-Identifier: MIT */
/*
 * The table of published numbers ([S8]) without the rest of stat, so that --stale
 * can explore all older values that a load may return.  All numbers of a
 * publication are equal.
 */
#include "core/sem_contend.h"
#include "core/sem_shown.h"

#include "scenario.h"

/* Large enough to contain two semaphores that share an entry. */
static struct {
	weir_sem sem __attribute__((aligned(64)));
} memory[2 * WEIR_CONTENDED_];

static const weir_sem *s, *t;
static struct weir_waiter_ v, w;
static uint32_t withdrawn;

static void show(const weir_sem *sem, struct weir_waiter_ *first, uint32_t n)
{
	const struct weir_shown_ shown = { .waiters = n, .oversized = n,
		.permits = n, .since_ns = n, .until_ns = n };

	weir_sem_show_(sem, first, &shown);
}

static void one_is_shown(void)
{
	int i = 1;

	s = &memory[0].sem;
	while (weir_contended_of_(&memory[i].sem) != weir_contended_of_(s))
		i++;
	t = &memory[i].sem;
	show(s, &v, 1);
}

/*
 * Returns the number that is published for s; 0: none is valid.  *late is set if
 * the withdrawal of the first number was seen before the last check.
 */
static int64_t read_number(bool *late)
{
	struct weir_shown_ shown;
	bool is_shown = weir_sem_read_shown_(s, &shown);

	*late = at_load_acquire(&withdrawn);
	if (!is_shown || !weir_sem_still_shown_(s, &shown))
		return 0;
	EX_ASSERT(shown.waiters == shown.permits);
	EX_ASSERT(shown.oversized == shown.permits);
	EX_ASSERT(shown.since_ns == shown.permits);
	EX_ASSERT(shown.until_ns == shown.permits);
	return shown.permits;
}

static void withdraw(void)
{
	weir_sem_withdraw_shown_(s, &v);
	/* As the unlock of the thread that changed the lists. */
	at_store_release(&withdrawn, 1);
}

static void show_again(void)
{
	withdraw();
	show(s, &v, 2);
}

static void read_valid(void)
{
	bool late;
	int64_t number = read_number(&late);

	EX_ASSERT(!late || number != 1);
}

SCENARIO(shown_again, 4, one_is_shown, NULL, show_again, read_valid)

static void show_other(void)
{
	show(t, &w, 3);
}

static void read_no_other(void)
{
	bool late;

	EX_ASSERT(read_number(&late) <= 1);
}

SCENARIO(shown_meets_other, 4, one_is_shown, NULL, show_other, read_no_other)

/* The thread that withdraws may find the number of the other semaphore. */
SCENARIO(shown_is_withdrawn_beside_other, 3, one_is_shown, NULL, show_other,
	 withdraw, read_valid)

static void show_second(void)
{
	show(s, &v, 2);
}

static void check_second(void)
{
	bool late;
	int64_t number = read_number(&late);

	EX_ASSERT(number == 0 || number == 1 || number == 2);
}

SCENARIO(shown_by_two, 3, one_is_shown, check_second, show_other, show_second,
	 read_valid)

/* C29: in the child of a fork the numbers of s are not valid. */
static void shown_before_the_fork(void)
{
	one_is_shown();
	ex_forks = 1;
}

static void read_none(void)
{
	bool late;

	EX_ASSERT(read_number(&late) == 0);
}

SCENARIO(shown_before_fork, 4, shown_before_the_fork, NULL, show_other,
	 read_none)
