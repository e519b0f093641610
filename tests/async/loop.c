/* SPDX-License-Identifier: MIT */
/* Loops: C25, C35, C36, and deadlines without a thread. */
#include <signal.h>
#include <stdlib.h>

#include "calls.h"
#include "soon.h"
#include "weir/multi.h"

static weir_sem sem;
static weir_loop loop;

static void begin(int64_t capacity)
{
	calls_from_zero();
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){
		.capacity = capacity }));
	CHECK_OK(weir_loop_init(&loop));
}

static void end(void)
{
	CHECK_IDENTITY(&sem);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_loop_destroy(&loop));
}

static void *dispatches(void *arg)
{
	(void)arg;
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	return NULL;
}

/* C36, C27: a callback runs only on the thread that dispatches the loop. */
TEST(c36_callback_on_loop_thread)
{
	struct call a;

	begin(1);
	call_queue(&a, &loop, &sem, 1, NULL);
	CHECK(!is_readable(&loop));
	weir_sem_release(&sem, 1);
	CHECK_EQ(a.ran, 0);
	CHECK(is_readable(&loop));
	/* Granted, and its callback has not run: stat shows a stalled loop. */
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	finish(start(dispatches, NULL));
	CALL_WAS(&a, WEIR_OK);
	CHECK(!pthread_equal(a.on, pthread_self()));
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK(!is_readable(&loop));
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	end();
}

static void any_ended(weir_any *any, weir_err err, size_t which, void *user)
{
	(void)any;
	(void)which;
	*(weir_err *)user = err;
}

/* C36: a loop is used as long as one of its operations is submitted. */
TEST(c36_destroy_with_a_queued_operation)
{
	struct call a;
	weir_op places[1];
	weir_req req = { &sem, 1 };
	weir_err err = WEIR_EQUEUED;
	weir_any any;

	begin(1);
	call_queue(&a, &loop, &sem, 1, NULL);
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	CHECK_OK(weir_op_cancel(&a.op));
	CHECK_OK(weir_loop_destroy(&loop));

	CHECK_OK(weir_loop_init(&loop));
	weir_any_init(&any, &loop, any_ended, &err);
	CHECK_ERR(weir_any_submit(&any, &req, places, 1, NULL, NULL),
		  WEIR_EQUEUED);
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CHECK_OK(err);
	/* Submits that are granted or refused at once count nothing. */
	call_init(&a, &loop);
	CHECK_ERR(weir_op_submit_until(&a.op, &sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 2, NULL), WEIR_ETOOBIG);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_submit(&a.op, &sem, 1, NULL));
	CHECK_ERR(weir_any_cancel(&any), WEIR_EBUSY);
	end();
}

/* C36: a burst makes one wake-up; callbacks run in the order of grants. */
TEST(c36_a_burst)
{
	static struct call c[1000];

	begin(1000);
	for (int i = 0; i < 1000; i++)
		call_queue(&c[i], &loop, &sem, 1, NULL);
	for (int i = 0; i < 10; i++)
		weir_sem_release(&sem, 50);
	weir_sem_release(&sem, 500);
	CHECK(is_readable(&loop));
	CHECK_EQ(weir_loop_dispatch(&loop), 1000);
	for (int i = 0; i < 1000; i++) {
		CALL_WAS(&c[i], WEIR_OK);
		CHECK_EQ(c[i].turn, i);
	}
	CHECK(!is_readable(&loop));
	end();
}

