/* SPDX-License-Identifier: MIT */
/* A context ends between two steps of a call: C13. */
#include "base/hook.h"
#include "between.h"
#include "core/notify.h"
#include "weir/async.h"

static void cancel(void *ctx)
{
	weir_ctx_cancel(ctx);
}

struct both {
	weir_ctx *ctx;
	weir_sem *sem;
};

static void cancel_and_close(void *arg)
{
	struct both *both = arg;

	weir_ctx_cancel(both->ctx);
	weir_sem_close(both->sem, WEIR_CLOSE_NOW);
}

/*
 * C13: a cancel at each step of an acquire that finds free permits: the acquire
 * fails and the permits are free again.
 */
TEST(c13_cancelled_while_taking_free_permits)
{
	static const struct {
		const char *function;
		int nth;
	} moment[] = {
		{ "weir_take_fast_", 1 },
		{ "weir_take_fast_", 2 },
		{ "weir_ctx_cancelled_", 2 },
	};

	for (size_t i = 0; i < sizeof(moment) / sizeof(*moment); i++) {
		weir_sem sem = WEIR_SEM_INIT(1);
		weir_ctx ctx = WEIR_CTX_INIT;

		before(moment[i].function, moment[i].nth, cancel, &ctx);
		CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECANCELED);
		happened();
		CHECK_EQ(weir_sem_available(&sem), 1);
	}
}

/*
 * C13, C19: the permits are returned to a semaphore that was closed meanwhile.
 */
TEST(c13_cancelled_and_closed_after_it_took)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct both both = { &ctx, &sem };

	before("weir_ctx_cancelled_", 2, cancel_and_close, &both);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECANCELED);
	happened();
	CHECK_EQ(weir_sem_available(&sem), 1);
	CHECK_EQ(stat_of(&sem).held, 0);
}

/* n is more than the capacity, or another waiter is `ahead` in the queue. */
static void cancelled_before(const char *function, int nth, int64_t n,
			     bool ahead)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	job first;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	if (ahead)
		queue_up(&first, &sem, 1, NULL);
	before(function, nth, cancel, &ctx);
	CHECK_ERR(weir_sem_acquire(&sem, n, &ctx), WEIR_ECANCELED);
	happened();
	CHECK_EQ(waiters_of(&sem), ahead);
	CHECK_EQ(oversized_of(&sem), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	weir_sem_release(&sem, 1);
	if (ahead)
		CHECK_OK(job_end(&first));
}

/*
 * C13: a cancel while the call enters the queue: before it has joined the
 * context, and after.
 */
TEST(c13_cancelled_on_the_way_into_the_queue)
{
	static const struct {
		const char *function;
		int nth;
	} moment[] = {
		{ "weir_lock_", 1 },
		{ "try_lock", 1 },
		{ "announce_sleep", 1 },
	};

	for (size_t i = 0; i < sizeof(moment) / sizeof(*moment); i++) {
		cancelled_before(moment[i].function, moment[i].nth, 1, false);
		cancelled_before(moment[i].function, moment[i].nth, 1, true);
		cancelled_before(moment[i].function, moment[i].nth, 2, false);
	}
}

static job behind;

/* Another thread waits; this one is granted; then its deadline passes. */
static void grant_too_late(const struct weir_event_ *event)
{
	weir_sem *sem = (weir_sem *)(uintptr_t)event->object;

	if (event->kind != WEIR_EVENT_QUEUED_ || behind.sem)
		return;
	queue_up(&behind, sem, 1, NULL);
	weir_sem_release(sem, 1);
	pass_seconds(200);
}

/*
 * C7, C13: a granted waiter finds that its context has ended by the deadline,
 * and no cancel has done so.  It returns the permits: the next waiter is granted
 * and woken.
 */
TEST(c7_granted_after_the_deadline_of_its_context)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL,
			       weir_deadline_after(INT64_C(100000000000))));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	behind.sem = NULL;
	CHECK(!weir_hook_set_(grant_too_late));
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(job_end(&behind));
	CHECK(weir_hook_set_(NULL) == grant_too_late);
	CHECK_EQ(stat_of(&sem).held, 1);
	CHECK_EQ(stat_of(&sem).granted, 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void close_then_cancel(void *arg)
{
	struct both *both = arg;

	weir_sem_close(both->sem, WEIR_CLOSE_NOW);
	weir_ctx_cancel(both->ctx);
}

/* C16: closed first and cancelled afterwards: the error is the first reason. */
TEST(c16_closed_then_cancelled_before_it_returns)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct both both = { &ctx, &sem };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before_cas("announce_sleep", close_then_cancel, &both);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECLOSED);
	happened();
}

static void close_draining(void *sem)
{
	weir_sem_close(sem, WEIR_CLOSE_DRAIN);
}

/*
 * C13, C19: a cancel has marked the head, and a drain close reaches the queue
 * first: the head is cancelled, and the waiter behind it gets the permit.
 */
