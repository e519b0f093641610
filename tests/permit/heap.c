/* SPDX-License-Identifier: MIT */
/*
 * Semaphores on the heap live until the last reference is dropped; misuse of
 * the reference count panics.  owned.c tests permits that hold a reference.
 */
#include "check.h"
#include "memory.h"
#include "weir/permit.h"

TEST(c34_new_is_a_semaphore_like_any_other)
{
	weir_sem_opts opts = { .permits = 2, .capacity = 5, .name = "new",
			       .policy = WEIR_BARGING, .max_waiters = 3 };
	weir_sem *sem = weir_sem_new(&opts);

	CHECK(sem);
	CHECK(strcmp(stat_of(sem).name, "new") == 0);
	CHECK_EQ(stat_of(sem).capacity, 5);
	CHECK_EQ(stat_of(sem).free, 2);
	CHECK_EQ(stat_of(sem).held, 3);
	CHECK_EQ(stat_of(sem).policy, WEIR_BARGING);
	CHECK_IDENTITY(sem);
	CHECK_OK(weir_sem_acquire(sem, 2, NULL));
	CHECK_ERR(weir_sem_try_acquire(sem, 1), WEIR_EAGAIN);
	weir_sem_release(sem, 5);
	CHECK_EQ(weir_sem_available(sem), 5);
	weir_sem_close(sem, WEIR_CLOSE_NOW);
	/* The flag that it is from weir_sem_new is still set. */
	CHECK(weir_sem_ref(sem) == sem);
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 1);
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}

TEST(c34_failed_new_leaks_nothing)
{
	weir_sem_opts opts = { .permits = -1 };

	CHECK(!weir_sem_new(&opts));
	opts.permits = WEIR_SEM_MAX + 1;
	CHECK(!weir_sem_new(&opts));
	CHECK(!weir_sem_new(NULL));
	CHECK_EQ(alive(), 0);
	opts.permits = 1;
	out_of_memory = true;
	CHECK(!weir_sem_new(&opts));
	out_of_memory = false;
	CHECK_EQ(alive(), 0);
}

TEST(c34_the_last_unref_frees)
{
	weir_sem *sem = new_sem(3);

	for (uint32_t i = 2; i <= 10; i++) {
		CHECK(weir_sem_ref(sem) == sem);
		CHECK_EQ(refs_of(sem), i);
	}
	for (uint32_t i = 10; i > 1; i--) {
		weir_sem_unref(sem);
		CHECK_EQ(refs_of(sem), i - 1);
		CHECK_EQ(alive(), 1);
	}
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}

TEST(ref_of_a_semaphore_not_from_new_panics)
{
	weir_sem stack = WEIR_SEM_INIT(2), zero;
	weir_sem *misaligned = (weir_sem *)(void *)((char *)(void *)&stack + 1);
	weir_sem *got = &stack;
	weir_permit p = WEIR_PERMIT_INIT;
	weir_err err = WEIR_OK;

	memset(&zero, 0, sizeof(zero));
	CHECK_PANICS("weir_sem_ref", got = weir_sem_ref(NULL));
	CHECK(!got);
	CHECK_PANICS("weir_sem_ref", got = weir_sem_ref(misaligned));
	CHECK(!got);
	CHECK_PANICS("weir_sem_new", got = weir_sem_ref(&stack));
	CHECK(!got);
	CHECK_PANICS("weir_sem_new", got = weir_sem_ref(&zero));
	CHECK(!got);
	CHECK_PANICS("weir_sem_unref", weir_sem_unref(NULL));
	CHECK_PANICS("weir_sem_unref", weir_sem_unref(misaligned));
	CHECK_PANICS("weir_sem_new", weir_sem_unref(&stack));
	CHECK_PANICS("weir_sem_new", weir_sem_unref(&zero));

	/* C34: own fails for a semaphore not from weir_sem_new. */
	CHECK_OK(weir_permit_acquire(&p, &stack, 2, NULL));
	CHECK_PANICS("weir_sem_new", err = weir_permit_own(&p));
	CHECK_ERR(err, WEIR_EINVAL);
	CHECK(!weir_permit_is_owned(&p));
	CHECK_EQ(weir_permit_count(&p), 2);
	weir_permit_release(&p);
	CHECK_EQ(weir_sem_available(&stack), 2);
}

TEST(a_count_out_of_range_panics)
{
	weir_sem *sem = new_sem(5), *got = sem;
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	weir_err err = WEIR_OK;

	/* The count that freed memory would have. */
	*count_of(sem) = 0;
	CHECK_PANICS("no reference", got = weir_sem_ref(sem));
	CHECK(!got);
	CHECK_PANICS("no reference", weir_sem_unref(sem));
	CHECK_EQ(*count_of(sem), 0);

	*count_of(sem) = (uint32_t)INT32_MAX;
	CHECK_OK(weir_permit_acquire(&p, sem, 3, NULL));
	CHECK_OK(weir_permit_own(&p));
	CHECK_PANICS("too many", got = weir_sem_ref(sem));
	CHECK(!got);
	CHECK_PANICS("too many", err = weir_permit_split(&p, 1, &q));
	CHECK_ERR(err, WEIR_EINVAL);
	CHECK_EQ(weir_permit_count(&p), 3);
	CHECK_EQ(weir_permit_count(&q), 0);
	CHECK_EQ(refs_of(sem), (uint32_t)INT32_MAX + 1);
	weir_permit_release(&p);
	CHECK_EQ(refs_of(sem), (uint32_t)INT32_MAX);
	*count_of(sem) = 1;
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}

static void *acquire_one(void *arg)
{
	CHECK_OK(weir_sem_acquire(arg, 1, NULL));
	return NULL;
}

/* C22: the last unref panics while a thread waits, and has no effect. */
TEST(c22_last_unref_with_a_waiter_panics_and_keeps_it)
{
	weir_sem *sem = new_sem(1);
	check_thread thread;

	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	thread = start(acquire_one, sem);
	AWAIT(waiters_of(sem) == 1);
	CHECK_PANICS("weir_sem_unref", weir_sem_unref(sem));
	CHECK(strstr(panic_message, "heap"));
	CHECK_EQ(refs_of(sem), 1);
	CHECK_EQ(alive(), 1);
	CHECK_EQ(waiters_of(sem), 1);
	weir_sem_release(sem, 1);
	finish(thread);
	weir_sem_release(sem, 1);
	CHECK_EQ(weir_sem_available(sem), 1);
	weir_sem_unref(sem);
	CHECK_EQ(alive(), 0);
}