/* A dispatch returns although its callbacks submit submits_again. */
static void submits_again(weir_op *op, weir_err err, void *user)
{
	int *ran = user;

	CHECK_OK(err);
	if (++*ran < 4)
		CHECK_ERR(weir_op_submit(op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
}

TEST(c36_a_dispatch_ends)
{
	weir_op op;
	int ran = 0;

	begin(1);
	weir_op_init(&op, &loop, submits_again, &ran);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	for (int i = 1; i <= 4; i++) {
		CHECK(is_readable(&loop));
		CHECK_EQ(weir_loop_dispatch(&loop), 1);
		CHECK_EQ(ran, i);
	}
	CHECK(!is_readable(&loop));
	end();
}

/* C35: cancelled between grant and callback; the next waiter is granted. */
TEST(c35_cancelled_before_callback)
{
	struct call a, b, c;

	begin(1);
	call_queue(&a, &loop, &sem, 1, NULL);
	call_queue(&b, &loop, &sem, 1, NULL);
	call_queue(&c, &loop, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_cancel(&a.op));
	memset(&a, 0xa5, sizeof(a));
	CHECK_EQ(stat_of(&sem).granted, 1);
	CHECK_OK(weir_op_cancel(&b.op));
	memset(&b, 0xa5, sizeof(b));
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&c, WEIR_OK);
	CHECK_ERR(weir_op_cancel(&c.op), WEIR_EBUSY);
	end();
}

/*
 * C13: the context is cancelled between grant and callback; the next waiter is
 * granted.
 */
TEST(c13_ctx_cancelled_before_callback)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct call a, b;

	begin(1);
	call_queue(&a, &loop, &sem, 1, &ctx);
	call_queue(&b, &loop, &sem, 1, NULL);
	weir_sem_release(&sem, 1);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	CHECK_EQ(weir_loop_dispatch(&loop), 2);
	CALL_WAS(&a, WEIR_ECANCELED);
	CALL_WAS(&b, WEIR_OK);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/*
 * Queue a and c until `soon` and b for an hour, and grant to a.  Returns false,
 * with nothing queued and nothing granted, if the deadline passed before.
 */
static bool grant_before(int64_t soon, struct call *a, struct call *b,
			 struct call *c)
{
	struct call *all[] = { a, b, c };
	int64_t most_ms = (soon - weir_now_ns()) / 1000000 + 1;
	int64_t reported;
	int timeout_ms;

	for (int i = 0; i < 3; i++) {
		weir_err err;

		call_init(all[i], &loop);
		err = weir_op_submit_until(&all[i]->op, &sem, 1,
			i == 1 ? weir_deadline_after(3600000000000) : soon);
		CHECK(err == WEIR_EQUEUED || (err == WEIR_ETIMEDOUT && i != 1));
	}
	reported = weir_loop_deadline(&loop);
	timeout_ms = weir_loop_timeout_ms(&loop);
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	if (weir_now_ns() < soon) {
		CHECK_EQ(reported, soon);
		CHECK(timeout_ms > 0 && timeout_ms <= most_ms);
		return true;
	}
	for (int i = 0; i < 3; i++)
		(void)!weir_op_cancel(&all[i]->op);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	return false;
}

/* C14, C15: free permits and a grant win over a passed deadline. */
TEST(c14_deadlines)
{
	struct call a, b, c;
	int64_t soon, ns = 10000000;

	begin(1);
	CHECK_EQ(weir_loop_deadline(&loop), WEIR_FOREVER);
	CHECK_EQ(weir_loop_timeout_ms(&loop), -1);
	call_init(&a, &loop);
	CHECK_ERR(weir_op_submit_until(&a.op, &sem, 1, 1), WEIR_ETIMEDOUT);
	do
		soon = weir_deadline_after(ns *= 2);
	while (!grant_before(soon, &a, &b, &c));
	/* The grant meets the deadline and wins. */
	AWAIT(weir_now_ns() > soon);
	CHECK_EQ(weir_loop_dispatch(&loop), 2);
	CALL_WAS(&a, WEIR_OK);
	CALL_WAS(&c, WEIR_ETIMEDOUT);
	CHECK_EQ(b.ran, 0);
	CHECK(weir_loop_deadline(&loop) > soon);
	CHECK_OK(weir_op_cancel(&b.op));
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_op_submit_until(&a.op, &sem, 1, 1));
	end();
}

/* Submit in a context with this deadline, which remains if op is queued. */
static weir_err op_in_ctx(weir_op *op, weir_ctx *ctx, int64_t deadline)
{
	weir_err err;

	CHECK_OK(weir_ctx_init(ctx, NULL, deadline));
	err = weir_op_submit(op, &sem, 1, ctx);
	if (err != WEIR_EQUEUED)
		CHECK_OK(weir_ctx_destroy(ctx));
	return err;
}

