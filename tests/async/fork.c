/* SPDX-License-Identifier: MIT */
/* Operations and forks: C29. */
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define LOOPS 16

static weir_sem sem;
static bool stop;

static void nothing_free(weir_sem *s)
{
	CHECK_OK(weir_sem_init(s, 1));
	CHECK_OK(weir_sem_acquire(s, 1, NULL));
}

/* Add a timer to the loop and remove it. */
static void submit_and_cancel(weir_sem *s, weir_loop *loop)
{
	struct call c;

	call_init(&c, loop);
	CHECK_ERR(weir_op_submit_until(&c.op, s, 1, WEIR_FOREVER - 1),
		  WEIR_EQUEUED);
	CHECK_OK(weir_op_cancel(&c.op));
}

static void *submits_and_cancels(void *arg)
{
	weir_loop loop;
	weir_sem s;

	nothing_free(&s);
	CHECK_OK(weir_loop_init(&loop));
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		submit_and_cancel(&s, &loop);
	CHECK_OK(weir_loop_destroy(&loop));
	return arg;
}

static void use_own_loops(void)
{
	weir_loop loops[LOOPS];

	alarm(60);
	nothing_free(&sem);
	for (int i = 0; i < LOOPS; i++) {
		CHECK_OK(weir_loop_init(&loops[i]));
		submit_and_cancel(&sem, &loops[i]);
	}
	_exit(0);
}

/* Locks that other threads held at the fork do not block the child's loops. */
TEST(c29_the_child_has_its_own_loops)
{
	check_thread threads[2];

	stop = false;
	for (int i = 0; i < 2; i++)
		threads[i] = start(submits_and_cancels, NULL);
	for (int i = 0; i < 400 * check_scale(); i++) {
		pid_t child = fork();
		int status;

		if (!child)
			use_own_loops();
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		finish(threads[i]);
}

static pid_t forked;

static void forks(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	forked = fork();
	CHECK(forked >= 0);
}

/* A callback forks; the callbacks that are ready run only in the parent. */
TEST(c29_operations_do_not_exist_in_the_child)
{
	struct call a, b;
	int status;

	calls_from_zero();
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 2 }));
	call_init(&a, NULL);
	weir_op_init(&a.op, NULL, forks, &a);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 1, NULL), WEIR_EQUEUED);
	call_queue(&b, NULL, &sem, 1, NULL);
	weir_sem_release(&sem, 2);
	if (!forked)
		_exit(calls_ran);
	CHECK(waitpid(forked, &status, 0) == forked);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 1);
	CALL_WAS(&a, WEIR_OK);
	CALL_WAS(&b, WEIR_OK);
}
