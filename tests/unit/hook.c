/* SPDX-License-Identifier: MIT */
/*
 * The hook of src/base/hook.h: slow paths are reported on the acting thread,
 * without any lock held (C27).  Fast paths are not reported, unless the
 * semaphore is tracked.
 */
#include <pthread.h>
#include <sched.h>

#include "base/hook.h"
#include "check.h"
#include "weir/async.h"
#include "weir/ctx.h"

#define EVENTS_MAX 64

static struct weir_event_ events[EVENTS_MAX];
static uint32_t event_count;

static void note(const struct weir_event_ *event)
{
	uint32_t i = __atomic_fetch_add(&event_count, 1, __ATOMIC_SEQ_CST);

	CHECK(i < EVENTS_MAX);
	events[i] = *event;
	/* Would hang if the lock were held. */
	CHECK_IDENTITY((weir_sem *)(uintptr_t)event->object);
}

static void listen(void)
{
	event_count = 0;
	CHECK(weir_hook_set_(note) == NULL);
}

static void stop_listening(void)
{
	CHECK(weir_hook_set_(NULL) == note);
}

static void check_event(uint32_t i, enum weir_event_kind_ kind,
			const weir_sem *sem, int64_t n, weir_err err)
{
	CHECK(i < event_count);
	CHECK_EQ(events[i].kind, kind);
	CHECK(events[i].object == sem);
	CHECK_EQ(events[i].n, n);
	CHECK_ERR(events[i].err, err);
}

static void take_fast_paths(weir_sem *sem)
{
	listen();
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	CHECK_OK(weir_sem_try_acquire(sem, 1));
	weir_sem_release(sem, 2);
	stop_listening();
	CHECK_EQ(event_count, 0);
}

TEST(fast_paths_are_not_reported)
{
	weir_sem_opts opts = { .permits = 2, .flags = WEIR_SEM_TRACKED };
	weir_sem sem = WEIR_SEM_INIT(2);

	take_fast_paths(&sem);
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	/* A watched semaphore has its fast path from the first unlock on. */
	CHECK_OK(weir_sem_acquire(&sem, 0, NULL));
	take_fast_paths(&sem);
}

/* In drain mode every acquire and release takes the lock. */
TEST(calls_that_take_the_lock_are_reported)
{
	weir_sem sem;
	weir_sem_opts opts = { .permits = 4, .name = "drained" };
	int64_t got;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	listen();
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_sem_try_acquire(&sem, 1));
	CHECK_OK(weir_sem_try_acquire_barging(&sem, 1));
	CHECK_OK(weir_sem_drain(&sem, &got));
	weir_sem_release(&sem, 4);
	stop_listening();
	CHECK_EQ(event_count, 5);
	for (uint32_t i = 0; i < 4; i++) {
		check_event(i, WEIR_EVENT_ACQUIRED_, &sem, 1, WEIR_OK);
		CHECK(!strcmp(events[i].name, "drained"));
	}
	check_event(4, WEIR_EVENT_RELEASED_, &sem, 4, WEIR_OK);
}

static void *acquire_two(void *arg)
{
	weir_sem *sem = arg;

	CHECK_OK(weir_sem_acquire(sem, 2, NULL));
	return NULL;
}

TEST(a_wait_is_reported_from_joining_to_leaving)
{
	/*
	 * BARGING: a FIFO head may spin, and then a release takes the fast
	 * path.
	 */
	weir_sem sem = WEIR_SEM_INIT_BARGING(2);
	check_thread thread;

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	listen();
	/* If the deadline passed before it could wait, retry with more time. */
	for (int64_t ns = 1000000; event_count != 2; ns *= 2) {
		CHECK(ns < INT64_C(16000000000));
		event_count = 0;
		CHECK_ERR(weir_sem_acquire_for(&sem, 1, ns), WEIR_ETIMEDOUT);
	}
	check_event(0, WEIR_EVENT_QUEUED_, &sem, 1, WEIR_OK);
	check_event(1, WEIR_EVENT_LEFT_, &sem, 1, WEIR_ETIMEDOUT);
	thread = start(acquire_two, &sem);
	AWAIT(__atomic_load_n(&event_count, __ATOMIC_SEQ_CST) == 3);
	weir_sem_release(&sem, 2);
	finish(thread);
	stop_listening();
	check_event(2, WEIR_EVENT_QUEUED_, &sem, 2, WEIR_OK);
	check_event(3, WEIR_EVENT_RELEASED_, &sem, 2, WEIR_OK);
	check_event(4, WEIR_EVENT_ACQUIRED_, &sem, 2, WEIR_OK);
	CHECK_EQ(event_count, 5);
}

