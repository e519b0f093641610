/* SPDX-License-Identifier: MIT */
/* Releasing permits: C6, C7, C8, C9, and C25 from signal handlers. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"
#include "weir/async.h"
#include "weir/loop.h"

static void *release_one(void *arg)
{
	weir_sem_release(arg, 1);
	return NULL;
}

/* C6: a thread that never acquired may release. */
TEST(c6_any_thread_releases)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	finish(start(release_one, &sem));
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
}

/* C6: when a release returns, all heads that fit are granted and no other. */
TEST(c6_grants_all_heads_that_fit)
{
	weir_sem sem = WEIR_SEM_INIT(10);
	weir_sem_info now;
	job two, three, six, one;

	CHECK_OK(weir_sem_acquire(&sem, 10, NULL));
	queue_up(&two, &sem, 2, NULL);
	queue_up(&three, &sem, 3, NULL);
	queue_up(&six, &sem, 6, NULL);
	queue_up(&one, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 4);
	weir_sem_release(&sem, 5);
	/* 2 + 3 of 6; one is free, but not for the last waiter. */
	now = stat_of(&sem);
	CHECK_EQ(now.waiters, 2);
	CHECK_EQ(now.free, 1);
	CHECK_EQ(now.held + now.granted, 9);
	CHECK_OK(job_end(&two));
	CHECK_OK(job_end(&three));
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 4);
	CHECK_EQ(waiters_of(&sem), 2);
	weir_sem_release(&sem, 2);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_OK(job_end(&six));
	CHECK_OK(job_end(&one));
	CHECK_EQ(stat_of(&sem).free, 0);
	CHECK_EQ(stat_of(&sem).held, 10);
}

/* C7: the head is cancelled; the next waiter fits and is granted. */
TEST(c7_cancelled_head_lets_the_next_in)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	job heavy, light;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&heavy, &sem, 2, &ctx);
	queue_up(&light, &sem, 1, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_ERR(job_end(&heavy), WEIR_ECANCELED);
	CHECK_OK(job_end(&light));
	CHECK_EQ(stat_of(&sem).held, 2);
}

/*
 * C7: the same with a deadline.  If the deadline passes before the second
 * waiter is in the queue, retry with more time.
 */
TEST(c7_timed_out_head_lets_the_next_in)
{
	bool shown = false;

	for (int64_t ns = 10000000; !shown; ns *= 2) {
		weir_sem sem = WEIR_SEM_INIT(2);
		job heavy = { .sem = &sem, .n = 2, .max = -1,
			      .has_deadline = true };
		job light = { .sem = &sem, .n = 1, .max = -1 };

		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		heavy.deadline = weir_deadline_after(ns);
		job_start(&heavy);
		AWAIT(waiters_of(&sem) == 1 || job_done(&heavy));
		job_start(&light);
		AWAIT((shown = waiters_of(&sem) == 2) || job_done(&heavy));
		CHECK_ERR(job_end(&heavy), WEIR_ETIMEDOUT);
		CHECK_OK(job_end(&light));
		CHECK_EQ(stat_of(&sem).held, 2);
	}
}

/*
 * C7: growth grants to the head; a shrink that makes it oversized, to the next.
 */
TEST(c7_resize_lets_the_next_in)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_ctx ctx = WEIR_CTX_INIT;
	job four, one;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&four, &sem, 4, &ctx);
	queue_up(&one, &sem, 1, NULL);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_EQ(oversized_of(&sem), 1);
	CHECK_OK(job_end(&one));
	CHECK_OK(weir_sem_resize(&sem, 7, NULL));
	CHECK_OK(job_end(&four));
	CHECK_EQ(stat_of(&sem).held, 7);
}

/* C7: a waiter that is not the head leaves: no other waiter is woken. */
TEST(c7_leaving_the_middle_wakes_no_other)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ctx = WEIR_CTX_INIT;
	job head, middle, last;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&head, &sem, 3, NULL);
	queue_up(&middle, &sem, 1, &ctx);
	queue_up(&last, &sem, 1, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&middle), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), 2);
	CHECK_EQ(stat_of(&sem).free, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&head));
	weir_sem_release(&sem, 3);
	CHECK_OK(job_end(&last));
}

/*
 * C8: an over-release panics with the name and the counts and, if the hook
 * returns, has no effect.  The number of held permits decides, not that of free
 * ones.
 */
TEST(c8_over_release_reports_name_and_counts)
{
	weir_sem_opts opts = { .permits = 57, .name = "turnstile" };
	weir_sem_info before;
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 23, NULL));
	before = stat_of(&sem);
	CHECK_PANICS("turnstile", weir_sem_release(&sem, 24));
	CHECK(strstr(panic_message, "23 held (capacity 57, free 34)"));
	CHECK(strstr(panic_message, "24"));
	CHECK(!strchr(panic_message, '\n'));
	CHECK(same_stat(before, stat_of(&sem)));
	CHECK_ERR(weir_sem_try_release(&sem, 24), WEIR_EOVERFLOW);
	CHECK_ERR(weir_sem_try_release(&sem, WEIR_SEM_MAX), WEIR_EOVERFLOW);
	CHECK(same_stat(before, stat_of(&sem)));
	/* 23 are held and 34 free: 23 can be released, one more cannot. */
	CHECK_OK(weir_sem_try_release(&sem, 23));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 57);
	CHECK_OK(weir_sem_acquire(&sem, 57, NULL));
	CHECK_PANICS("57 held (capacity 57, free 0)",
		     weir_sem_release(&sem, 58));
}

static void over_release(void)
{
	weir_sem_opts opts = { .permits = 3, .name = "lock gate" };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	weir_sem_release(&sem, 1);
}

