/* SPDX-License-Identifier: MIT */
/*
 * Events between two batches, or between two members of an any-of request: C6,
 * C33.
 */
#include <stdlib.h>

#include "async/run.h"
#include "base/hook.h"
#include "between.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "soon.h"
#include "weir/async.h"
#include "weir/multi.h"

/* More than two batches. */
#define MANY 200

static weir_sem sem, other;
static weir_op ops[MANY];
static int ran;

static void notified(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_OK(err);
	ran++;
}

static void queue_many(void)
{
	ran = 0;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = MANY }));
	for (int i = 0; i < MANY; i++) {
		weir_op_init(&ops[i], NULL, notified, NULL);
		CHECK_ERR(weir_op_submit(&ops[i], &sem, 1, NULL), WEIR_EQUEUED);
	}
}

static void release_two(void *arg)
{
	weir_sem_release(arg, 2);
}

/*
 * C6: a release comes between two batches; then the CAS that takes the lock
 * again fails spuriously.
 */
TEST(c6_between_two_batches)
{
	queue_many();
	before_cas("relock", release_two, &sem);
	weir_sem_release(&sem, MANY - 2);
	happened();
	CHECK_EQ(ran, MANY);
	queue_many();
	fail_cas("relock");
	weir_sem_release(&sem, MANY);
	happened();
	CHECK_EQ(ran, MANY);
}

static void lock_it(void *arg)
{
	CHECK_EQ(weir_sem_lock_no_panic_(arg), WEIR_IS_WELL_);
}

/*
 * C6: another thread holds the lock: the remaining grants are made when it
 * unlocks.
 */
TEST(c6_the_next_lock_holder_continues)
{
	for (int at_the_cas = 0; at_the_cas < 2; at_the_cas++) {
		queue_many();
		if (at_the_cas)
			before_cas("relock", lock_it, &sem);
		else
			before("relock", 1, lock_it, &sem);
		weir_sem_release(&sem, MANY);
		happened();
		CHECK(ran > 0 && ran < MANY);
		weir_sem_unlock_(&sem, 0);
		CHECK_EQ(ran, MANY);
		CHECK_IDENTITY(&sem);
	}
}

static void refused(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_ERR(err, ran == 0 ? WEIR_OK : WEIR_ECLOSED);
	ran++;
}

/*
 * C19: a drain close grants to one operation and refuses more than a batch: the
 * granted permits are accounted for once.
 */
TEST(c19_drained_in_batches)
{
	ran = 0;
	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	/* The first operation does not fit, the second does. */
	for (int i = 0; i < MANY; i++) {
		weir_op_init(&ops[i], NULL, refused, NULL);
		CHECK_ERR(weir_op_submit(&ops[i], &sem, i == 1 ? 1 : 2, NULL),
			  WEIR_EQUEUED);
	}
	weir_sem_close(&sem, WEIR_CLOSE_DRAIN);
	CHECK_EQ(ran, MANY);
	CHECK_EQ(stat_of(&sem).held, 2);
	CHECK_EQ(stat_of(&sem).debt, 0);
}

static weir_any any;
static weir_op places[2];
static const weir_req both[] = { { &sem, 1 }, { &other, 1 } };
static weir_err outcome;
static size_t which;

static void any_notified(weir_any *op, weir_err err, size_t i, void *user)
{
	(void)op;
	(void)user;
	ran++;
	outcome = err;
	which = i;
}

static void wait_for_any(void)
{
	ran = 0;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_sem_init_opts(&other, &(weir_sem_opts){ .capacity = 1 }));
	weir_any_init(&any, NULL, any_notified, NULL);
	CHECK_ERR(weir_any_submit(&any, both, places, 2, NULL, NULL), WEIR_EQUEUED);
}

static void release_one(void *arg)
{
	weir_sem_release(arg, 1);
}

/* C33: the other semaphore is released just before this one grants. */
TEST(c33_both_are_released_at_once)
{
	bool outer;

	wait_for_any();
	/*
	 * Callbacks are held back: at that point this thread holds a lock that
	 * a callback needs.
	 */
	outer = weir_callbacks_hold_();
	before_cas("weir_waiter_claim_", release_one, &other);
	weir_sem_release(&sem, 1);
	happened();
	weir_callbacks_resume_(outer);
	CHECK_EQ(ran, 1);
	CHECK_OK(outcome);
	CHECK_EQ(which, 1);
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(weir_sem_available(&other), 0);
	wait_for_any();
	fail_cas("weir_waiter_claim_");
	weir_sem_release(&sem, 1);
	happened();
	CHECK_EQ(which, 0);
}

static void do_nothing(void *arg)
{
	(void)arg;
}

