/* SPDX-License-Identifier: MIT */
/*
 * N1: waiters that fit sleep forever, because the head left the queue and the
 * queue was not examined again.  This test covers every reason for which a head
 * can leave.
 *
 * Threads: head (requests 5), B (requests 1), C (requests 1), D (requests 4),
 * main.  Capacity 6; two permits are held, four are free; all four threads are
 * queued.
 *
 *   1. main: ends the head's wait.
 *   2. head: leaves the queue.
 *   3. B, C: fit and are granted.
 *   4. D: only two permits are left; continues to wait.
 *
 * In weir (C7) the waiters behind the head that now fit are granted at once, in
 * order, up to the first that does not fit.  The reason may be a cancel of the
 * head's ctx or of its parent, a deadline of either kind, a signal, a shrink
 * below the head's weight, or a close in drain mode.  (The death of a process
 * is tested in tests/named.)
 */
#include "waiter.h"

enum reason {
	CANCEL,
	PARENT,
	PLAIN_DEADLINE,
	CTX_DEADLINE,
	SIGNAL,
	SHRINK,		/* no ctx: ETOOBIG */
	SHRINK_OVERSIZED,	/* with a ctx: it waits on, oversized */
	DRAIN,
	CANCEL_UPTO
};

struct queue {
	weir_sem sem;
	weir_ctx parent, ctx;
	struct waiter head, b, c, d;
};

static void no_op(int signo)
{
	(void)signo;
}

static void queue_head(struct queue *q, enum reason reason)
{
	int64_t ns = 10000000;

	q->head = (struct waiter){ .sem = &q->sem, .n = 5 };
	CHECK_OK(weir_ctx_init(&q->parent, NULL, WEIR_FOREVER));
	CHECK_OK(weir_ctx_init(&q->ctx, &q->parent, WEIR_FOREVER));
	switch (reason) {
	case PLAIN_DEADLINE:
		do
			q->head.deadline_ns = weir_now_ns() + (ns *= 2);
		while (!queue_up_frozen(&q->head));
		return;
	case CTX_DEADLINE:
		q->head.ctx = &q->ctx;
		do {
			CHECK_OK(weir_ctx_destroy(&q->ctx));
			CHECK_OK(weir_ctx_init(&q->ctx, &q->parent,
					       weir_now_ns() + (ns *= 2)));
		} while (!queue_up_frozen(&q->head));
		return;
	case CANCEL_UPTO:
		q->head.max = 6;
		q->head.ctx = &q->ctx;
		break;
	case CANCEL:
	case PARENT:
	case SHRINK_OVERSIZED:
		q->head.ctx = &q->ctx;
		break;
	default:
		break;
	}
	queue_up(&q->head);
}

static weir_err end_head(struct queue *q, enum reason reason)
{
	struct sigaction action;

	switch (reason) {
	case CANCEL:
	case CANCEL_UPTO:
		weir_ctx_cancel(&q->ctx);
		return WEIR_ECANCELED;
	case PARENT:
		weir_ctx_cancel(&q->parent);
		return WEIR_ECANCELED;
	case PLAIN_DEADLINE:
		AWAIT(weir_now_ns() > q->head.deadline_ns);
		thaw(&q->head);
		return WEIR_ETIMEDOUT;
	case CTX_DEADLINE:
		AWAIT(weir_now_ns() > weir_ctx_deadline(&q->ctx));
		thaw(&q->head);
		return WEIR_ETIMEDOUT;
	case SIGNAL:
		memset(&action, 0, sizeof(action));
		action.sa_handler = no_op;
		CHECK_EQ(real_sigaction(SIGUSR2, &action, NULL), 0);
		CHECK_EQ(pthread_kill(q->head.thread.id, SIGUSR2), 0);
		return WEIR_EINTR;
	case SHRINK:
		CHECK_OK(weir_sem_resize(&q->sem, 4, NULL));
		return WEIR_ETOOBIG;
	case SHRINK_OVERSIZED:
		CHECK_OK(weir_sem_resize(&q->sem, 4, NULL));
		return WEIR_OK;
	case DRAIN:
		weir_sem_close(&q->sem, WEIR_CLOSE_DRAIN);
		return WEIR_ECLOSED;
	}
	return WEIR_OK;
}

static void head_leaves(enum reason reason, weir_policy policy)
{
	weir_sem_opts opts = { .permits = 6, .policy = policy };
	struct queue q;
	weir_err want;

	if (reason == SIGNAL)
		opts.flags = WEIR_SEM_INTERRUPTIBLE;
	CHECK_OK(weir_sem_init_opts(&q.sem, &opts));
	q.b = q.c = (struct waiter){ .sem = &q.sem, .n = 1 };
	q.d = (struct waiter){ .sem = &q.sem, .n = 4 };
	/* All permits are held at first, so that BARGING requests queue too. */
	CHECK_OK(weir_sem_acquire(&q.sem, 6, NULL));
	queue_head(&q, reason);
	queue_up(&q.b);
	queue_up(&q.c);
	queue_up(&q.d);
	weir_sem_release(&q.sem, 4);
	CHECK_EQ(waiters_of(&q.sem), 4);
	want = end_head(&q, reason);
	if (want)
		CHECK_ERR(result_of(&q.head), want);
	CHECK_OK(result_of(&q.b));
	CHECK_OK(result_of(&q.c));
	if (reason == DRAIN) {
		CHECK_ERR(result_of(&q.d), WEIR_ECLOSED);
	} else {
		CHECK_EQ(waiters_of(&q.sem), 1);
		CHECK(!has_returned(&q.d));
		weir_sem_release(&q.sem, 4);
		CHECK_OK(result_of(&q.d));
	}
	if (!want) {
		CHECK_EQ(oversized_of(&q.sem), 1);
		weir_ctx_cancel(&q.ctx);
		CHECK_ERR(result_of(&q.head), WEIR_ECANCELED);
	}
	CHECK_EQ(stat_of(&q.sem).held, 4);
	CHECK_IDENTITY(&q.sem);
	CHECK_OK(weir_sem_destroy(&q.sem));
	CHECK_OK(weir_ctx_destroy(&q.ctx));
	CHECK_OK(weir_ctx_destroy(&q.parent));
}

#define HEAD_LEAVES(name, reason)                                              \
	TEST(c7_##name)                                                        \
	{                                                                      \
		head_leaves(reason, WEIR_FIFO);                                \
		head_leaves(reason, WEIR_BARGING);                             \
	}

HEAD_LEAVES(cancelled, CANCEL)
HEAD_LEAVES(cancelled_upto, CANCEL_UPTO)
HEAD_LEAVES(cancelled_by_its_parent, PARENT)
HEAD_LEAVES(past_a_plain_deadline, PLAIN_DEADLINE)
HEAD_LEAVES(past_the_deadline_of_its_ctx, CTX_DEADLINE)
HEAD_LEAVES(interrupted, SIGNAL)
HEAD_LEAVES(above_the_capacity, SHRINK)
HEAD_LEAVES(oversized_after_shrink, SHRINK_OVERSIZED)
HEAD_LEAVES(closed_in_drain_mode, DRAIN)

/* C19: a WEIR_CLOSE_NOW refuses all waiters. */
TEST(c19_closed_now)
{
	weir_sem sem = WEIR_SEM_INIT(6);
	struct waiter head = { .sem = &sem, .n = 5 };
	struct waiter b = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	queue_up(&head);
	queue_up(&b);
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_ERR(result_of(&head), WEIR_ECLOSED);
	CHECK_ERR(result_of(&b), WEIR_ECLOSED);
	CHECK_EQ(stat_of(&sem).held, 2);
}
