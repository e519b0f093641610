/* SPDX-License-Identifier: MIT */
/* Asynchronous acquire over a loop, leases and pauses: C35, C36, C41. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "soon.h"
#include "weir/cluster.h"

struct request {
	weir_cluster_op op;
	weir_lease *lease;
	weir_err err;
	int calls;
};

static void ready(weir_cluster_op *op, weir_err err, weir_lease *lease,
		  void *user)
{
	struct request *r = user;

	CHECK(op == &r->op);
	r->err = err;
	r->lease = lease;
	r->calls++;
}

static weir_cluster *open_new(int64_t capacity, const char *options)
{
	static int count;
	char url[512], why[256] = "";
	weir_cluster_opts opts = { .capacity = capacity, .why = why,
				   .why_size = sizeof(why),
				   .flags = WEIR_CLUSTER_CREATE };
	weir_cluster *c;
	weir_err err;

	(void)snprintf(url, sizeof(url), "%sasync-%d-%d%s",
		       getenv("WEIR_TEST_URL"), (int)getpid(), count++,
		       options);
	err = weir_cluster_open(url, &opts, &c);
	if (err)
		check_fail(__FILE__, __LINE__, "open: %s", why);
	return c;
}

static weir_err submit_until(struct request *r, weir_cluster *c, weir_loop *loop,
			     int64_t n, int64_t deadline)
{
	*r = (struct request){ .calls = 0 };
	weir_cluster_op_init(&r->op, c, loop, ready, r);
	return weir_cluster_op_submit(&r->op, n, deadline);
}

static void submit(struct request *r, weir_cluster *c, weir_loop *loop,
		   int64_t n)
{
	CHECK_ERR(submit_until(r, c, loop, n, WEIR_FOREVER), WEIR_EQUEUED);
}

static void await_call(weir_loop *loop, struct request *r)
{
	while (!r->calls) {
		struct pollfd fd = { .fd = weir_loop_fd(loop),
				     .events = POLLIN };

		CHECK(poll(&fd, 1, weir_loop_timeout_ms(loop)) >= 0);
		(void)weir_loop_dispatch(loop);
	}
	CHECK_EQ(r->calls, 1);
}

static weir_cluster_info look(weir_cluster *c)
{
	weir_cluster_info info;

	CHECK_OK(weir_cluster_stat(c, &info, NULL, 0));
	return info;
}

TEST(c35_one_result_for_each_operation)
{
	weir_cluster *c = open_new(2, "");
	struct request one, two, three;
	weir_loop loop;

	CHECK_OK(weir_loop_init(&loop));
	submit(&one, c, &loop, 2);
	await_call(&loop, &one);
	CHECK_OK(one.err);
	CHECK_EQ(weir_lease_weight(one.lease), 2);
	submit(&two, c, &loop, 1);
	AWAIT(look(c).waiters == 1);
	submit(&three, c, &loop, 1);
	AWAIT(look(c).waiters == 2);
	CHECK_OK(weir_lease_release(one.lease));
	await_call(&loop, &two);
	await_call(&loop, &three);
	CHECK_OK(two.err);
	CHECK_OK(three.err);
	CHECK(weir_lease_fence(three.lease) > weir_lease_fence(two.lease));
	CHECK_OK(weir_lease_release(two.lease));
	CHECK_OK(weir_lease_release(three.lease));
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

/*
 * The handle's thread is slower than the submissions, so most of them are in its
 * list at the same time.
 */