/* C33: a member with weight 0 is granted like any other member. */
TEST(c33_members_of_weight_zero)
{
	weir_req reqs[] = { { &sem, 0 }, { &other, 0 } };

	CHECK_OK(weir_sem_init(&sem, 1));
	CHECK_OK(weir_sem_init(&other, 1));
	weir_any_init(&any, NULL, any_notified, NULL);
	before_cas("weir_waiter_claim_", do_nothing, NULL);
	CHECK_OK(weir_any_submit(&any, reqs, places, 2, NULL, &which));
	happened();
	CHECK_EQ(stat_of(&sem).held + stat_of(&other).held, 0);
}

/*
 * C33: a member is granted while the request enqueues at another semaphore that
 * is free.
 */
TEST(c33_granted_while_enqueueing)
{
	bool in_turn = false;

	/* The first semaphore tried varies, but not on every call. */
	for (int tries = 0; !in_turn; tries++) {
		weir_sem *first, *second;

		CHECK(tries < 64);
		CHECK_OK(weir_sem_init(&sem, 1));
		CHECK_OK(weir_sem_init(&other, 1));
		weir_any_init(&any, NULL, any_notified, NULL);
		CHECK_OK(weir_any_submit(&any, both, places, 2, NULL, &which));
		first = both[1 - which].sem;
		second = both[which].sem;
		weir_sem_release(second, 1);
		CHECK_OK(weir_sem_acquire(first, 1, NULL));
		ran = 0;
		before_cas("weir_waiter_claim_", release_one, first);
		if (weir_any_submit(&any, both, places, 2, NULL, &which) == WEIR_OK)
			ran++;
		happened();
		CHECK_EQ(ran, 1);
		CHECK_EQ(weir_sem_available(&sem) + weir_sem_available(&other),
			 1);
		CHECK_EQ(waiters_of(&sem) + waiters_of(&other), 0);
		in_turn = both[which].sem == first;
	}
}

static int64_t wait_of_the_only_waiter(const weir_op *op)
{
	weir_sem_waiter waiter;
	size_t n;

	CHECK_OK(weir_sem_waiters(&sem, &waiter, 1, &n));
	CHECK_EQ(n, 1);
	CHECK(waiter.op == op);
	return waiter.waited_ns;
}

/* oldest_wait_ns and the list of waiters include operations. */
TEST(oldest_wait_of_an_operation)
{
	weir_op op;
	int64_t waited;

	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	weir_op_init(&op, NULL, notified, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	pass_seconds(1000);
	waited = stat_of(&sem).oldest_wait_ns;
	CHECK(waited >= INT64_C(1000000000000));
	CHECK(waited < INT64_C(1500000000000));
	waited = wait_of_the_only_waiter(&op);
	CHECK(waited >= INT64_C(1000000000000));
	CHECK(waited < INT64_C(1500000000000));
	/* The clock goes back. */
	pass_seconds(-2000);
	CHECK_EQ(wait_of_the_only_waiter(&op), 0);
	CHECK_OK(weir_op_cancel(&op));
	pass_seconds(1000);
}

static int left;

static void note_left(const struct weir_event_ *event)
{
	if (event->kind != WEIR_EVENT_LEFT_)
		return;
	CHECK_ERR(event->err, WEIR_ECANCELED);
	left++;
}

/* C35, C13: an operation in a context is cancelled; the context goes on. */
TEST(c35_cancelled_in_a_context)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_op op;

	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	weir_op_init(&op, NULL, notified, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, &ctx), WEIR_EQUEUED);
	CHECK_ERR(weir_ctx_destroy(&ctx), WEIR_EBUSY);
	CHECK(!weir_hook_set_(note_left));
	CHECK_OK(weir_op_cancel(&op));
	CHECK(weir_hook_set_(NULL) == note_left);
	CHECK_EQ(left, 1);
	CHECK_OK(weir_ctx_err(&ctx));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* Free permits: `free` of 2; the operation at the head wants both. */
static void op_at_the_head(weir_op *head, int64_t free, int64_t deadline_ns)
{
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){
		.permits = free, .capacity = 2 }));
	weir_op_init(head, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit_until(head, &sem, 2, deadline_ns),
		  WEIR_EQUEUED);
}

/* A wait behind the head is notified by no thread: it times out. */
static void wait_undisturbed(int64_t free, int64_t deadline_ns)
{
	weir_op head;

	op_at_the_head(&head, free, deadline_ns);
	before("notify_each", 1, do_nothing, NULL);
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000000), WEIR_ETIMEDOUT);
	CHECK(!between_is_done());
	CHECK_OK(weir_op_cancel(&head));
	/* Disarms. */
	CHECK_ERR(weir_op_submit(&head, &sem, 2, NULL), WEIR_EQUEUED);
	weir_sem_release(&sem, 2 - free);
	happened();
	CHECK_OK(weir_op_poll(&head));
}

