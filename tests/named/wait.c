/* SPDX-License-Identifier: MIT */
/*
 * Waiting, and the reasons that end a wait: order, deadlines, contexts, close,
 * resize, idle.  C3, C4, C6, C7, C11, C13, C14, C16, C18, C19, C20, C21, C24.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named/handle.h"
#include "puppet.h"
#include "weir/ctx.h"

/* A call on a thread of this process. */
struct call {
	weir_named *sem;
	weir_ctx *ctx;
	int64_t n;
	weir_err err;
	check_thread thread;
};

static void *acquire(void *arg)
{
	struct call *call = arg;

	call->err = weir_named_acquire(call->sem, call->n, call->ctx);
	return NULL;
}

static void *wait_idle(void *arg)
{
	struct call *call = arg;

	call->err = weir_named_wait_idle(call->sem, call->ctx);
	return NULL;
}

/*
 * Start the call, and wait until it is queued or on the oversized list, and has
 * dropped the lock: a cancel does not wait long for a thread that has the lock and
 * does not run.
 */
static void begin(struct call *call, weir_named *sem, int64_t n, weir_ctx *ctx)
{
	weir_named_info info = look_at(sem);
	uint32_t before = info.waiters + info.oversized;

	*call = (struct call){ .sem = sem, .ctx = ctx, .n = n };
	call->thread = start(n ? acquire : wait_idle, call);
	AWAIT((info = look_at(sem), info.waiters + info.oversized != before) &&
	      !info.inconsistent);
}

static weir_err outcome(struct call *call)
{
	finish(call->thread);
	return call->err;
}

TEST(c4_strict_order_with_weights_between_processes)
{
	const char *name = fresh_name();
	struct puppet big = puppet_at(name, 4), small = puppet_at(name, 4);
	weir_named *sem = open_named(name, 4);

	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	puppet_tell(&big, PUPPET_ACQUIRE, 3, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	/* One permit is free, but a waiter is queued. */
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	puppet_tell(&small, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).waiters, 2);
	/* C6: both fit now; both are granted when release returns. */
	weir_named_release(sem, 2);
	CHECK_EQ(look_at(sem).waiters, 0);
	CHECK_EQ(look_at(sem).free, 0);
	CHECK_EQ(puppet_hear(&big), WEIR_OK);
	CHECK_EQ(puppet_hear(&small), WEIR_OK);
	puppet_end(&big);
	puppet_end(&small);
	close_named(sem);
}

TEST(c3_the_queue_is_served_in_the_order_of_arrival)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct puppet queue[5];

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	for (uint32_t i = 0; i < 5; i++) {
		queue[i] = puppet_at(name, 1);
		puppet_tell(&queue[i], PUPPET_ACQUIRE, 1, 0, NULL);
		AWAIT(look_at(sem).waiters == i + 1);
	}
	weir_named_release(sem, 1);
	for (uint32_t i = 0; i < 5; i++) {
		weir_named_entry holder;
		weir_named_info info;

		CHECK_EQ(puppet_hear(&queue[i]), WEIR_OK);
		CHECK_OK(weir_named_stat(sem, &info, &holder, 1));
		CHECK_EQ(holder.role, WEIR_NAMED_HOLDS);
		CHECK_EQ(holder.pid, queue[i].pid);
		CHECK_EQ(info.waiters, 4 - i);
		CHECK_EQ(puppet_do(&queue[i], PUPPET_RELEASE, 1), WEIR_OK);
	}
	for (int i = 0; i < 5; i++)
		puppet_end(&queue[i]);
	CHECK_EQ(look_at(sem).free, 1);
	close_named(sem);
}

