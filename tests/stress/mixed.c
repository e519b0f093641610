/* SPDX-License-Identifier: MIT */
/*
 * Sixteen threads make random calls on one semaphore, while another thread
 * cancels the contexts they wait with and a third checks the counts.
 *
 * Checks: capacity = free + held + granted - debt at every moment (N8); every
 * result is one that the call may return (C2, C5, C11, C12, C16, C21); and when
 * the semaphore is closed under load, every call returns (C19), all permits are
 * released, and it can be destroyed (C20, C22).
 *
 * Runs for two seconds, times WEIR_TEST_SCALE.  The seed is printed on failure;
 * it determines the calls of each thread, not their timing.
 */
#include "../regress/race.h"
#include "../regress/waiter.h"

#define WORKERS 16
#define GROUPS 4
#define LARGEST 24		/* largest capacity */
#define EPOCH_NS INT64_C(200000000)
#define EPOCHS 10

/* A context that several threads wait with; it is cancelled and recreated. */
struct group {
	weir_ctx ctx;
	uint32_t users;		/* atomic: threads that may access ctx */
	uint32_t closed;	/* atomic: do not enter */
};

struct arena {
	weir_sem sem;
	struct group group[GROUPS];
	uint32_t over;		/* atomic */
	int64_t results[16];	/* atomic: number of results, by -err */
};

struct worker {
	struct arena *arena;
	uint64_t random;
	int64_t held;
	check_thread thread;
};

static bool is_over(struct arena *a)
{
	return __atomic_load_n(&a->over, __ATOMIC_ACQUIRE);
}

/* Count a result and check that it is allowed (one bit for each -err). */
static weir_err record(struct arena *a, weir_err err, uint32_t allowed,
		       const char *call)
{
	if (!(allowed >> -err & 1))
		check_fail(__FILE__, __LINE__, "%s returned %s", call,
			   weir_err_name(err));
	__atomic_add_fetch(&a->results[-err], 1, __ATOMIC_RELAXED);
	return err;
}

static int64_t given(struct arena *a, weir_err err)
{
	return __atomic_load_n(&a->results[-err], __ATOMIC_RELAXED);
}

#define ALLOW(err) (1u << -(err))
#define ALWAYS (ALLOW(WEIR_OK) | ALLOW(WEIR_ECLOSED))
#define ENDED (ALLOW(WEIR_ECANCELED) | ALLOW(WEIR_ETIMEDOUT))

/* Enter a random group; returns null if it is being cancelled. */
static struct group *enter(struct worker *w)
{
	struct group *g = &w->arena->group[random_below(&w->random, GROUPS)];

	__atomic_add_fetch(&g->users, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&g->closed, __ATOMIC_SEQ_CST))
		return g;
	__atomic_sub_fetch(&g->users, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void leave(struct group *g)
{
	__atomic_sub_fetch(&g->users, 1, __ATOMIC_SEQ_CST);
}

/* One of the acquires that wait with a context, sometimes with a deadline. */
static void with_ctx(struct worker *w, int64_t n)
{
	struct group *g = enter(w);
	weir_sem *sem = &w->arena->sem;
	int64_t deadline = WEIR_FOREVER, got = 0;
	weir_ctx ctx;
	weir_err err;

	if (!g)
		return;
	/* A thread that holds permits must not wait forever for more. */
	if (w->held || next_random(&w->random) % 2)
		deadline = weir_deadline_after(random_below(&w->random, 20000));
	CHECK_OK(weir_ctx_init(&ctx, &g->ctx, deadline));
	switch (random_below(&w->random, 4)) {
	case 0:
		err = weir_sem_acquire_upto(sem, n, n + 4, &ctx, &got);
		err = record(w->arena, err, ALWAYS | ENDED, "acquire_upto");
		CHECK(err ? got == 0 : got >= n && got <= n + 4);
		break;
	case 1:
		/* More than the largest capacity: waits for the ctx only. */
		err = weir_sem_acquire(sem, LARGEST + 1, &ctx);
		record(w->arena, err, ENDED | ALLOW(WEIR_ECLOSED), "acquire");
		break;
	case 2:
		if (!w->held) {
			err = weir_sem_wait_idle(sem, &ctx);
			record(w->arena, err, ALLOW(WEIR_OK) | ENDED,
			       "wait_idle");
			break;
		}
		/* fall through */
	default:
		err = weir_sem_acquire(sem, n, &ctx);
		err = record(w->arena, err, ALWAYS | ENDED, "acquire");
		got = err ? 0 : n;
	}
	w->held += got;
	CHECK_OK(weir_ctx_destroy(&ctx));
	leave(g);
}

static void give_back(struct worker *w, int64_t n)
{
	if (!n)
		return;
	weir_sem_release(&w->arena->sem, n);
	w->held -= n;
}

static void act(struct worker *w)
{
	struct arena *a = w->arena;
	int64_t n = 1 + random_below(&w->random, 4), got = 0;
	weir_err err;

	switch (random_below(&w->random, 16)) {
	case 0:
		if (w->held)
			break;
		err = weir_sem_acquire(&a->sem, n, NULL);
		err = record(a, err, ALWAYS | ALLOW(WEIR_ETOOBIG), "acquire");
		w->held += err ? 0 : n;
		break;
	case 1:
	case 2:
	case 3:
		err = weir_sem_acquire_for(&a->sem, n,
					   random_below(&w->random, 5000));
		err = record(a, err, ALWAYS | ALLOW(WEIR_ETIMEDOUT) |
			     ALLOW(WEIR_ETOOBIG), "acquire_for");
		w->held += err ? 0 : n;
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		with_ctx(w, n);
		break;
	case 8:
		err = weir_sem_try_acquire(&a->sem, n);
		err = record(a, err, ALWAYS | ALLOW(WEIR_EAGAIN),
			     "try_acquire");
		w->held += err ? 0 : n;
		break;
	case 9:
		err = weir_sem_drain(&a->sem, &got);
		record(a, err, ALWAYS, "drain");
		w->held += got;
		break;
	case 10:
		err = weir_sem_resize(&a->sem, random_below(&w->random,
							    LARGEST + 1), NULL);
		record(a, err, ALLOW(WEIR_OK), "resize");
		break;
	case 11:
		/*
		 * A release of more permits than can be held is always refused.
		 */
		err = weir_sem_try_release(&a->sem, WEIR_SEM_MAX);
		record(a, err, ALLOW(WEIR_EOVERFLOW), "try_release");
		break;
	case 12:
		if (!w->held)
			break;
		err = weir_sem_forget(&a->sem, 1);
		record(a, err, ALLOW(WEIR_OK), "forget");
		w->held--;
		break;
	default:
		give_back(w, random_below(&w->random, w->held + 1));
	}
	if (w->held > 8)
		give_back(w, w->held);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!is_over(w->arena))
		act(w);
	give_back(w, w->held);
	return NULL;
}

