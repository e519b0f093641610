/* SPDX-License-Identifier: MIT */
/*
 * C29 with a panic hook that returns: use in the child is detected and refused,
 * with one panic for each call, and the child goes on; also if a lock was held
 * at the fork, or if the waiting thread itself forked.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hook.h"
#include "between.h"
#include "core/ctx_tree.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_queue.h"
#include "weir/async.h"

static weir_sem sem;
static weir_ctx ctx;
static int panics;
static char last_panic[512];

static void note_panic(const char *message)
{
	panics++;
	snprintf(last_panic, sizeof(last_panic), "%s", message);
}

/* The statement panics once, about a fork, and leaves the lock free. */
#define DETECTED(...)                                                          \
	do {                                                                   \
		int before_ = panics;                                          \
		__VA_ARGS__;                                                   \
		CHECK_EQ(panics, before_ + 1);                                 \
		CHECK(strstr(last_panic, "fork"));                             \
	} while (0)

static void use_every_call(void)
{
	weir_sem_info info;
	int64_t got;

	weir_set_panic_hook(note_panic);
	DETECTED(CHECK_ERR(weir_sem_acquire(&sem, 1, NULL), WEIR_EINVAL));
	CHECK(strstr(last_panic, "weir_sem_acquire: "));
	CHECK(strstr(last_panic, "had waiters at a fork"));
	DETECTED(CHECK_ERR(weir_sem_acquire_until(&sem, 1, 0), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_try_acquire(&sem, 1), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_try_acquire_barging(&sem, 1), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_drain(&sem, &got), WEIR_EINVAL));
	/* C8: an error instead of a panic. */
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EINVAL);
	DETECTED(weir_sem_release(&sem, 1));
	DETECTED(CHECK_ERR(weir_sem_resize(&sem, 1, NULL), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_forget(&sem, 1), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_wait_idle(&sem, NULL), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_stat(&sem, &info), WEIR_EINVAL));
	DETECTED(CHECK_ERR(weir_sem_destroy(&sem), WEIR_EINVAL));
	DETECTED(weir_sem_close(&sem, WEIR_CLOSE_NOW));
	DETECTED(weir_ctx_cancel(&ctx));
	CHECK(!weir_sem_is_closed(&sem));
	CHECK_EQ(weir_sem_available(&sem), 1);
}

/* C29: the refused calls have no effect. */
TEST(c29_refused_in_the_child)
{
	char text[512];
	job a;

	CHECK_OK(weir_sem_init(&sem, 3));
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 2, &ctx);
	CHECK_EQ(in_child(use_every_call, text, sizeof(text)), 0);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&a), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void add_and_leave(void *unused)
{
	(void)unused;
	weir_sem_release(&sem, 1);
}

static void two_releases(void)
{
	weir_set_panic_hook(note_panic);
	before_cas("unlock_untouched", add_and_leave, NULL);
	DETECTED(weir_sem_release(&sem, 1));
	happened();
	/* The release under the lock succeeded; the other was refused. */
	CHECK_EQ(weir_sem_available(&sem), 1);
	DETECTED(weir_sem_release(&sem, 1));
}

/* C29, C25: a release is refused in the child while another one runs. */
TEST(c29_released_while_it_is_refused)
{
	char text[512];
	job a;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&a, &sem, 2, NULL);
	CHECK_EQ(in_child(two_releases, text, sizeof(text)), 0);
	weir_sem_release(&sem, 2);
	CHECK_OK(job_end(&a));
}

static const int64_t one_second = 1000000000;

/* As if the process had been stopped for so long. */
static void stop_for_200_s(void *unused)
{
	(void)unused;
	pass_seconds(200);
}

static void stat_once(void)
{
	weir_sem_info info;

	int64_t began_ns = weir_now_ns();

	weir_set_panic_hook(note_panic);
	before("is_orphaned", 3, stop_for_200_s, NULL);
	DETECTED(CHECK_ERR(weir_sem_stat(&sem, &info), WEIR_EINVAL));
	happened();
	CHECK(strstr(last_panic, "in use at a fork"));
	/* A stop counts for 100 ms. */
	CHECK(weir_now_ns() - began_ns >= 200 * one_second + 900000000);
	/* A release needs no lock. */
	weir_sem_release(&sem, 1);
	CHECK_EQ(panics, 1);
}

