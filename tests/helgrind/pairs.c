/* SPDX-License-Identifier: MIT */
/*
 * Each pair of memory orders in the core (the tables "Pairs" in src), alone.
 * One thread makes a plain access and then the release; another one makes the
 * acquire and then a plain access.  Nothing else orders the two plain accesses,
 * so helgrind reports a race if either half is weakened: tools/helgrind.
 *
 * Relaxed flags decide which thread runs first; they order nothing.
 *
 * C24: writes before a release are visible after the acquire.
 */
#include <sched.h>

#include "base/hook.h"
#include "base/lock.h"
#include "check.h"
#include "core/sem_grant.h"
#include "core/sem_lock.h"
#include "core/sem_word.h"
#include "weir/ctx.h"

struct pair {
	weir_sem sem;
	weir_ctx ctx;
	int64_t plain;		/* ordered by the pair */
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

/* Reads without the lock, which would order the accesses. */
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

/* [S1] for try_acquire. */
TEST(c24_s1_permit_of_try_acquire)
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

static void pass_permit(struct pair *p)
{
	check_thread other = start(use_permit, p);

	CHECK_OK(weir_sem_acquire(&p->sem, 1, NULL));
	p->plain++;
	weir_sem_release(&p->sem, 1);
	give_turn(p, 1);
	await_turn(p, 2);
	CHECK_OK(weir_sem_acquire(&p->sem, 1, NULL));
	CHECK_EQ(p->plain, 2);
	weir_sem_release(&p->sem, 1);
	finish(other);
}

/* [S1] and [S2] when every call goes through the lock. */
TEST(c24_s1_permit_when_closed)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };

	weir_sem_close(&p.sem, WEIR_CLOSE_DRAIN);
	pass_permit(&p);
}

/* [S1] on the fast path of a watched semaphore. */
TEST(c24_s1_permit_when_watched)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_TRACKED };
	struct pair p = { .turn = 0 };

	CHECK_OK(weir_sem_init_opts(&p.sem, &opts));
	pass_permit(&p);
}

static void *use_range(void *arg)
{
	struct pair *p = arg;
	int64_t got;

	await_turn(p, 1);
	CHECK_OK(weir_sem_acquire_upto(&p->sem, 1, 2, NULL, &got));
	p->plain++;
	weir_sem_release(&p->sem, got);
	return NULL;
}

/* The same for a request for a range of permits. */
TEST(c24_s1_range_when_watched)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_TRACKED };
	struct pair p = { .turn = 0 };
	check_thread other;

	CHECK_OK(weir_sem_init_opts(&p.sem, &opts));
	other = start(use_range, &p);
	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	p.plain++;
	weir_sem_release(&p.sem, 1);
	give_turn(&p, 1);
	finish(other);
	CHECK_EQ(p.plain, 2);
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
 * [S2]: the waiter enqueues itself and the releasing thread dequeues it.  [W1]:
 * the waiter reads its outcome.  Depending on the round it sleeps already or
 * not.
 */
TEST(c24_s2_w1_queue_and_notification)
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

/* [S2] for a call that takes the lock and reads the queue. */
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

static void *await_closed(void *arg)
{
	struct pair *p = arg;

	AWAIT(weir_state_(&p->sem) & WEIR_STATE_CLOSED_);
	CHECK_EQ(p->plain, 1);
	return NULL;
}

/*
 * [S3]: state_ alone.  weir_sem_is_closed loads the word first, with acquire,
 * which orders the same accesses.
 */
TEST(c24_s3_closed)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread other = start(await_closed, &p);

	p.plain = 1;
	weir_sem_close(&p.sem, WEIR_CLOSE_NOW);
	finish(other);
}

static void *await_cancelled(void *arg)
{
	struct pair *p = arg;

	AWAIT(weir_ctx_err(&p->ctx) == WEIR_ECANCELED);
	CHECK_EQ(p->plain, 1);
	return NULL;
}