/*
 * C28: a thread behind an operation is woken to wait for the deadline of that
 * operation only if there is one, and if permits are free.
 */
TEST(c28_no_needless_wake_up_behind_an_operation)
{
	int64_t far_ns = weir_deadline_after(INT64_C(3600000000000));

	wait_undisturbed(1, WEIR_FOREVER);
	wait_undisturbed(0, far_ns);
}

/* C28: it is woken once for the same deadline. */
TEST(c28_one_wake_up_for_one_deadline)
{
	weir_op head;
	job behind;

	op_at_the_head(&head, 1, weir_deadline_after(INT64_C(3600000000000)));
	queue_up(&behind, &sem, 1, NULL);
	AWAIT(job_asleep(&behind));
	before("notify_each", 1, do_nothing, NULL);
	/* It takes the lock and does not join the queue. */
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK(!between_is_done());
	/* The thread behind is granted. */
	CHECK_OK(weir_op_cancel(&head));
	happened();
	CHECK_OK(job_end(&behind));
}

/* C28: a thread that has evicted the head and is not granted sleeps again. */
TEST(c28_a_thread_sleeps_again_behind_a_late_operation)
{
	weir_op head;
	int slept;

	CHECK_OK(weir_sem_init(&sem, 2));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_op_init(&head, NULL, NULL, NULL);
	QUEUE_WITHIN(10000000, weir_op_submit_until(&head, &sem, 2, soon));
	slept = sleeps();
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 100000000), WEIR_ETIMEDOUT);
	CHECK(sleeps() < slept + 10);
	CHECK_ERR(weir_op_poll(&head), WEIR_ETIMEDOUT);
}

static weir_ctx ctx;

static void *destroy_ctx(void *arg)
{
	(void)arg;
	CHECK_OK(weir_ctx_destroy(&ctx));
	return NULL;
}

/* All operations leave, and another thread destroys the context: it waits. */
static void cancel_all_and_destroy(void *thread)
{
	int before_it;

	for (int i = 0; i < MANY; i++)
		CHECK(weir_op_cancel(&ops[i]) != WEIR_EINVAL);
	skip_naps(true);
	before_it = naps();
	*(check_thread *)thread = start(destroy_ctx, NULL);
	AWAIT(naps() > before_it);
	skip_naps(false);
}

/* A cancel locks to begin and to continue. */
#define CONTINUES 2

static void cancel_too(void *thread)
{
	before("weir_lock_", CONTINUES, cancel_all_and_destroy, thread);
	weir_ctx_cancel(&ctx);
}

static void cancelled(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)user;
	CHECK_ERR(err, WEIR_ECANCELED);
}

/*
 * C13, C22: all operations of a context have returned while two cancels of it
 * are between two batches.  The context is destroyed when both have continued.
 */
TEST(c13_destroyed_between_two_batches)
{
	/*
	 * One semaphore each: no operation is dequeued together with another.
	 */
	static weir_sem sems[MANY];
	check_thread thread;

	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	for (int i = 0; i < MANY; i++) {
		CHECK_OK(weir_sem_init_opts(&sems[i],
					    &(weir_sem_opts){ .capacity = 1 }));
		weir_op_init(&ops[i], NULL, cancelled, NULL);
		CHECK_ERR(weir_op_submit(&ops[i], &sems[i], 1, &ctx),
			  WEIR_EQUEUED);
	}
	before("weir_lock_", CONTINUES, cancel_too, &thread);
	weir_ctx_cancel(&ctx);
	happened();
	finish(thread);
	for (int i = 0; i < MANY; i++)
		CHECK_OK(weir_sem_destroy(&sems[i]));
}

static void release_in_a_handler(void *unused)
{
	(void)unused;
	CHECK_EQ(ran, 0);
	weir_sem_release(&other, 1);
	CHECK_EQ(ran, 0);
}

/*
 * C25, C27: a signal handler interrupts a call that is about to run a callback.
 * Its release, which wakes a thread, does not run the callback.
 */
TEST(c25_a_release_in_a_handler_runs_no_callback)
{
	weir_op op;
	job a;

	ran = 0;
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_sem_init_opts(&other, &(weir_sem_opts){ .capacity = 1 }));
	queue_up(&a, &other, 1, NULL);
	weir_op_init(&op, NULL, notified, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	before("weir_callbacks_run_", 1, release_in_a_handler, NULL);
	weir_sem_release(&sem, 1);
	happened();
	CHECK_EQ(ran, 1);
	CHECK_OK(job_end(&a));
}
