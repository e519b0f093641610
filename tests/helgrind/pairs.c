/* SPDX-License-Identifier: MIT */
/*
 * Each pair of orders in the core (the tables "Pairs" in src), alone: one
 * thread does something plain and then the releasing half, another the
 * acquiring half and then something plain.  Nothing else orders the two, so
 * with either half weakened helgrind reports a race: tools/helgrind shows it.
 *
 * Who goes first is told by relaxed flags, which order nothing.
 *
 * C24: what was done before is seen after.
 */
#include <sched.h>

#include "base/hook.h"
#include "base/lock.h"
#include "check.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "weir/ctx.h"

struct pair {
	weir_sem sem;
	weir_ctx ctx;
	int64_t plain;		/* what the pair orders */
	int turn;		/* a relaxed flag */
	uint32_t lock;		/* of base/lock.h */
};

static void give_turn(struct pair *p, int turn)
{
	__atomic_store_n(&p->turn, turn, __ATOMIC_RELAXED);
}

static void await_turn(struct pair *p, int turn)
{
	AWAIT(__atomic_load_n(&p->turn, __ATOMIC_RELAXED) == turn);
}

/* Seen without the lock, which would order more than is wanted. */
static void await_waiters(weir_sem *sem, uint32_t count)
{
	AWAIT(__atomic_load_n(&sem->waiters_, __ATOMIC_RELAXED) == count);
}

static void *use_permit(void *arg)
{
	struct pair *p = arg;

	await_turn(p, 1);
	CHECK_OK(weir_sem_acquire(&p->sem, 1, NULL));
	p->plain++;
	weir_sem_release(&p->sem, 1);
	give_turn(p, 2);
	return NULL;
}

/* [S1] on the paths that find the semaphore open. */
TEST(c24_s1_permit_when_open)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread other = start(use_permit, &p);

	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	p.plain++;
	weir_sem_release(&p.sem, 1);
	give_turn(&p, 1);
	await_turn(&p, 2);
	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	CHECK_EQ(p.plain, 2);
	weir_sem_release(&p.sem, 1);
	finish(other);
}

static void *try_permit(void *arg)
{
	struct pair *p = arg;

	await_turn(p, 1);
	CHECK_OK(weir_sem_try_acquire(&p->sem, 1));
	p->plain++;
	weir_sem_release(&p->sem, 1);
	return NULL;
}

/* [S1] for one who only tries. */
TEST(c24_s1_permit_that_was_tried)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread other = start(try_permit, &p);

	CHECK_OK(weir_sem_try_acquire(&p.sem, 1));
	p.plain++;
	weir_sem_release(&p.sem, 1);
	give_turn(&p, 1);
	finish(other);
	CHECK_EQ(p.plain, 2);
}

/* [S1] and [S2] when every call goes through the lock. */
TEST(c24_s1_permit_when_tracked)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_TRACKED };
	struct pair p = { .turn = 0 };
	check_thread other;

	CHECK_OK(weir_sem_init_opts(&p.sem, &opts));
	other = start(use_permit, &p);
	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	p.plain++;
	weir_sem_release(&p.sem, 1);
	give_turn(&p, 1);
	await_turn(&p, 2);
	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	CHECK_EQ(p.plain, 2);
	weir_sem_release(&p.sem, 1);
	finish(other);
}

static void *wait_for_permit(void *arg)
{
	struct pair *p = arg;

	CHECK_OK(weir_sem_acquire(&p->sem, 1, NULL));
	p->plain++;
	weir_sem_release(&p->sem, 1);
	return NULL;
}

/*
 * [S2]: the waiter put itself on the queue, who releases takes it off.  [W1]:
 * it sees its outcome.  Round by round it has come to sleep or not yet.
 */
TEST(c24_s2_w1_queue_and_tell)
{
	for (int round = 0; round < 10; round++) {
		struct pair p = { .sem = WEIR_SEM_INIT(1) };
		check_thread other;

		CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
		other = start(wait_for_permit, &p);
		await_waiters(&p.sem, 1);
		p.plain++;
		weir_sem_release(&p.sem, 1);
		CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
		CHECK_EQ(p.plain, 2);
		weir_sem_release(&p.sem, 1);
		finish(other);
	}
}

static void *wait_for_two(void *arg)
{
	struct pair *p = arg;

	CHECK_OK(weir_sem_acquire(&p->sem, 2, NULL));
	weir_sem_release(&p->sem, 2);
	return NULL;
}

/* [S2] by a call that takes the lock for itself and looks at who waits. */
TEST(c24_s2_lock)
{
	struct pair p = { .sem = WEIR_SEM_INIT(2) };
	check_thread other;

	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	other = start(wait_for_two, &p);
	await_waiters(&p.sem, 1);
	CHECK_OK(weir_sem_resize(&p.sem, 2, NULL));
	weir_sem_release(&p.sem, 1);
	finish(other);
}

static void *look_whether_closed(void *arg)
{
	struct pair *p = arg;

	AWAIT(weir_sem_is_closed(&p->sem));
	CHECK_EQ(p->plain, 1);
	return NULL;
}

/* [S3] */
TEST(c24_s3_closed)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread other = start(look_whether_closed, &p);

	p.plain = 1;
	weir_sem_close(&p.sem, WEIR_CLOSE_NOW);
	finish(other);
}

static void *look_whether_ended(void *arg)
{
	struct pair *p = arg;

	AWAIT(weir_ctx_err(&p->ctx) == WEIR_ECANCELED);
	CHECK_EQ(p->plain, 1);
	return NULL;
}

