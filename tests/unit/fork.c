/* SPDX-License-Identifier: MIT */
/* Forks: C29. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

static weir_sem sem;

static void use_what_is_free(void)
{
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	/* and exits without releasing it */
}

/*
 * C29: no thread waited at the fork: the child has its own copy, and its calls
 * do not affect the parent.
 */
TEST(c29_without_waiters_the_child_has_a_copy)
{
	weir_sem_info before;
	char text[512];

	CHECK_OK(weir_sem_init(&sem, 3));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before = stat_of(&sem);
	CHECK_EQ(in_child(use_what_is_free, text, sizeof(text)), 0);
	CHECK(same_stat(before, stat_of(&sem)));
	weir_sem_release(&sem, 1);
	CHECK_EQ(weir_sem_available(&sem), 3);
}

static void child_acquire(void) { CHECK_OK(weir_sem_acquire(&sem, 1, NULL)); }
static void child_release(void) { weir_sem_release(&sem, 1); }
static void child_close(void) { weir_sem_close(&sem, WEIR_CLOSE_NOW); }
static void child_try(void) { CHECK_OK(weir_sem_try_acquire(&sem, 1)); }
static void child_resize(void) { CHECK_OK(weir_sem_resize(&sem, 9, NULL)); }
static void child_stat(void) { (void)stat_of(&sem); }

/* C8: also on the path that finds the waiters under the lock. */
static void child_try_release(void)
{
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EINVAL);
	CHECK_EQ(weir_sem_available(&sem), 0);
}

static void must_abort(void (*use)(void))
{
	char text[512];
	int status = in_child(use, text, sizeof(text));

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		check_fail(__FILE__, __LINE__, "status %#x: %s",
			   (unsigned)status, text);
	CHECK(strstr(text, "harbour"));
	CHECK(strstr(text, "fork"));
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

static void init_named(uint32_t flags)
{
	weir_sem_opts opts = { .permits = 2, .name = "harbour",
			       .flags = flags };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
}

/*
 * C29: a thread waited at the fork: every use in the child is detected, and the
 * parent is not affected.
 */
TEST(c29_use_in_a_child_after_waiters_is_detected)
{
	char text[512];
	job a;

	init_named(0);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 2, NULL);
	CHECK_EQ(in_child(child_try_release, text, sizeof(text)), 0);
	must_abort(child_acquire);
	must_abort(child_release);
	must_abort(child_close);
	must_abort(child_resize);
	must_abort(child_stat);
	CHECK_EQ(waiters_of(&sem), 1);
	CHECK_EQ(stat_of(&sem).held, 2);
	weir_sem_release(&sem, 1);
	/* Now one is free, and still only the waiter may have it. */
	must_abort(child_acquire);
	must_abort(child_release);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 2);
}

static void child_try_is_refused(void)
{
	CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EAGAIN);
}

/* C29: a try in the child never passes a waiter whose thread does not exist. */
TEST(c29_a_try_in_the_child)
{
	char text[512];
	int status;
	job a;

	init_named(0);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 2, NULL);
	status = in_child(child_try_is_refused, text, sizeof(text));
	CHECK(status == 0 ||
	      (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
}

/* C29: the same with oversized waiters. */
TEST(c29_oversized_waiters)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	job big, idle;

	init_named(0);
	wait_oversized(&big, &sem, 3, &ctx);
	must_abort(child_resize);
	must_abort(child_acquire);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&big), WEIR_ECANCELED);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	wait_for_idle(&idle, &sem, NULL);
	must_abort(child_release);
	must_abort(child_try);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
}

static void grandchild(void)
{
	char text[512];

	CHECK_EQ(in_child(use_what_is_free, text, sizeof(text)), 0);
}

/* C29: the same in a child of a child. */
TEST(c29_grandchildren)
{
	char text[512];

	CHECK_OK(weir_sem_init(&sem, 3));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_EQ(in_child(grandchild, text, sizeof(text)), 0);
	CHECK_EQ(stat_of(&sem).held, 1);
}