TEST(c3_threads_and_processes_stand_in_one_queue)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct puppet puppet = puppet_at(name, 1);
	struct call before, after;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	begin(&before, sem, 1, NULL);
	puppet_tell(&puppet, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	begin(&after, sem, 1, NULL);
	weir_named_release(sem, 1);
	CHECK_OK(outcome(&before));
	CHECK_EQ(look_at(sem).waiters, 2);
	weir_named_release(sem, 1);
	CHECK_EQ(puppet_hear(&puppet), WEIR_OK);
	CHECK_EQ(look_at(sem).waiters, 1);
	CHECK_EQ(puppet_do(&puppet, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_OK(outcome(&after));
	puppet_end(&puppet);
	close_named(sem);
}

TEST(c14_a_deadline_limits_waiting_only)
{
	weir_named *sem = open_named(fresh_name(), 1);

	CHECK_OK(weir_named_acquire_until(sem, 1, 1));
	CHECK_ERR(weir_named_acquire_until(sem, 1, 1), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_named_acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_named_acquire_for(sem, 1, -1), WEIR_ETIMEDOUT);
	CHECK_EQ(look_at(sem).waiters, 0);
	weir_named_release(sem, 1);
	CHECK_OK(weir_named_acquire_for(sem, 1, INT64_MAX));
	close_named(sem);
}

TEST(c7_the_head_that_times_out_makes_room)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2);
	struct puppet head = puppet_at(name, 2);
	bool shown = false;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	/* If it times out before the next one is queued, retry with more time. */
	for (int64_t ns = 20000000; !shown; ns *= 2) {
		int64_t deadline = weir_deadline_after(ns);
		struct call next = { .sem = sem, .n = 1 };

		CHECK(ns < INT64_C(16000000000));
		puppet_tell(&head, PUPPET_UNTIL, 2, deadline, NULL);
		AWAIT(look_at(sem).waiters == 1 || weir_now_ns() > deadline);
		next.thread = start(acquire, &next);
		AWAIT((shown = look_at(sem).waiters == 2) ||
		      weir_now_ns() > deadline);
		CHECK_EQ(puppet_hear(&head), WEIR_ETIMEDOUT);
		CHECK_OK(outcome(&next));
		weir_named_release(sem, 1);
	}
	puppet_end(&head);
	close_named(sem);
}

TEST(c13_when_cancel_returns_the_wait_is_over_and_the_next_is_served)
{
	weir_named *sem = open_named(fresh_name(), 2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call head, next;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	begin(&head, sem, 2, &ctx);
	begin(&next, sem, 1, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_EQ(look_at(sem).waiters, 0);
	CHECK_EQ(look_at(sem).free, 0);
	CHECK_ERR(outcome(&head), WEIR_ECANCELED);
	CHECK_OK(outcome(&next));
	CHECK_ERR(weir_named_acquire(sem, 0, &ctx), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(sem);
}

TEST(c2_a_context_that_has_ended_wins_over_free_permits)
{
	weir_named *sem = open_named(fresh_name(), 2);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, 1));
	CHECK_ERR(weir_named_acquire(sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(3000000)));
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_ERR(weir_named_acquire(sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_EQ(look_at(sem).waiters, 0);
	close_named(sem);
}

/* C13, many times: a cancel concurrent with a grant. */
TEST(c13_a_cancel_that_meets_a_grant_loses_nothing)
{
	weir_named *sem = open_named(fresh_name(), 1);

	for (int i = 0; i < 200 * check_scale(); i++) {
		weir_ctx ctx = WEIR_CTX_INIT;
		struct call call, next;
		weir_err err;

		CHECK_OK(weir_named_acquire(sem, 1, NULL));
		begin(&call, sem, 1, &ctx);
		begin(&next, sem, 1, NULL);
		weir_named_release(sem, 1);
		weir_ctx_cancel(&ctx);
		err = outcome(&call);
		CHECK(err == WEIR_OK || err == WEIR_ECANCELED);
		if (!err)
			weir_named_release(sem, 1);
		CHECK_OK(outcome(&next));
		weir_named_release(sem, 1);
		CHECK_OK(weir_ctx_destroy(&ctx));
		CHECK_EQ(look_at(sem).free, 1);
	}
	close_named(sem);
}

static uint32_t handled;	/* atomic; signals */

static void count_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
}

TEST(c18_a_signal_ends_a_wait_only_if_interruptible)
{
	const char *name = fresh_name();
	weir_named_opts opts = { .flags = WEIR_NAMED_INTERRUPTIBLE };
	struct sigaction action = { .sa_handler = count_signal };
	weir_named *sem = open_named(name, 1), *other;
	struct call call;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(weir_named_open(name, &opts, &other));
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	begin(&call, sem, 1, NULL);
	/*
	 * ThreadSanitizer runs a handler late: if the thread begins to sleep
	 * just then, the handler runs at the next signal.
	 */
	while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) < 100) {
		CHECK(!pthread_kill(call.thread.id, SIGUSR1));
		(void)sched_yield();
	}
	CHECK_EQ(look_at(sem).waiters, 1);
	weir_named_release(sem, 1);
	CHECK_OK(outcome(&call));
	begin(&call, other, 1, NULL);
	/* The thread may not sleep yet when the first signal arrives. */
	while (look_at(sem).waiters)
		CHECK(!pthread_kill(call.thread.id, SIGUSR1));
	CHECK_ERR(outcome(&call), WEIR_EINTR);
	close_named(other);
	close_named(sem);
}