static int locked, go_on;

static void stop_under_the_lock(void *unused)
{
	(void)unused;
	__atomic_store_n(&locked, 1, __ATOMIC_SEQ_CST);
	AWAIT(__atomic_load_n(&go_on, __ATOMIC_SEQ_CST));
}

static void *resize_slowly(void *unused)
{
	before("set_capacity", 1, stop_under_the_lock, NULL);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	happened();
	return unused;
}

/* Run fn in a child that was forked while another thread held the lock. */
static void fork_while_locked(void (*fn)(void))
{
	check_thread thread;
	char text[512];

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	locked = go_on = 0;
	thread = start(resize_slowly, NULL);
	AWAIT(__atomic_load_n(&locked, __ATOMIC_SEQ_CST));
	CHECK_EQ(in_child(fn, text, sizeof(text)), 0);
	__atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
	finish(thread);
	CHECK_EQ(weir_sem_available(&sem), 2);
	CHECK_EQ(stat_of(&sem).held, 1);
}

/*
 * C29: a thread held the lock at the fork, and in the child no thread ever
 * unlocks it.
 */
TEST(c29_locked_at_the_fork)
{
	fork_while_locked(stat_once);
}

static void end_ctx(void *unused)
{
	(void)unused;
	CHECK_ERR(weir_ctx_end_with_(&ctx, WEIR_ECANCELED), WEIR_ECANCELED);
}

/* Every kind of limit ends the wait for the lock, without a panic. */
static void limited_calls(void)
{
	const int64_t soon_ns = 20000000;
	weir_op op;

	weir_set_panic_hook(note_panic);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, soon_ns), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(soon_ns)));
	CHECK_ERR(weir_sem_acquire(&sem, 2, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(soon_ns)));
	CHECK_ERR(weir_sem_wait_idle(&sem, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	before("is_orphaned", 1, end_ctx, NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 2, &ctx), WEIR_ECANCELED);
	happened();
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit_until(&op, &sem, 2,
				       weir_deadline_after(soon_ns)),
		  WEIR_ETIMEDOUT);
	CHECK_EQ(panics, 0);
}

/* C14, C29: the deadline of a call limits its wait for such a lock, too. */
TEST(c29_a_deadline_ends_the_wait_for_a_lock_held_at_the_fork)
{
	fork_while_locked(limited_calls);
}

/*
 * A waiting thread forks, here in the hook that reports its wait; it could be a
 * signal handler.  In the child the thread is still inside its call.
 */
static void (*before_fork)(void);
static void (*in_the_child)(void);
static pid_t child;

static void fork_now(const struct weir_event_ *event)
{
	if (event->kind != WEIR_EVENT_QUEUED_)
		return;
	weir_hook_set_(NULL);
	if (before_fork)
		before_fork();
	child = fork();
	CHECK(child >= 0);
	if (child)
		return;
	alarm(60);
	weir_set_panic_hook(note_panic);
	if (in_the_child)
		in_the_child();
}

static void fork_when_queued(void (*first)(void), void (*then)(void))
{
	before_fork = first;
	in_the_child = then;
	panics = 0;
	CHECK(weir_hook_set_(fork_now) == NULL);
}

static const int64_t hundred_seconds = 100000000000;

static void come_to_the_deadline(void)
{
	pass_seconds(200);
}

/* Check the result of the call in both processes; the child ends here. */
static void compare(weir_err got, weir_err parent_wants, weir_err child_wants)
{
	int status;

	if (!child) {
		CHECK_ERR(got, child_wants);
		CHECK_EQ(panics, 1);
		CHECK(strstr(last_panic, "fork"));
		_exit(0);
	}
	CHECK_ERR(got, parent_wants);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(panics, 0);
}

static void init_held(weir_policy policy, uint32_t barge_us)
{
	weir_sem_opts opts = { .permits = 1, .policy = policy,
			       .barge_us = barge_us };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
}

