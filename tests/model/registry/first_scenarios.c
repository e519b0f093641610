/* SPDX-License-Identifier: MIT */
/*
 * Semaphores with a static initialiser and a name: their first acquire registers
 * them.  Several threads use one for the first time at once.
 */
#include <string.h>

#include "explore.h"
#include "weir/ctx.h"
#include "weir/multi.h"
#include "weir/sem.h"

#include "holders.h"

static const weir_sem one = WEIR_SEM_INIT_OPTS(1, 1, "first", WEIR_FIFO, 0);
static const weir_sem two = WEIR_SEM_INIT_OPTS(2, 2, "first", WEIR_FIFO, 0);
static weir_sem s, r;

static void reset(const weir_sem *as)
{
	s = *as;
	holders_add(&s);
}

static void one_free(void)
{
	reset(&one);
}

static void two_free(void)
{
	reset(&two);
}

static void one_of_each(void)
{
	reset(&one);
	r = one;
	holders_add(&r);
}

static void pair(void)
{
	EX_ASSERT(weir_sem_acquire(&s, 1, NULL) == WEIR_OK);
	weir_sem_release(&s, 1);
}

static void try_pair(void)
{
	if (weir_sem_try_acquire(&s, 1) == WEIR_OK)
		weir_sem_release(&s, 1);
}

static void pair_for_a_time(void)
{
	weir_err err = weir_sem_acquire_for(&s, 1, 1000);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ETIMEDOUT);
	if (!err)
		weir_sem_release(&s, 1);
}

static void registered(void)
{
	holders_check();
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
}

SCENARIO(registry_of_first_use, 1, two_free, registered, pair, pair)
SCENARIO(registry_of_first_use_contended, 1, one_free, registered, pair, pair)
SCENARIO(registry_of_first_use_of_three, 1, two_free, registered, pair, pair,
	 pair)
SCENARIO(registry_of_first_try, 1, one_free, registered, try_pair, pair)
SCENARIO(registry_of_first_timed_wait, 1, one_free, registered, pair,
	 pair_for_a_time, try_pair)

/* The registry itself is made by the first of two semaphores. */
static void pair_of_other(void)
{
	EX_ASSERT(weir_sem_acquire(&r, 1, NULL) == WEIR_OK);
	weir_sem_release(&r, 1);
}

static void registered_both(void)
{
	registered();
	EX_ASSERT(weir_sem_available(&r) == r.capacity_);
}

SCENARIO(registry_of_first_use_of_two, 1, one_of_each, registered_both, pair,
	 pair_of_other)

/* An any-of request registers its members. */
static void any_of_both(void)
{
	const weir_req reqs[] = { { &s, 1 }, { &r, 1 } };
	size_t which;

	EX_ASSERT(weir_acquire_any(reqs, 2, NULL, &which) == WEIR_OK);
	weir_sem_release(reqs[which].sem, 1);
}

static void pairs_of_both(void)
{
	pair();
	pair_of_other();
}

SCENARIO(registry_of_first_any, 1, one_of_each, registered_both, any_of_both,
	 pairs_of_both)