/*
 * With a deadline a handler that was installed with SA_RESTART ends the wait, too.
 * The other participant must not change that: a sleep in futex_waitv(2), on words
 * of its slot as well, would go on after the handler.
 */
TEST(c18_any_handler_ends_a_wait_with_a_deadline)
{
	const char *name = fresh_name();
	weir_named_opts opts = { .flags = WEIR_NAMED_INTERRUPTIBLE };
	struct sigaction action = { .sa_handler = count_signal,
				    .sa_flags = SA_RESTART };
	weir_named *sem = open_named(name, 1), *other;
	struct call call;
	weir_ctx ctx;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK_OK(weir_named_open(name, &opts, &other));
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL,
			       weir_deadline_after(3600 * INT64_C(1000000000))));
	begin(&call, other, 1, &ctx);
	while (look_at(sem).waiters)
		CHECK(!pthread_kill(call.thread.id, SIGUSR1));
	CHECK_ERR(outcome(&call), WEIR_EINTR);
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(other);
	close_named(sem);
}

struct doomed {
	const char *name;
	pid_t child;
};

/*
 * The thread is cancelled before its first call, and must still reach
 * pthread_testcancel.
 */
static void *use_all_and_die(void *arg)
{
	struct doomed *doomed = arg;
	weir_named *sem;

	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	sem = open_named(doomed->name, 1);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	weir_named_release(sem, 1);
	doomed->child = fork();
	/* The child's first call joins. */
	if (!doomed->child)
		_exit(weir_named_try_acquire(sem, 1) ? 1 : 7);
	CHECK_OK(weir_named_unlink_handle(sem));
	close_named(sem);
	pthread_testcancel();
	return NULL;
}

TEST(c18_no_call_is_a_thread_cancellation_point)
{
	struct doomed doomed = { .name = fresh_name() };
	int status;

	CHECK(finish(start(use_all_and_die, &doomed)) == PTHREAD_CANCELED);
	CHECK(doomed.child > 0);
	CHECK_EQ(waitpid(doomed.child, &status, 0), doomed.child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 7);
	/* No mutex was left locked. */
	close_named(open_named(fresh_name(), 1));
}

TEST(c19_close_ends_all_waits_forever)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2), *later;
	struct puppet puppet = puppet_at(name, 2);
	struct call call;

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	puppet_tell(&puppet, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	begin(&call, sem, 1, NULL);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	CHECK_EQ(puppet_hear(&puppet), WEIR_ECLOSED);
	CHECK_ERR(outcome(&call), WEIR_ECLOSED);
	CHECK(weir_named_is_closed(sem));
	CHECK(look_at(sem).closed);
	CHECK_EQ(puppet_do(&puppet, PUPPET_TRY, 0), WEIR_ECLOSED);
	weir_named_release(sem, 2);
	weir_named_close(sem, WEIR_CLOSE_DRAIN);
	CHECK_OK(weir_named_resize(sem, 9, NULL));
	CHECK_ERR(weir_named_acquire(sem, 1, NULL), WEIR_ECLOSED);
	later = open_named(name, 2);
	CHECK_ERR(weir_named_try_acquire(later, 1), WEIR_ECLOSED);
	close_named(later);
	puppet_end(&puppet);
	close_named(sem);
}

