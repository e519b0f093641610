/* SPDX-License-Identifier: MIT */
/* Permit objects that move between threads, and the semaphore's references. */
#include "scenario.h"

#include "weir/permit.h"

static weir_sem s;
static weir_sem *heap;
static weir_permit slot;
static uint32_t passed_on;

static void free_of(int64_t permits)
{
	EX_ASSERT(weir_sem_init_opts(&s, &(weir_sem_opts){
		.permits = permits }) == WEIR_OK);
	slot = (weir_permit)WEIR_PERMIT_INIT;
}

static void one_free(void)
{
	free_of(1);
}

static void two_free(void)
{
	free_of(2);
}

static void all_back(void)
{
	check_quiet(&s);
	EX_ASSERT(weir_sem_available(&s) == s.capacity_);
	EX_ASSERT(!weir_permit_count(&slot));
}

static weir_permit acquire(int64_t n)
{
	weir_permit mine = WEIR_PERMIT_INIT;

	ledger_begin(&s, 0, n);
	EX_ASSERT(weir_permit_acquire(&mine, &s, n, NULL) == WEIR_OK);
	ledger_end(&s, 0, n, n);
	return mine;
}

static void release(weir_permit *permit)
{
	int64_t n = weir_permit_count(permit);

	ledger_begin(&s, -n, 0);
	weir_permit_release(permit);
	ledger_end(&s, -n, 0, -n);
}

static void acquire_and_pass_on(void)
{
	weir_permit mine = acquire(1);

	ex_touch(&slot, sizeof(slot), true);
	slot = weir_permit_move(&mine);
	ex_set(&passed_on);
	/* Has no effect: the permit was moved. */
	weir_permit_release(&mine);
}

static void take_over_and_release(void)
{
	weir_permit mine;

	ex_await(&passed_on);
	ex_touch(&slot, sizeof(slot), true);
	mine = weir_permit_move(&slot);
	EX_ASSERT(weir_permit_count(&mine) == 1);
	release(&mine);
}

static void another(void)
{
	weir_permit mine = acquire(1);

	release(&mine);
}

/* One thread acquires, another one releases, a third one waits. */
SCENARIO(permit_moves, 2, one_free, all_back, acquire_and_pass_on,
	 take_over_and_release, another)

static void acquire_two_and_split(void)
{
	weir_permit mine = acquire(2);

	EX_ASSERT(weir_permit_split(&mine, 1, &slot) == WEIR_OK);
	ex_set(&passed_on);
	release(&mine);
}

static void take_two(void)
{
	weir_permit mine = acquire(2);

	release(&mine);
}

/* Two halves are released separately; a waiter for two is granted once. */
SCENARIO(permit_is_split, 2, two_free, all_back, acquire_two_and_split,
	 take_over_and_release, take_two)

/* One reference for each of the two threads. */
static void on_the_heap(void)
{
	heap = weir_sem_new(&(weir_sem_opts){ .permits = 1 });
	EX_ASSERT(heap && weir_sem_ref(heap) == heap);
	slot = (weir_permit)WEIR_PERMIT_INIT;
}

static void own_and_pass_on(void)
{
	EX_ASSERT(weir_permit_acquire(&slot, heap, 1, NULL) == WEIR_OK);
	EX_ASSERT(weir_permit_own(&slot) == WEIR_OK);
	ex_set(&passed_on);
	weir_sem_unref(heap);
}

static void unref_and_release(void)
{
	weir_permit mine;

	ex_await(&passed_on);
	mine = weir_permit_move(&slot);
	weir_sem_unref(heap);
	weir_permit_release(&mine);
}

static void is_freed(void)
{
	EX_ASSERT(ex_is_freed(heap));
}

/* The semaphore is freed with its last reference, the permit's or another. */
SCENARIO(permit_keeps_the_semaphore, 3, on_the_heap, is_freed, own_and_pass_on,
	 unref_and_release)

static void unref(void)
{
	weir_sem_unref(heap);
}

static void use_and_unref(void)
{
	if (weir_sem_try_acquire(heap, 1) == WEIR_OK)
		weir_sem_release(heap, 1);
	weir_sem_unref(heap);
}

SCENARIO(last_reference_frees, 3, on_the_heap, is_freed, unref, use_and_unref)