/*
 * C29: the waiter times out, and in the child its call is refused.  (BARGING:
 * it does not spin first.)
 */
TEST(c29_a_waiter_forks_and_times_out)
{
	init_held(WEIR_BARGING, WEIR_BARGE_US_MAX);
	fork_when_queued(come_to_the_deadline, NULL);
	compare(weir_sem_acquire_for(&sem, 1, hundred_seconds), WEIR_ETIMEDOUT,
		WEIR_EINVAL);
	CHECK_EQ(waiters_of(&sem), 0);
}

static void release_it(void)
{
	weir_sem_release(&sem, 1);
}

/* C29: the waiter is woken to retry, and in the child its call is refused. */
TEST(c29_a_waiter_forks_and_retries)
{
	init_held(WEIR_BARGING, WEIR_BARGE_US_MAX);
	fork_when_queued(release_it, NULL);
	compare(weir_sem_acquire(&sem, 1, NULL), WEIR_OK, WEIR_EINVAL);
	CHECK_EQ(stat_of(&sem).held, 1);
}

/* A waiter in the queue without a thread. */
static struct weir_waiter_ threadless;

static void enqueue_threadless(void)
{
	threadless = (struct weir_waiter_){ .sem = &sem, .min = 1, .max = 1 };
	CHECK_OK(weir_sem_lock_(&sem, "test"));
	weir_sem_join_(&sem, &threadless, WEIR_IN_QUEUE_);
	weir_sem_unlock_(&sem, 0);
}

static void dequeue_threadless(void)
{
	CHECK_OK(weir_sem_lock_(&sem, "test"));
	weir_sem_leave_(&sem, &threadless);
	weir_sem_unlock_(&sem, 0);
}

/*
 * C29: the waiter is overdue and takes the lock; in the child its call is
 * refused.  (A waiter without another one ahead does not wake at its bound.)
 */
TEST(c29_a_waiter_forks_and_is_overdue)
{
	init_held(WEIR_BARGING, 1);
	enqueue_threadless();
	fork_when_queued(come_to_the_deadline, NULL);
	compare(weir_sem_acquire_for(&sem, 1, hundred_seconds), WEIR_ETIMEDOUT,
		WEIR_EINVAL);
	CHECK_EQ(waiters_of(&sem), 1);
	dequeue_threadless();
}

static void release_and_fork(void *unused)
{
	weir_sem_info info;

	(void)unused;
	weir_sem_release(&sem, 1);
	child = fork();
	CHECK(child >= 0);
	if (child)
		return;
	weir_set_panic_hook(note_panic);
	DETECTED(CHECK_ERR(weir_sem_stat(&sem, &info), WEIR_EINVAL));
	panics = 0;
}

static void *spin_and_fork(void *unused)
{
	before("is_available", 1, release_and_fork, NULL);
	panics = 0;
	compare(weir_sem_acquire(&sem, 1, NULL), WEIR_OK, WEIR_EINVAL);
	happened();
	return unused;
}

/* C29: the waiter was spinning at the fork, and its permit was free. */
TEST(c29_a_spinner_at_the_fork)
{
	init_held(WEIR_FIFO, 0);
	finish(start(spin_and_fork, NULL));
	CHECK_EQ(stat_of(&sem).held, 1);
}

static void grant_with_another_behind(void)
{
	enqueue_threadless();
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 1);
}

/*
 * C13, C29: the waiter was granted, and its context has ended before it
 * returns: in the child the permit cannot be given back, and the call panics.
 */
TEST(c29_a_waiter_forks_and_returns_a_grant)
{
	init_held(WEIR_FIFO, 0);
	CHECK_OK(weir_ctx_init(&ctx, NULL,
			       weir_deadline_after(hundred_seconds)));
	fork_when_queued(grant_with_another_behind, come_to_the_deadline);
	compare(weir_sem_acquire(&sem, 1, &ctx), WEIR_OK, WEIR_ETIMEDOUT);
	dequeue_threadless();
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
}