TEST(c19_drain_grants_requests_that_fit)
{
	weir_named *sem = open_named(fresh_name(), 3);
	struct call big, small;

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	begin(&big, sem, 3, NULL);
	begin(&small, sem, 1, NULL);
	CHECK(!look_at(sem).closed);
	weir_named_close(sem, WEIR_CLOSE_DRAIN);
	CHECK(look_at(sem).closed);
	CHECK(weir_named_is_closed(sem));
	CHECK_ERR(outcome(&big), WEIR_ECLOSED);
	CHECK_OK(outcome(&small));
	CHECK_ERR(weir_named_acquire(sem, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_ECLOSED);
	weir_named_release(sem, 1);
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	close_named(sem);
}

TEST(c21_resize_grants_and_makes_debt)
{
	weir_named *sem = open_named(fresh_name(), 1);
	struct call call;
	int64_t debt;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	begin(&call, sem, 1, NULL);
	CHECK_OK(weir_named_resize(sem, 2, &debt));
	CHECK_EQ(debt, 0);
	CHECK_OK(outcome(&call));
	CHECK_OK(weir_named_resize(sem, 0, &debt));
	CHECK_EQ(debt, 2);
	CHECK_NAMED(sem);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).debt, 1);
	CHECK_OK(weir_named_resize(sem, 1, &debt));
	CHECK_EQ(debt, 0);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).free, 1);
	close_named(sem);
}

TEST(c21_forget_lowers_the_capacity)
{
	weir_named *sem = open_named(fresh_name(), 5);

	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	CHECK_ERR(weir_named_forget(sem, 4), WEIR_EOVERFLOW);
	CHECK_OK(weir_named_forget(sem, 2));
	CHECK_EQ(look_at(sem).capacity, 3);
	CHECK_EQ(look_at(sem).free, 2);
	CHECK_EQ(look_at(sem).held, 1);
	CHECK_NAMED(sem);
	close_named(sem);
}