/* C13, C14: the deadline of a context ends an operation as it ends a thread. */
TEST(c13_a_contexts_deadline)
{
	struct call a;
	weir_ctx ctx;

	begin(1);
	call_init(&a, &loop);
	QUEUE_SOON(op_in_ctx(&a.op, &ctx, soon));
	while (!a.ran)
		(void)weir_loop_dispatch(&loop);
	CALL_WAS(&a, WEIR_ETIMEDOUT);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/* C14: ten thousand deadlines in random order; none times out early. */
static struct timed {
	struct call call;
	int64_t deadline;
} timed[10000];

TEST(c14_many_deadlines)
{
	uint64_t seed = seed_of(1);
	int ran = 0;

	begin(1);
	for (int i = 0; i < 10000; i++) {
		weir_err err = WEIR_ETIMEDOUT;

		call_init(&timed[i].call, &loop);
		for (int64_t ns = 100000000; err == WEIR_ETIMEDOUT; ns *= 2) {
			timed[i].deadline = weir_deadline_after(
				ns + random_below(&seed, 60000000));
			err = weir_op_submit_until(&timed[i].call.op, &sem, 1,
						   timed[i].deadline);
		}
		CHECK_ERR(err, WEIR_EQUEUED);
	}
	for (int i = 0; i < 10000; i += 2)
		CHECK_OK(weir_op_cancel(&timed[i].call.op));
	while (ran < 5000) {
		int64_t next = weir_loop_deadline(&loop), now;

		/* Readable: a submit after the deadline of the head ended it. */
		AWAIT(is_readable(&loop) || weir_now_ns() >= next);
		ran += (int)weir_loop_dispatch(&loop);
		now = weir_now_ns();
		for (int i = 1; i < 10000; i += 2)
			CHECK(!timed[i].call.ran || timed[i].deadline <= now);
	}
	for (int i = 1; i < 10000; i += 2)
		CALL_WAS(&timed[i].call, WEIR_ETIMEDOUT);
	CHECK_EQ(weir_loop_deadline(&loop), WEIR_FOREVER);
	end();
}

/*
 * C14: a deadline earlier than the reported one makes the descriptor readable,
 * also if the loop does not know the earliest deadline exactly: many timers are
 * in one list, and the earliest one is cancelled.
 */
TEST(c14_earlier_deadline)
{
	const int64_t second = 1000000000;
	struct call first, sooner;
	int64_t base, reported;

	begin(1);
	/* The start of a list that spans more than four seconds. */
	base = ((weir_now_ns() >> 32) + 2) << 32;
	for (int i = 0; i < 100; i++) {
		call_init(&timed[i].call, &loop);
		CHECK_ERR(weir_op_submit_until(&timed[i].call.op, &sem, 1,
					       base + 4 * second + i),
			  WEIR_EQUEUED);
	}
	call_init(&first, &loop);
	CHECK_ERR(weir_op_submit_until(&first.op, &sem, 1, base + 3 * second),
		  WEIR_EQUEUED);
	CHECK_EQ(weir_loop_dispatch(&loop), 0);
	reported = weir_loop_deadline(&loop);
	CHECK_OK(weir_op_cancel(&first.op));
	CHECK(!is_readable(&loop));
	call_init(&sooner, &loop);
	CHECK_ERR(weir_op_submit_until(&sooner.op, &sem, 1, base + second / 2),
		  WEIR_EQUEUED);
	CHECK(reported <= base + second / 2 || is_readable(&loop));
	CHECK(weir_loop_deadline(&loop) <= base + second / 2);
	CHECK_OK(weir_op_cancel(&sooner.op));
	for (int i = 0; i < 100; i++)
		CHECK_OK(weir_op_cancel(&timed[i].call.op));
	CHECK_EQ(weir_loop_deadline(&loop), WEIR_FOREVER);
	end();
}

/*
 * C22: another thread may destroy the loop while the dispatch that ran the last
 * callback returns.
 */
static int callback_ran;

static void sets_flag(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	__atomic_store_n(&callback_ran, 1, __ATOMIC_RELEASE);
}

static void *destroys(void *arg)
{
	AWAIT(__atomic_load_n(&callback_ran, __ATOMIC_ACQUIRE));
	AWAIT(weir_loop_destroy(&loop) == WEIR_OK);
	return arg;
}

TEST(c22_destroyed_during_dispatch)
{
	struct call a = { .ran = 0 };
	check_thread other;

	begin(1);
	callback_ran = 0;
	weir_op_init(&a.op, &loop, sets_flag, &a);
	CHECK_ERR(weir_op_submit(&a.op, &sem, 1, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 1);
	other = start(destroys, NULL);
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	finish(other);
	CALL_WAS(&a, WEIR_OK);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C25: a signal handler may release; no callback runs in the handler. */
static volatile sig_atomic_t handled;

static void release_in_handler(int number)
{
	(void)number;
	weir_sem_release(&sem, 1);
	handled = 1;
}

TEST(c25_released_in_a_handler)
{
	struct call a;

	begin(1);
	signal(SIGUSR1, release_in_handler);
	call_queue(&a, &loop, &sem, 1, NULL);
	raise(SIGUSR1);
	CHECK(handled);
	CHECK_EQ(a.ran, 0);
	CHECK(is_readable(&loop));
	CHECK_EQ(weir_loop_dispatch(&loop), 1);
	CALL_WAS(&a, WEIR_OK);
	signal(SIGUSR1, SIG_DFL);
	end();
}

/* C35: threads release and cancel while the loop runs; each ends once. */
#define STORM 4000
static struct call storm[STORM];
static int storm_over;

static void *releases(void *arg)
{
	(void)arg;
	for (int i = 0; i < STORM / 2; i++)
		weir_sem_release(&sem, 1);
	return NULL;
}

static int cancelled;

static void *cancels(void *arg)
{
	uint64_t seed = seed_of(2);

	(void)arg;
	for (int i = 0; i < STORM; i++) {
		struct call *c = &storm[random_below(&seed, STORM)];

		if (!weir_op_cancel(&c->op))
			cancelled++;
	}
	__atomic_store_n(&storm_over, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST(c35_each_ends_once)
{
	check_thread a, b;
	int ran = 0, granted = 0;

	begin(STORM);
	cancelled = storm_over = 0;
	for (int i = 0; i < STORM; i++)
		call_queue(&storm[i], &loop, &sem, 1, NULL);
	a = start(releases, NULL);
	b = start(cancels, NULL);
	while (!__atomic_load_n(&storm_over, __ATOMIC_ACQUIRE))
		ran += (int)weir_loop_dispatch(&loop);
	finish(a);
	finish(b);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	ran += (int)weir_loop_dispatch(&loop);
	CHECK_EQ(ran + cancelled, STORM);
	for (int i = 0; i < STORM; i++) {
		CHECK(storm[i].ran <= 1);
		granted += storm[i].ran && !storm[i].err;
	}
	CHECK_EQ(granted + weir_sem_available(&sem), STORM / 2);
	end();
}

/* A callback can neither dispatch its loop nor destroy it. */
static void misuses_loop(weir_op *op, weir_err err, void *user)
{
	call_ran(op, err, user);
	CHECK_PANICS("called from one of its own callbacks",
		     CHECK_EQ(weir_loop_dispatch(&loop), 0));
	CHECK_ERR(weir_loop_destroy(&loop), WEIR_EBUSY);
}

TEST(c27_loop_inside_its_callback)
{
	struct call c[2] = { 0 };

	begin(2);
	for (int i = 0; i < 2; i++) {
		weir_op_init(&c[i].op, &loop, misuses_loop, &c[i]);
		CHECK_ERR(weir_op_submit(&c[i].op, &sem, 1, NULL), WEIR_EQUEUED);
	}
	weir_sem_release(&sem, 2);
	CHECK_EQ(weir_loop_dispatch(&loop), 2);
	for (int i = 0; i < 2; i++)
		CALL_WAS(&c[i], WEIR_OK);
	end();
}

TEST(misuse)
{
	weir_loop none = { 0 };
	weir_op op;

	CHECK_PANICS("not a loop", CHECK_EQ(weir_loop_dispatch(&none), 0));
	CHECK_PANICS("not a loop", CHECK_EQ(weir_loop_fd(NULL), -1));
	CHECK_PANICS("not a loop",
		     CHECK_ERR(weir_loop_destroy(&none), WEIR_EINVAL));
	CHECK_ERR(weir_loop_init(NULL), WEIR_EINVAL);
	CHECK_PANICS("without a callback",
		     weir_op_init(&op, &none, NULL, NULL));
	CHECK_ERR(weir_op_cancel(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_op_poll(NULL), WEIR_EINVAL);
}