/* [X1]: weir_ctx_err. */
TEST(c24_x1_end)
{
	struct pair p = { .ctx = WEIR_CTX_INIT };
	check_thread other = start(await_cancelled, &p);

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
	/* 2: the other thread sleeps or is about to. */
	AWAIT(__atomic_load_n(&p->lock, __ATOMIC_RELAXED) == 2);
	p->plain++;
	weir_unlock_(&p->lock);
	return NULL;
}

/* [L1] when the lock is held. */
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

static void *wait_and_give_turn(void *arg)
{
	(void)wait_for_permit(arg);
	give_turn(arg, 3);
	return NULL;
}

/*
 * [S1] when the lock is held: the release adds its permit and returns, and the
 * lock holder grants it.  The releasing thread makes no other call until the
 * waiter has returned: an acquire that waits for the lock would be a release,
 * too [S7].
 */
TEST(c24_s1_permit_when_locked)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread waiter, worker;

	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	waiter = start(wait_and_give_turn, &p);
	await_waiters(&p.sem, 1);
	worker = start(work_on_queue, &p);
	await_turn(&p, 1);
	p.plain++;
	weir_sem_release(&p.sem, 1);
	give_turn(&p, 2);
	await_turn(&p, 3);
	CHECK_OK(weir_sem_acquire(&p.sem, 1, NULL));
	CHECK_EQ(p.plain, 2);
	finish(worker);
	finish(waiter);
}

/* The pair of the current hook; relaxed, so that only the hook orders. */
static struct pair *hooked;

static void check_hooked(void)
{
	struct pair *p = __atomic_load_n(&hooked, __ATOMIC_RELAXED);

	CHECK_EQ(p->plain, 1);
	give_turn(p, 2);
}

static void hook(const struct weir_event_ *event)
{
	(void)event;
	check_hooked();
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

/* [K1]: setting a hook and calling it. */
TEST(c24_k1_hook)
{
	struct pair p = { .sem = WEIR_SEM_INIT(1) };
	check_thread other = start(make_events, &p);

	__atomic_store_n(&hooked, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_hook_set_(hook);
	finish(other);
	weir_hook_set_(NULL);
}

static void *chain_hook(void *arg)
{
	struct pair *p = arg;
	weir_hook_fn_ *before;

	await_turn(p, 1);
	/* A thread that replaces a hook may call the previous one. */
	before = weir_hook_set_(NULL);
	CHECK(before == hook);
	before(NULL);
	return NULL;
}

/* [K1] between two setters. */
TEST(c24_k1_hook_before)
{
	struct pair p = { .turn = 0 };
	check_thread other = start(chain_hook, &p);

	__atomic_store_n(&hooked, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_hook_set_(hook);
	give_turn(&p, 1);
	finish(other);
}

static void panic_hook(const char *message)
{
	(void)message;
	check_hooked();
}

static void ignore_panic(const char *message)
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
	before = weir_set_panic_hook(ignore_panic);
	CHECK(before == panic_hook);
	before("");
	return NULL;
}

/* [P1] between two setters. */
TEST(c24_p1_panic_hook_before)
{
	struct pair p = { .turn = 0 };
	weir_panic_fn *before = weir_set_panic_hook(NULL);
	check_thread other = start(chain_panic_hook, &p);

	__atomic_store_n(&hooked, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_set_panic_hook(panic_hook);
	give_turn(&p, 1);
	finish(other);
	weir_set_panic_hook(before);
}

/* [P1]: setting a panic hook and calling it. */
TEST(c24_p1_panic_hook)
{
	struct pair p = { .turn = 0 };
	weir_panic_fn *before = weir_set_panic_hook(ignore_panic);
	check_thread other = start(make_panics, &p);

	__atomic_store_n(&hooked, &p, __ATOMIC_RELAXED);
	p.plain = 1;
	weir_set_panic_hook(panic_hook);
	finish(other);
	weir_set_panic_hook(before);
}