TEST(c4_operations_of_a_loop_are_sent_in_the_order_of_submission)
{
	enum { COUNT = 30 };
	static struct request list[COUNT];
	weir_cluster *c = open_new(1, "");
	uint64_t fence = 0;
	weir_loop loop;

	CHECK_OK(weir_loop_init(&loop));
	for (int i = 0; i < COUNT; i++)
		submit(&list[i], c, &loop, 1);
	for (int i = 0; i < COUNT; i++) {
		await_call(&loop, &list[i]);
		CHECK_OK(list[i].err);
		CHECK(weir_lease_fence(list[i].lease) > fence);
		fence = weir_lease_fence(list[i].lease);
		CHECK_OK(weir_lease_release(list[i].lease));
	}
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

TEST(c35_deadline_cancel_and_close)
{
	weir_cluster *c = open_new(1, "");
	struct request held, late, gone, closed;
	weir_loop loop;

	CHECK_OK(weir_loop_init(&loop));
	submit(&held, c, &loop, 1);
	await_call(&loop, &held);
	QUEUE_WITHIN(20000000, submit_until(&late, c, &loop, 1, soon));
	await_call(&loop, &late);
	CHECK_ERR(late.err, WEIR_ETIMEDOUT);
	CHECK(!late.lease);
	submit(&gone, c, &loop, 1);
	AWAIT(look(c).waiters == 1);
	CHECK_OK(weir_cluster_op_cancel(&gone.op));
	AWAIT(look(c).waiters == 0);
	CHECK_EQ(gone.calls, 0);
	submit(&closed, c, &loop, 1);
	AWAIT(look(c).waiters == 1);
	CHECK_ERR(weir_cluster_close_handle(c), WEIR_EBUSY);
	CHECK_OK(weir_cluster_close(c, WEIR_CLOSE_NOW));
	await_call(&loop, &closed);
	CHECK_ERR(closed.err, WEIR_ECLOSED);
	CHECK_ERR(weir_cluster_op_cancel(&closed.op), WEIR_EBUSY);
	CHECK_OK(weir_lease_release(held.lease));
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

static void ready_on_heap(weir_cluster_op *op, weir_err err, weir_lease *lease,
			  void *user)
{
	struct request *r = user;

	(void)op;
	r->err = err;
	r->lease = lease;
	r->calls++;
}

TEST(operations_on_the_heap)
{
	weir_cluster *c = open_new(1, "");
	weir_cluster_op *op = NULL;
	struct request r = { .calls = 0 };
	weir_loop loop;

	CHECK_OK(weir_loop_init(&loop));
	CHECK_ERR(weir_cluster_op_new(c, &loop, ready_on_heap, &r, NULL), WEIR_EINVAL);
	CHECK_OK(weir_cluster_op_free(NULL));
	/* Not submitted. */
	CHECK_OK(weir_cluster_op_new(c, &loop, ready_on_heap, &r, &op));
	CHECK_OK(weir_cluster_op_free(op));
	/* The callback has run. */
	CHECK_OK(weir_cluster_op_new(c, &loop, ready_on_heap, &r, &op));
	CHECK_ERR(weir_cluster_op_submit(op, 1, WEIR_FOREVER), WEIR_EQUEUED);
	await_call(&loop, &r);
	CHECK_OK(r.err);
	CHECK_OK(weir_cluster_op_free(op));
	/* Waits: the free cancels it. */
	CHECK_OK(weir_cluster_op_new(c, &loop, ready_on_heap, &r, &op));
	CHECK_ERR(weir_cluster_op_submit(op, 1, WEIR_FOREVER), WEIR_EQUEUED);
	AWAIT(look(c).waiters == 1);
	CHECK_OK(weir_cluster_op_free(op));
	AWAIT(look(c).waiters == 0);
	CHECK_EQ(r.calls, 1);
	CHECK_OK(weir_lease_release(r.lease));
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

/* A cancel that meets the grant leaves nothing behind. */
TEST(c35_cancel_meets_grant)
{
	weir_cluster *c = open_new(1, "");
	weir_loop loop;

	CHECK_OK(weir_loop_init(&loop));
	for (int i = 0; i < 30; i++) {
		struct request r;
		weir_lease *lease;

		CHECK_OK(weir_cluster_acquire(c, 1, NULL, &lease));
		submit(&r, c, &loop, 1);
		if (i % 2)
			AWAIT(look(c).waiters == 1);
		CHECK_OK(weir_lease_release(lease));
		if (weir_cluster_op_cancel(&r.op))
			await_call(&loop, &r);
		else
			CHECK_EQ(r.calls, 0);
		CHECK_OK(weir_lease_release(r.lease));
		AWAIT(look(c).free == 1);
	}
	CHECK_OK(weir_loop_destroy(&loop));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

static weir_err try_open(int64_t ttl_ns, int64_t timeout_ns, weir_cluster **out)
{
	char url[512];
	weir_cluster_opts opts = { .capacity = 1, .ttl_ns = ttl_ns,
				   .timeout_ns = timeout_ns,
				   .flags = WEIR_CLUSTER_CREATE };

	(void)snprintf(url, sizeof(url), "%stimes-%d", getenv("WEIR_TEST_URL"),
		       (int)getpid());
	return weir_cluster_open(url, &opts, out);
}

TEST(the_longest_times)
{
	const int64_t day = INT64_C(86400) * 1000000000;
	weir_cluster *c;
	weir_lease *lease;

	CHECK_ERR(try_open(0, -1, &c), WEIR_EINVAL);
	CHECK_ERR(try_open(0, day + 1, &c), WEIR_EINVAL);
	CHECK_ERR(try_open(0, WEIR_FOREVER, &c), WEIR_EINVAL);
	CHECK_ERR(try_open(day + 1, 0, &c), WEIR_EINVAL);
	CHECK_OK(try_open(day, day, &c));
	CHECK_OK(weir_cluster_acquire(c, 1, NULL, &lease));
	CHECK_OK(weir_lease_check(lease));
	CHECK_OK(weir_lease_release(lease));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

static weir_loop own_loop;
static weir_sem called, stop;

static void ready_elsewhere(weir_cluster_op *op, weir_err err, weir_lease *lease,
			    void *user)
{
	ready(op, err, lease, user);
	weir_sem_release(&called, 1);
}

static void *dispatch(void *arg)
{
	(void)arg;
	while (weir_sem_try_acquire(&stop, 1)) {
		struct pollfd fd = { .fd = weir_loop_fd(&own_loop),
				     .events = POLLIN };

		CHECK(poll(&fd, 1, 10) >= 0);
		(void)weir_loop_dispatch(&own_loop);
	}
	return NULL;
}

/*
 * The callback may begin in the thread of the loop during a cancel.  The delays
 * make both outcomes happen; ThreadSanitizer finds unordered accesses.
 */
TEST(c35_cancel_meets_callback_in_another_thread)
{
	weir_sem_opts none = { .capacity = 0, .flags = WEIR_SEM_UNBOUNDED };
	weir_cluster *c = open_new(1, "");
	pthread_t thread;

	CHECK_OK(weir_sem_init_opts(&called, &none));
	CHECK_OK(weir_sem_init_opts(&stop, &none));
	CHECK_OK(weir_loop_init(&own_loop));
	CHECK(!pthread_create(&thread, NULL, dispatch, NULL));
	for (int i = 0; i < 30; i++) {
		struct request r = { .calls = 0 };
		weir_err err;

		weir_cluster_op_init(&r.op, c, &own_loop, ready_elsewhere, &r);
		CHECK_ERR(weir_cluster_op_submit(&r.op, 1, WEIR_FOREVER),
			  WEIR_EQUEUED);
		usleep((useconds_t)i * 500);
		err = weir_cluster_op_cancel(&r.op);
		if (err == WEIR_EBUSY) {
			CHECK_OK(weir_sem_acquire(&called, 1, NULL));
			CHECK_EQ(r.calls, 1);
			CHECK_OK(r.err);
			CHECK_OK(weir_lease_release(r.lease));
		} else {
			CHECK_OK(err);
			CHECK_EQ(r.calls, 0);
		}
		AWAIT(look(c).free == 1);
	}
	weir_sem_release(&stop, 1);
	CHECK(!pthread_join(thread, NULL));
	CHECK_OK(weir_loop_destroy(&own_loop));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}

TEST(c41_a_lease_is_renewed_and_its_deadline_moves)
{
	/* The first renewal is due after 4 s.  The lease is valid for 6 s more. */
	weir_cluster *c = open_new(1, "?ttl=12s");
	weir_lease *lease;
	int64_t first;
	int fd;

	CHECK_OK(weir_cluster_acquire(c, 1, NULL, &lease));
	CHECK_OK(weir_lease_check(lease));
	CHECK_OK(weir_lease_lost_fd(lease, &fd));
	first = weir_lease_deadline(lease);
	AWAIT(weir_lease_deadline(lease) > first + 1000000000);
	CHECK_OK(weir_lease_check(lease));
	CHECK_OK(weir_cluster_pause(c));
	CHECK(look(c).paused);
	CHECK_OK(weir_cluster_resume(c));
	CHECK_ERR(weir_lease_reduce(lease, 2), WEIR_EINVAL);
	CHECK_OK(weir_lease_release(lease));
	CHECK_OK(weir_cluster_unlink(c));
	CHECK_OK(weir_cluster_close_handle(c));
}