/* An operation that is cancelled while it waits, and after its grant. */
TEST(a_cancelled_operation_is_reported)
{
	weir_sem_opts opts = { .permits = 3, .name = "cancelled" };
	weir_sem sem;
	weir_op op;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	weir_op_init(&op, NULL, NULL, NULL);
	listen();
	CHECK_ERR(weir_op_submit(&op, &sem, 2, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_op_cancel(&op));
	CHECK_ERR(weir_op_submit(&op, &sem, 2, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_op_cancel(&op));
	stop_listening();
	CHECK_EQ(event_count, 5);
	check_event(0, WEIR_EVENT_QUEUED_, &sem, 2, WEIR_OK);
	check_event(1, WEIR_EVENT_LEFT_, &sem, 2, WEIR_ECANCELED);
	CHECK(!strcmp(events[1].name, "cancelled"));
	check_event(2, WEIR_EVENT_QUEUED_, &sem, 2, WEIR_OK);
	check_event(3, WEIR_EVENT_RELEASED_, &sem, 3, WEIR_OK);
	check_event(4, WEIR_EVENT_LEFT_, &sem, 2, WEIR_ECANCELED);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(close_and_resize_are_reported)
{
	weir_sem sem = WEIR_SEM_INIT(2);

	listen();
	CHECK_OK(weir_sem_resize(&sem, 5, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	stop_listening();
	CHECK_EQ(event_count, 2);
	check_event(0, WEIR_EVENT_RESIZED_, &sem, 5, WEIR_OK);
	check_event(1, WEIR_EVENT_CLOSED_, &sem, 0, WEIR_OK);
}

/* C13: calls that the hook makes between enqueue and wait take effect. */
static weir_ctx end_in_hook;

static void grant_and_cancel(const struct weir_event_ *event)
{
	weir_sem *sem = (weir_sem *)(uintptr_t)event->object;

	if (event->kind != WEIR_EVENT_QUEUED_)
		return;
	weir_sem_release(sem, 1);
	CHECK_EQ(stat_of(sem).granted, 1);
	weir_ctx_cancel(&end_in_hook);
}

TEST(c13_granted_then_cancelled_before_the_wait_begins)
{
	weir_sem sem = WEIR_SEM_INIT(1);

	CHECK_OK(weir_ctx_init(&end_in_hook, NULL, WEIR_FOREVER));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(weir_hook_set_(grant_and_cancel) == NULL);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &end_in_hook), WEIR_ECANCELED);
	CHECK(weir_hook_set_(NULL) == grant_and_cancel);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_OK(weir_ctx_destroy(&end_in_hook));
}

/* C24: replacing the hook of another thread synchronises with its setter. */
static int done_before;

static void ignore(const struct weir_event_ *event)
{
	(void)event;
}

static void *do_and_set(void *arg)
{
	(void)arg;
	done_before = 1;
	CHECK(!weir_hook_set_(ignore));
	return NULL;
}

TEST(c24_replacing_the_hook_sees_earlier_writes)
{
	pthread_t other;

	CHECK(!pthread_create(&other, NULL, do_and_set, NULL));
	while (weir_hook_set_(NULL) != ignore)
		sched_yield();
	CHECK_EQ(done_before, 1);
	CHECK(!pthread_join(other, NULL));
}

/* C27: an event that is held back, as under the lock of a pattern, is not lost. */
TEST(c27_a_held_event_is_delivered_once)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_held_event_ held;

	listen();
	weir_hook_hold_(&held);
	CHECK_OK(weir_sem_resize(&sem, 2, NULL));
	CHECK_EQ(event_count, 0);
	weir_hook_deliver_(&held);
	CHECK_EQ(event_count, 1);
	CHECK_EQ(events[0].kind, WEIR_EVENT_RESIZED_);
	CHECK_EQ(events[0].n, 2);
	/* Without an event nothing is delivered. */
	weir_hook_hold_(&held);
	weir_hook_deliver_(&held);
	CHECK_EQ(event_count, 1);
	CHECK_OK(weir_sem_resize(&sem, 3, NULL));
	CHECK_EQ(event_count, 2);
	stop_listening();
}
