/* SPDX-License-Identifier: MIT */
/*
 * A permit is lost when a forked child releases to a waiter that exists only in
 * the parent.  The file also tests two related scenarios of semaphores between
 * processes that concern threads as well: releasing part of an acquisition, and
 * a capacity that overflows.
 *
 * Threads: parent, waiter (queued, in the parent), child.
 *
 *   1. parent: forks.
 *   2. child: releases; the release grants to the waiter, whose thread does not
 *      exist in the child, and the permit is lost.
 *
 * In weir the counts are exact after every partial release (C6, C8, C34).  The
 * child holds no permits and cannot affect the parent.  In the child every call
 * that would use the queue refuses a semaphore that had waiters at the fork
 * (C29).  (The death of a holder is tested in tests/named.)
 */
#include <sys/wait.h>

#include "waiter.h"
#include "weir/permit.h"

TEST(c8_partial_release)
{
	weir_sem sem = WEIR_SEM_INIT(3);

	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	weir_sem_release(&sem, 1);
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_ERR(weir_sem_try_release(&sem, 3), WEIR_EOVERFLOW);
	CHECK_EQ(stat_of(&sem).held, 2);
	weir_sem_release(&sem, 2);
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 3);
}

TEST(c34_partial_release_of_a_permit)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_permit whole = WEIR_PERMIT_INIT, part = WEIR_PERMIT_INIT;

	CHECK_OK(weir_permit_acquire(&whole, &sem, 3, NULL));
	CHECK_OK(weir_permit_split(&whole, 1, &part));
	weir_permit_release(&part);
	weir_permit_release(&part);
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_EQ(weir_permit_count(&whole), 2);
	weir_permit_release(&whole);
	weir_permit_release(&whole);
	CHECK_EQ(weir_sem_available(&sem), 3);
}

TEST(c1_capacity_overflow)
{
	weir_sem sem = WEIR_SEM_INIT(WEIR_SEM_MAX);
	weir_sem_opts opts = { .permits = 1, .capacity = WEIR_SEM_MAX + 1 };

	CHECK_ERR(weir_sem_resize(&sem, INT64_MAX, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sem_init_opts(&sem, &opts), WEIR_EINVAL);
	CHECK_OK(weir_sem_acquire(&sem, WEIR_SEM_MAX, NULL));
	CHECK_OK(weir_sem_resize(&sem, 0, NULL));
	CHECK_EQ(stat_of(&sem).debt, WEIR_SEM_MAX);
	CHECK_OK(weir_sem_resize(&sem, WEIR_SEM_MAX, NULL));
	weir_sem_release(&sem, WEIR_SEM_MAX);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
}

static int panics;

static void count_panic(const char *message)
{
	CHECK(strstr(message, "fork") != NULL);
	panics++;
}

/*
 * Each call must be refused in the child.  Returns the number of the first call
 * that was not, or 0.
 */
static int use_in_child(weir_sem *sem)
{
	weir_sem_info info;
	int64_t got;
	int step = 0;

	alarm(60);	/* alarm() is not inherited through fork */
	weir_set_panic_hook(count_panic);
#define REFUSED(call)                                                          \
	do {                                                                   \
		weir_err err = (call);                                         \
		step++;                                                        \
		if (err != WEIR_EINVAL || panics != step)                      \
			return step;                                           \
	} while (0)
	/* C8: an error instead of a panic. */
	if (weir_sem_try_release(sem, 1) != WEIR_EINVAL || panics)
		return 99;
	REFUSED(weir_sem_stat(sem, &info));
	REFUSED(weir_sem_resize(sem, 4, NULL));
	REFUSED(weir_sem_destroy(sem));
	REFUSED(weir_sem_forget(sem, 1));
	REFUSED(weir_sem_acquire_until(sem, 1, 1));
	REFUSED(weir_sem_acquire(sem, 1, NULL));
	REFUSED(weir_sem_drain(sem, &got));
	REFUSED(weir_sem_try_acquire(sem, 1));
#undef REFUSED
	weir_sem_release(sem, 1);
	if (panics != step + 1)
		return step + 1;
	weir_sem_close(sem, WEIR_CLOSE_NOW);
	return panics == step + 2 ? 0 : step + 2;
}

static int status_of(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void fork_with_a_waiter(weir_policy policy, struct waiter *w)
{
	weir_sem_opts opts = { .permits = 2, .policy = policy };
	weir_sem sem;
	pid_t child;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	w->sem = &sem;
	queue_up(w);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		_exit(use_in_child(&sem));
	CHECK_EQ(status_of(child), 0);
	/* The parent's semaphore is unchanged. */
	CHECK_EQ(waiters_of(&sem) + oversized_of(&sem), 1);
	CHECK_EQ(stat_of(&sem).held, 2);
	weir_sem_release(&sem, 2);
	CHECK_OK(result_of(w));
	CHECK_IDENTITY(&sem);
}

TEST(c29_waiters_at_the_fork_are_detected)
{
	struct waiter w = { .n = 1 };

	fork_with_a_waiter(WEIR_FIFO, &w);
	fork_with_a_waiter(WEIR_BARGING, &w);
}

TEST(c29_oversized_waiters_at_the_fork_are_detected)
{
	struct waiter w = { .idle = true };

	fork_with_a_waiter(WEIR_FIFO, &w);
}

/* C29: without waiters the child has an independent copy. */
TEST(c29_the_child_cannot_affect_the_parent)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	pid_t child;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		weir_err err = weir_sem_acquire(&sem, 2, NULL);

		if (!err)
			err = weir_sem_try_acquire(&sem, 1);
		_exit(err == WEIR_EAGAIN ? 0 : 1);
	}
	CHECK_EQ(status_of(child), 0);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_EQ(stat_of(&sem).held, 1);
	weir_sem_release(&sem, 1);
}