static void *cancel_groups(void *arg)
{
	struct arena *a = arg;
	uint64_t random = seed_of(1000);

	while (!is_over(a)) {
		struct group *g = &a->group[random_below(&random, GROUPS)];

		jitter(&random, 20000);
		/* Cancel with users in the group, then block new ones. */
		weir_ctx_cancel(&g->ctx);
		__atomic_store_n(&g->closed, 1, __ATOMIC_SEQ_CST);
		AWAIT(__atomic_load_n(&g->users, __ATOMIC_SEQ_CST) == 0);
		CHECK_OK(weir_ctx_destroy(&g->ctx));
		CHECK_OK(weir_ctx_init(&g->ctx, NULL, WEIR_FOREVER));
		__atomic_store_n(&g->closed, 0, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void *observe(void *arg)
{
	struct arena *a = arg;

	while (!is_over(a)) {
		CHECK_IDENTITY(&a->sem);
		sched_yield();
	}
	return NULL;
}

static void epoch(int number, weir_policy policy, weir_close how)
{
	weir_sem_opts opts = { .permits = LARGEST, .policy = policy,
			       .name = "arena" };
	struct worker worker[WORKERS];
	check_thread canceller, observer;
	struct arena a = { .over = 0 };
	weir_sem_info info;
	int64_t until;

	CHECK_OK(weir_sem_init_opts(&a.sem, &opts));
	for (int i = 0; i < GROUPS; i++)
		CHECK_OK(weir_ctx_init(&a.group[i].ctx, NULL, WEIR_FOREVER));
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = (struct worker){ .arena = &a };
		worker[i].random = seed_of((uint64_t)(number * WORKERS + i));
		worker[i].thread = start(work, &worker[i]);
	}
	canceller = start(cancel_groups, &a);
	observer = start(observe, &a);
	until = weir_now_ns() + EPOCH_NS;
	while (weir_now_ns() < until)
		usleep(1000);
	/* Even on a loaded machine every kind of result must have occurred. */
	AWAIT(given(&a, WEIR_OK) && given(&a, WEIR_ETIMEDOUT) &&
	      given(&a, WEIR_ECANCELED) && given(&a, WEIR_EAGAIN));
	/* Close under load; a DRAIN close is then followed by a NOW close. */
	weir_sem_close(&a.sem, how);
	usleep(1000);
	weir_sem_close(&a.sem, WEIR_CLOSE_NOW);
	__atomic_store_n(&a.over, 1, __ATOMIC_RELEASE);
	/* Release threads that wait for idle or, oversized, for their ctx. */
	finish(canceller);
	for (int i = 0; i < GROUPS; i++)
		weir_ctx_cancel(&a.group[i].ctx);
	for (int i = 0; i < WORKERS; i++)
		finish(worker[i].thread);
	finish(observer);
	CHECK_OK(weir_sem_wait_idle(&a.sem, NULL));
	info = stat_of(&a.sem);
	CHECK_EQ(info.free, info.capacity);
	CHECK_EQ(info.held + info.granted + info.debt, 0);
	CHECK_EQ(info.waiters + info.oversized, 0);
	CHECK_OK(weir_sem_destroy(&a.sem));
	for (int i = 0; i < GROUPS; i++)
		CHECK_OK(weir_ctx_destroy(&a.group[i].ctx));
}

TEST(c16_everything_at_once)
{
	for (int i = 0; i < EPOCHS * check_scale(); i++)
		epoch(i, i % 2 ? WEIR_BARGING : WEIR_FIFO,
		      i % 4 < 2 ? WEIR_CLOSE_NOW : WEIR_CLOSE_DRAIN);
}