/* [X1] */
TEST(c24_x1_end)
{
	struct pair p = { .ctx = WEIR_CTX_INIT };
	check_thread other = start(look_whether_ended, &p);

	p.plain = 1;
	weir_ctx_cancel(&p.ctx);
	finish(other);
}

static void *make_a_child(void *arg)
{
	struct pair *p = arg;
	weir_ctx child;

	await_turn(p, 1);
	CHECK_OK(weir_ctx_init(&child, &p->ctx, WEIR_FOREVER));
	CHECK_OK(weir_ctx_destroy(&child));
	give_turn(p, 2);
	return NULL;
}

/* [L1]: the tree's list of children. */
TEST(c24_l1_mutex)
{
	struct pair p = { .ctx = WEIR_CTX_INIT };
	check_thread other = start(make_a_child, &p);
	weir_ctx child;

	CHECK_OK(weir_ctx_init(&child, &p.ctx, WEIR_FOREVER));
	give_turn(&p, 1);
	await_turn(&p, 2);
	CHECK_OK(weir_ctx_destroy(&child));
	finish(other);
}

static void *work_under_lock(void *arg)
{
	struct pair *p = arg;

	weir_lock_(&p->lock);
	give_turn(p, 1);
	/* 2: somebody has come to sleep, or is about to. */
	AWAIT(__atomic_load_n(&p->lock, __ATOMIC_RELAXED) == 2);
	p->plain++;
	weir_unlock_(&p->lock);
	return NULL;
}

/* [L1] when it is held. */
TEST(c24_l1_mutex_held)
{
	struct pair p = { .turn = 0 };
	check_thread other = start(work_under_lock, &p);

	await_turn(&p, 1);
	weir_lock_(&p.lock);
	CHECK_EQ(p.plain, 1);
	weir_unlock_(&p.lock);
	finish(other);
}

static void *work_on_queue(void *arg)
{
	struct pair *p = arg;

	CHECK_OK(weir_sem_lock_(&p->sem, "pairs"));
	give_turn(p, 1);
	await_turn(p, 2);
	weir_sem_unlock_(&p->sem, 0);
	return NULL;
}

/*
 * [S1] when the lock is held: the release adds and leaves, and whoever holds
 * the lock hands the permit over.
 */
TEST(c24_s1_permit_when_locked)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread waiter, worker;

	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	waiter = start(wait_for_permit, &p);
	await_waiters(&p.sem, 1);
	worker = start(work_on_queue, &p);
	await_turn(&p, 1);
	p.plain++;
	weir_sem_release(&p.sem, 1);
	give_turn(&p, 2);
	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	CHECK_EQ(p.plain, 2);
	finish(worker);
	finish(waiter);
}

/* Whose events are heard: read relaxed, so that the hook alone orders. */
static struct pair *heard_by;

static void hear(void)
{
	struct pair *p = __atomic_load_n(&heard_by, __ATOMIC_RELAXED);

	CHECK_EQ(p->plain, 1);
	give_turn(p, 2);
}

static void hear_event(const struct weir_event_ *event)
{
	(void)event;
	hear();
}

static void *make_events(void *arg)
{
	struct pair *p = arg;

	while (__atomic_load_n(&p->turn, __ATOMIC_RELAXED) == 0) {
		weir_sem_close(&p->sem, WEIR_CLOSE_NOW);
		sched_yield();
	}
	return NULL;
}

/* [K1] */
TEST(c24_k1_hook)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread other = start(make_events, &p);

	__atomic_store_n(&heard_by, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_hook_set_(hear_event);
	finish(other);
	weir_hook_set_(NULL);
}

static void *chain_hook(void *arg)
{
	struct pair *p = arg;
	weir_hook_fn_ *before;

	await_turn(p, 1);
	/* Who takes the place of a hook may call the one before. */
	before = weir_hook_set_(NULL);
	CHECK(before == hear_event);
	before(NULL);
	return NULL;
}

/* [K1] from setter to setter. */
TEST(c24_k1_hook_before)
{
	struct pair p = { .turn = 0 };
	check_thread other = start(chain_hook, &p);

	__atomic_store_n(&heard_by, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_hook_set_(hear_event);
	give_turn(&p, 1);
	finish(other);
}

static void hear_panic(const char *message)
{
	(void)message;
	hear();
}

static void hear_nothing(const char *message)
{
	(void)message;
}

static void *make_panics(void *arg)
{
	struct pair *p = arg;

	while (__atomic_load_n(&p->turn, __ATOMIC_RELAXED) == 0) {
		weir_sem_release(NULL, 1);
		sched_yield();
	}
	return NULL;
}

static void *chain_panic_hook(void *arg)
{
	struct pair *p = arg;
	weir_panic_fn *before;

	await_turn(p, 1);
	before = weir_set_panic_hook(hear_nothing);
	CHECK(before == hear_panic);
	before("");
	return NULL;
}

/* [P1] from setter to setter. */
TEST(c24_p1_panic_hook_before)
{
	struct pair p = { .turn = 0 };
	weir_panic_fn *before = weir_set_panic_hook(NULL);
	check_thread other = start(chain_panic_hook, &p);

	__atomic_store_n(&heard_by, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_set_panic_hook(hear_panic);
	give_turn(&p, 1);
	finish(other);
	weir_set_panic_hook(before);
}

/* [P1] */
TEST(c24_p1_panic_hook)
{
	struct pair p = { .turn = 0 };
	weir_panic_fn *before = weir_set_panic_hook(hear_nothing);
	check_thread other = start(make_panics, &p);

	__atomic_store_n(&heard_by, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_set_panic_hook(hear_panic);
	finish(other);
	weir_set_panic_hook(before);
}