TEST(c13_drained_while_it_is_cancelled)
{
	weir_sem sem = WEIR_SEM_INIT(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	job heavy, light;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&heavy, &sem, 2, &ctx);
	queue_up(&light, &sem, 1, NULL);
	before("try_lock", 1, close_draining, &sem);
	weir_ctx_cancel(&ctx);
	happened();
	CHECK_ERR(job_end(&heavy), WEIR_ECANCELED);
	CHECK_OK(job_end(&light));
	CHECK_EQ(stat_of(&sem).held, 2);
}

static void come_to_the_deadline(void *ctx)
{
	pass_seconds(200);
	CHECK_ERR(weir_ctx_err(ctx), WEIR_ETIMEDOUT);
}

/*
 * C13: the deadline is noticed just before the cancel: it is the only reason, and
 * there is no cause.
 */
TEST(c13_cancelled_at_the_deadline)
{
	weir_ctx ctx;
	int fd;

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_now_ns() + 100000000000));
	CHECK_OK(weir_ctx_fd(&ctx, &fd));
	before_cas("weir_ctx_end_with_", come_to_the_deadline, &ctx);
	weir_ctx_cancel_with(&ctx, &fd);
	happened();
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
	CHECK(!weir_ctx_cause(&ctx));
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C13: two threads notice the deadline at once: both report it. */
TEST(c13_the_deadline_is_noticed_twice)
{
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_now_ns()));
	before_cas("weir_ctx_end_with_", come_to_the_deadline, &ctx);
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
	happened();
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* C13: a spuriously failing CAS does not lose a cancel. */
TEST(c13_spurious_cas_failure)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	fail_cas("weir_ctx_end_with_");
	weir_ctx_cancel(&ctx);
	happened();
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ECANCELED);
}

struct family {
	weir_ctx parent, child;
};

static void cancel_twice(void *arg)
{
	struct family *family = arg;

	weir_ctx_cancel(&family->child);
	weir_ctx_cancel(&family->parent);
}

/* C13: weir_ctx_wait is notified once, even if the context ends twice. */
TEST(c13_ended_twice_before_it_sleeps)
{
	struct family family = { .parent = WEIR_CTX_INIT };

	CHECK_OK(weir_ctx_init(&family.child, &family.parent, WEIR_FOREVER));
	before_cas("announce_sleep", cancel_twice, &family);
	CHECK_ERR(weir_ctx_wait(&family.child, WEIR_FOREVER), WEIR_ECANCELED);
	happened();
	CHECK_OK(weir_ctx_destroy(&family.child));
}

/*
 * C13: weir_ctx_wait returns at once if the context ended before the wait
 * joined it.
 */
TEST(c13_ended_before_the_wait_begins)
{
	weir_ctx ctx = WEIR_CTX_INIT;

	before("weir_lock_", 1, cancel, &ctx);
	CHECK_ERR(weir_ctx_wait(&ctx, WEIR_FOREVER), WEIR_ECANCELED);
	happened();
}

/*
 * C13: cancel, deadline of the context, deadline of the wait: the first that
 * occurs decides.
 */
TEST(c13_the_first_end_counts)
{
	const int64_t deadline = weir_deadline_after(100000000000);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, deadline));
	CHECK_ERR(weir_ctx_wait(&ctx, deadline - 99999999999), WEIR_EAGAIN);
	CHECK_OK(weir_ctx_err(&ctx));
	before_cas("announce_sleep", cancel, &ctx);
	CHECK_ERR(weir_ctx_wait(&ctx, WEIR_FOREVER), WEIR_ECANCELED);
	happened();
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void join_meanwhile(void *arg)
{
	job *j = arg;

	job_start(j);
	AWAIT(job_asleep(j));
	CHECK_EQ(waiters_of(j->sem), 0);
}

/*
 * C13: a call joins while an init, a weir_ctx_fd or a destroy has locked the tree:
 * it waits for the lock, and the next cancel reaches it.
 */
TEST(c13_the_tree_is_locked)
{
	weir_ctx root = WEIR_CTX_INIT, child;
	weir_sem sems[3];
	job jobs[3];
	int fd;

	for (int i = 0; i < 3; i++) {
		CHECK_OK(weir_sem_init(&sems[i], 1));
		CHECK_OK(weir_sem_acquire(&sems[i], 1, NULL));
		jobs[i] = (job){ .sem = &sems[i], .n = 1, .max = -1,
				 .ctx = &root };
	}
	before("weir_unlock_", 1, join_meanwhile, &jobs[0]);
	CHECK_OK(weir_ctx_init(&child, &root, WEIR_FOREVER));
	happened();
	before("weir_unlock_", 1, join_meanwhile, &jobs[1]);
	CHECK_OK(weir_ctx_fd(&root, &fd));
	happened();
	before("weir_unlock_", 1, join_meanwhile, &jobs[2]);
	CHECK_OK(weir_ctx_destroy(&child));
	happened();
	for (int i = 0; i < 3; i++)
		AWAIT(waiters_of(&sems[i]) == 1);
	weir_ctx_cancel(&root);
	for (int i = 0; i < 3; i++)
		CHECK_ERR(job_end(&jobs[i]), WEIR_ECANCELED);
	CHECK_OK(weir_ctx_destroy(&root));
}