TEST(c11_an_oversized_request)
{
	weir_named *sem = open_named(fresh_name(), 2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call call, queued;

	CHECK_ERR(weir_named_acquire(sem, 3, NULL), WEIR_ETOOBIG);
	begin(&call, sem, 3, &ctx);
	/* It waits on the oversized list and blocks no other call. */
	CHECK_EQ(look_at(sem).oversized, 1);
	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	CHECK_OK(weir_named_resize(sem, 3, NULL));
	CHECK_EQ(look_at(sem).oversized, 0);
	CHECK_EQ(look_at(sem).waiters, 1);
	begin(&queued, sem, 1, NULL);
	/* A shrink makes it oversized again; the next waiter is the head. */
	CHECK_OK(weir_named_resize(sem, 2, NULL));
	CHECK_EQ(look_at(sem).oversized, 1);
	weir_named_release(sem, 1);
	CHECK_OK(outcome(&queued));
	weir_ctx_cancel(&ctx);
	CHECK_ERR(outcome(&call), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(sem);
}

/* The call with the earlier ticket becomes oversized later. */
TEST(c11_oversized_calls_return_to_the_queue_in_the_order_they_left_it)
{
	weir_named *sem = open_named(fresh_name(), 3);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call light, heavy;

	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	begin(&light, sem, 2, &ctx);
	begin(&heavy, sem, 3, &ctx);
	CHECK_OK(weir_named_resize(sem, 2, NULL));
	CHECK_EQ(look_at(sem).oversized, 1);
	CHECK_OK(weir_named_resize(sem, 1, NULL));
	CHECK_EQ(look_at(sem).oversized, 2);
	CHECK_OK(weir_named_resize(sem, 3, NULL));
	CHECK_EQ(look_at(sem).waiters, 2);
	/* One resize moves both. */
	CHECK_OK(weir_named_resize(sem, 1, NULL));
	CHECK_EQ(look_at(sem).oversized, 2);
	CHECK_OK(weir_named_resize(sem, 3, NULL));
	CHECK_EQ(look_at(sem).waiters, 2);
	weir_named_release(sem, 3);
	CHECK_OK(outcome(&heavy));
	CHECK_EQ(look_at(sem).waiters, 1);
	weir_named_release(sem, 3);
	CHECK_OK(outcome(&light));
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(sem);
}

TEST(c20_idle_when_all_permits_are_released)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 2);
	struct puppet puppet = puppet_at(name, 2);
	weir_ctx ctx = WEIR_CTX_INIT, late;
	struct call call, other;

	CHECK_OK(weir_named_wait_idle(sem, NULL));
	/* C2: a context that has ended wins. */
	CHECK_OK(weir_ctx_init(&late, NULL, 1));
	CHECK_ERR(weir_named_wait_idle(sem, &late), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&late));
	CHECK_EQ(puppet_do(&puppet, PUPPET_ACQUIRE, 2), WEIR_OK);
	begin(&call, sem, 0, NULL);
	begin(&other, sem, 0, &ctx);
	CHECK_EQ(puppet_do(&puppet, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_EQ(look_at(sem).oversized, 2);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(outcome(&other), WEIR_ECANCELED);
	CHECK_EQ(puppet_do(&puppet, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_OK(outcome(&call));
	CHECK_OK(weir_ctx_destroy(&ctx));
	puppet_end(&puppet);
	close_named(sem);
}

TEST(c12_upto_waits_for_min)
{
	weir_named *sem = open_named(fresh_name(), 4);
	weir_ctx ctx;
	int64_t got;

	CHECK_OK(weir_named_acquire(sem, 3, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(2000000)));
	CHECK_ERR(weir_named_acquire_upto(sem, 2, 4, &ctx, &got),
		  WEIR_ETIMEDOUT);
	CHECK_EQ(got, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_named_acquire_upto(sem, 1, 4, NULL, &got));
	CHECK_EQ(got, 1);
	close_named(sem);
}

TEST(close_handle_fails_while_a_call_waits)
{
	weir_named *sem = open_named(fresh_name(), 1);
	struct call call;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	begin(&call, sem, 1, NULL);
	CHECK_ERR(weir_named_close_handle(sem), WEIR_EBUSY);
	weir_named_release(sem, 1);
	CHECK_OK(outcome(&call));
	close_named(sem);
}

/* C24: writes before a release are visible after the acquire. */
static int64_t counter;

static void *count_up(void *arg)
{
	weir_named *sem = arg;

	for (int i = 0; i < 2000; i++) {
		CHECK_OK(weir_named_acquire(sem, 1, NULL));
		counter++;
		weir_named_release(sem, 1);
	}
	return NULL;
}

static void *take_one(void *arg)
{
	CHECK_OK(weir_named_acquire(arg, 1, NULL));
	return NULL;
}

/*
 * A thread that finds that another one has joined sees what the join has stored.
 * ThreadSanitizer checks it, but not after a fork.  So this handle has left, and
 * joins at its next call as in the child of a fork.
 */
TEST(c24_c29_a_thread_uses_the_handle_that_another_has_joined)
{
	weir_named *sem = open_named(fresh_name(), 1);

	for (int i = 0; i < 40; i++) {
		check_thread thread;

		weir_nm_leave_(sem);
		sem->ticket = 0;
		thread = start(take_one, sem);
		while (!__atomic_load_n(&sem->ticket, __ATOMIC_RELAXED))
			(void)sched_yield();
		CHECK_OK(weir_named_try_release(sem, 0));
		finish(thread);
		CHECK_EQ(look_at(sem).held, 1);
	}
	close_named(sem);
}

TEST(c24_many_threads_one_counter)
{
	weir_named *sem = open_named(fresh_name(), 1);
	check_thread threads[4];

	counter = 0;
	for (int i = 0; i < 4; i++)
		threads[i] = start(count_up, sem);
	for (int i = 0; i < 4; i++)
		finish(threads[i]);
	CHECK_EQ(counter, 8000);
	CHECK_EQ(look_at(sem).free, 1);
	close_named(sem);
}