/* C8: the default hook prints one line and aborts. */
TEST(c8_default_hook_prints_a_line_and_aborts)
{
	char text[1024];
	int status = in_child(over_release, text, sizeof(text));

	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGABRT);
	CHECK(strstr(text, "lock gate"));
	CHECK(strchr(text, '\n') == text + strlen(text) - 1);
}

/* C8: a permit granted to a waiter counts as held; one more does not exist. */
TEST(c8_over_release_while_a_grant_is_in_flight)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 1, NULL);
	job_freeze(&a);
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_EQ(stat_of(&sem).held, 0);
	CHECK_ERR(weir_sem_try_release(&sem, 2), WEIR_EOVERFLOW);
	CHECK_PANICS("", weir_sem_release(&sem, 2));
	CHECK_EQ(stat_of(&sem).free, 1);
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_EQ(stat_of(&sem).held, 1);
}

/* C9: an unbounded semaphore starts at 0; any thread may release it. */
TEST(c9_unbounded_is_a_signal)
{
	weir_sem sem = WEIR_SEM_INIT_UNBOUNDED(0);
	job a;

	queue_up(&a, &sem, 3, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_try_release(&sem, 1));
	CHECK_EQ(waiters_of(&sem), 1);
	weir_sem_release(&sem, 4);
	CHECK_OK(job_end(&a));
	CHECK_EQ(weir_sem_available(&sem), 3);
}

/* C8, C9: an unbounded semaphore has at most WEIR_SEM_MAX permits. */
TEST(c9_unbounded_ends_at_the_maximum)
{
	weir_sem_opts opts = { .name = "tide", .flags = WEIR_SEM_UNBOUNDED };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	weir_sem_release(&sem, WEIR_SEM_MAX - 1);
	CHECK_ERR(weir_sem_try_release(&sem, 2), WEIR_EOVERFLOW);
	CHECK_PANICS("tide", weir_sem_release(&sem, 2));
	CHECK(strstr(panic_message, "(maximum "));
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX - 1);
	weir_sem_release(&sem, 1);
	CHECK_EQ(weir_sem_available(&sem), WEIR_SEM_MAX);
	CHECK_ERR(weir_sem_try_release(&sem, WEIR_SEM_MAX), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_acquire(&sem, WEIR_SEM_MAX, NULL));
}

enum { RELEASES = 3000 };

static weir_sem bell = WEIR_SEM_INIT_UNBOUNDED(0);
static int handled;

static void release_in_handler(int signal)
{
	(void)signal;
	if (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) == RELEASES)
		return;
	weir_sem_release(&bell, 1);
	__atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *signal_often(void *arg)
{
	pthread_t *target = arg;

	/*
	 * Pending signals merge, so the handler counts.  One signal for each
	 * count is not enough: a sanitizer may defer a handler until the next
	 * signal.
	 */
	while (__atomic_load_n(&handled, __ATOMIC_SEQ_CST) < RELEASES) {
		CHECK_EQ(pthread_kill(*target, SIGUSR1), 0);
		sched_yield();
	}
	return NULL;
}

/*
 * C25: the handler releases the semaphore whose acquire or release it
 * interrupted, wherever that was.  Each release counts.
 */
TEST(c25_release_in_a_signal_handler)
{
	struct sigaction action = { .sa_handler = release_in_handler };
	pthread_t self = pthread_self();
	check_thread thread;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	thread = start(signal_often, &self);
	for (int taken = 0; taken < RELEASES; taken++) {
		CHECK_OK(weir_sem_acquire(&bell, 1, NULL));
		weir_sem_release(&bell, 2);
		CHECK_OK(weir_sem_acquire(&bell, 2, NULL));
		CHECK_IDENTITY(&bell);
	}
	finish(thread);
	CHECK_EQ(weir_sem_available(&bell), 0);
}

/*
 * C8, C13: a thread releases by mistake the permits granted to a waiter that
 * has not returned; the counts do not reveal the mistake.  If the waiter is
 * then cancelled, only those of its permits that are still held are given back.
 */
static void release_granted(int64_t granted, int64_t mistaken)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem_info now;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, granted, &ctx);
	CHECK(job_freeze(&a));
	weir_sem_release(&sem, 2);
	CHECK_EQ(stat_of(&sem).granted, granted);
	weir_sem_release(&sem, mistaken);
	now = stat_of(&sem);
	CHECK_EQ(now.free, 2 - granted + mistaken);
	CHECK_EQ(now.granted, granted - mistaken);
	CHECK_EQ(now.held, 0);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(weir_sem_available(&sem), 2);
	jobs_thaw();
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_IDENTITY(&sem);
}

TEST(c8_mistaken_release_of_granted_permits)
{
	release_granted(2, 1);
	release_granted(2, 2);
	release_granted(1, 1);
}

static void ran(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
}

/*
 * C25: a release leaves errno as it is, on every path: a fast one, one that
 * wakes a thread, one that notifies a loop, and one that is refused.
 */
TEST(c25_errno_is_unchanged)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_loop loop;
	weir_op op;
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	errno = 4711;
	weir_sem_release(&sem, 1);
	CHECK_EQ(errno, 4711);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	errno = 4711;
	weir_sem_release(&sem, 1);
	CHECK_EQ(errno, 4711);
	CHECK_OK(job_end(&a));
	CHECK_OK(weir_loop_init(&loop));
	weir_op_init(&op, &loop, ran, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	/* The write to a full or a closed descriptor fails with an error. */
	CHECK(close(weir_loop_fd(&loop)) == 0);
	errno = 4711;
	CHECK_OK(weir_sem_try_release(&sem, 1));
	CHECK_EQ(errno, 4711);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	weir_sem_release(&sem, 2);
	errno = 4711;
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(errno, 4711);
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_sem_destroy(&sem));
}