/* C18: a signal does not end weir_ctx_wait. */
TEST(c18_a_signal_during_ctx_wait)
{
	const int64_t deadline = weir_deadline_after(1000000);
	weir_ctx ctx = WEIR_CTX_INIT;

	set_next_sleep(A_SIGNAL);
	CHECK_ERR(weir_ctx_wait(&ctx, deadline), WEIR_EAGAIN);
	CHECK(weir_now_ns() >= deadline);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void turn_back(void *arg)
{
	(void)arg;
	pass_seconds(-100);
}

/* The next lock is for leaving, after the sleep. */
static void join_at_the_deadline(void *arg)
{
	pass_seconds(60);
	before("weir_lock_", 1, turn_back, arg);
}

/*
 * C15: a context that was seen to be late has ended, even if the clock goes
 * back.
 */
TEST(c15_late_and_the_clock_goes_back)
{
	/* Also if the wait has the same deadline. */
	for (int same = 0; same < 2; same++) {
		int64_t end = weir_deadline_after(60000000000);
		weir_ctx ctx;

		CHECK_OK(weir_ctx_init(&ctx, NULL, end));
		/* The first lock is for joining. */
		before("weir_lock_", 1, join_at_the_deadline, NULL);
		CHECK_ERR(weir_ctx_wait(&ctx, same ? end : WEIR_FOREVER),
			  WEIR_ETIMEDOUT);
		happened();
		CHECK_ERR(weir_ctx_err(&ctx), WEIR_ETIMEDOUT);
		pass_seconds(40);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
}

static void turn_back_and_cancel(void *ctx)
{
	pass_seconds(-100);
	weir_ctx_cancel(ctx);
}

static void join_and_be_late(void *ctx)
{
	pass_seconds(60);
	before("weir_lock_", 1, turn_back_and_cancel, ctx);
}

/*
 * C13: an acquire has given up at the deadline of its context.  Before it leaves the
 * context, the clock goes back and the context is cancelled.  The context has one
 * end, and each call reports it.
 */
TEST(c13_cancelled_after_it_gave_up)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx;

	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(60000000000)));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	before("weir_lock_", 1, join_and_be_late, &ctx);
	CHECK_ERR(weir_sem_acquire(&sem, 1, &ctx), WEIR_ECANCELED);
	happened();
	CHECK_ERR(weir_ctx_err(&ctx), WEIR_ECANCELED);
	CHECK_EQ(waiters_of(&sem), 0);
	pass_seconds(40);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

static void nothing(void *arg)
{
	(void)arg;
}

/* C13: a cancel of many operations unlocks the tree between batches. */
TEST(c13_many_are_cancelled_in_batches)
{
	enum { MANY = 3 * WEIR_BATCH_ };
	static weir_op ops[MANY];
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (int i = 0; i < MANY; i++) {
		weir_op_init(&ops[i], NULL, NULL, NULL);
		CHECK_ERR(weir_op_submit(&ops[i], &sem, 1, &ctx), WEIR_EQUEUED);
	}
	/* One unlock for each batch, one at the end. */
	before("weir_unlock_", 4, nothing, NULL);
	weir_ctx_cancel(&ctx);
	happened();
	for (int i = 0; i < MANY; i++)
		CHECK_ERR(weir_op_poll(&ops[i]), WEIR_ECANCELED);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

static struct {
	weir_ctx ctx;
	check_thread canceller;
	int decided, may_notify;
} slow;

static void wait_to_notify(void *unused)
{
	(void)unused;
	__atomic_store_n(&slow.decided, 1, __ATOMIC_SEQ_CST);
	AWAIT(__atomic_load_n(&slow.may_notify, __ATOMIC_SEQ_CST));
}

static void *cancel_slowly(void *unused)
{
	(void)unused;
	before("notify_each", 1, wait_to_notify, NULL);
	weir_ctx_cancel(&slow.ctx);
	happened();
	return NULL;
}

static void let_it_notify(void *unused)
{
	(void)unused;
	__atomic_store_n(&slow.may_notify, 1, __ATOMIC_SEQ_CST);
}

static void cancel_and_pass_the_deadline(void *unused)
{
	(void)unused;
	slow.canceller = start(cancel_slowly, NULL);
	AWAIT(__atomic_load_n(&slow.decided, __ATOMIC_SEQ_CST));
	pass_seconds(40);
	/* After the sleep, which ends at once, and for the notification. */
	before("take_notification", 2, let_it_notify, NULL);
}

/*
 * C13: the deadline of weir_ctx_wait passes while a cancel is about to notify it.
 * The wait must not return before the notification, which accesses its stack.
 */
TEST(c13_late_between_the_cancel_and_the_notification)
{
	CHECK_OK(weir_ctx_init(&slow.ctx, NULL, WEIR_FOREVER));
	before("take_notification", 1, cancel_and_pass_the_deadline, NULL);
	CHECK_ERR(weir_ctx_wait(&slow.ctx, weir_deadline_after(20000000000)),
		  WEIR_ECANCELED);
	happened();
	finish(slow.canceller);
	CHECK_OK(weir_ctx_destroy(&slow.ctx));
	pass_seconds(-40);
}
