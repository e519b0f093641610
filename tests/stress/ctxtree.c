/* SPDX-License-Identifier: MIT */
/*
 * A tree of contexts under load: threads create, wait with and destroy contexts
 * at the bottom of the tree while other threads cancel from the middle and from
 * the root.
 *
 * Checks (C13): an end reaches all contexts below, including those that are
 * being created; once a cancel has returned, no acquire below it succeeds; no
 * permit is lost (C16); and after all calls have returned the whole tree can be
 * destroyed.
 *
 * Runs for two seconds, times WEIR_TEST_SCALE.
 */
#include <poll.h>

#include "../regress/race.h"
#include "../regress/waiter.h"

#define WORKERS 10
#define BRANCHES 3
#define RUN_NS INT64_C(1000000000)

struct tree {
	struct gate gate;
	weir_sem sem;
	weir_ctx root;
	weir_ctx branch[BRANCHES];
	uint32_t branch_over[BRANCHES];	/* atomic: its cancel has returned */
	uint32_t root_over;		/* atomic: its cancel has returned */
	bool stop;
};

struct worker {
	struct tree *tree;
	uint64_t random;
	check_thread thread;
};

static bool over(struct tree *t, int64_t branch)
{
	return __atomic_load_n(&t->root_over, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&t->branch_over[branch], __ATOMIC_ACQUIRE);
}

/* An acquire with a context below `branch`. */
static void acquire(struct worker *w, weir_ctx *ctx, int64_t branch,
		    bool may_be_late)
{
	struct tree *t = w->tree;
	bool ended = over(t, branch);
	int64_t n = 1 + random_below(&w->random, 2);
	weir_err err = weir_sem_acquire(&t->sem, n, ctx);

	if (!err) {
		CHECK(!ended);
		if (next_random(&w->random) % 4 == 0)
			sched_yield();
		weir_sem_release(&t->sem, n);
		return;
	}
	CHECK(err == WEIR_ECANCELED || (may_be_late && err == WEIR_ETIMEDOUT));
	/* The context reports the same error as the call, permanently. */
	CHECK_ERR(weir_ctx_err(ctx), err);
}

static void use(struct worker *w, weir_ctx *ctx, int64_t branch,
		bool may_be_late)
{
	bool ended = over(w->tree, branch);
	struct pollfd poll_fd = { .events = POLLIN };
	weir_err err;

	switch (random_below(&w->random, 8)) {
	case 0:
		err = weir_ctx_wait(ctx, weir_deadline_after(10000));
		CHECK(err == WEIR_EAGAIN || err == WEIR_ECANCELED ||
		      (may_be_late && err == WEIR_ETIMEDOUT));
		CHECK(!ended || err != WEIR_EAGAIN);
		break;
	case 1:
		CHECK_OK(weir_ctx_fd(ctx, &poll_fd.fd));
		CHECK(poll(&poll_fd, 1, 0) >= 0);
		CHECK(!ended || poll_fd.revents & POLLIN);
		break;
	default:
		acquire(w, ctx, branch, may_be_late);
	}
}

static void one_life(struct worker *w)
{
	struct tree *t = w->tree;
	int64_t branch = random_below(&w->random, BRANCHES);
	bool late = next_random(&w->random) % 4 == 0;
	int64_t deadline = WEIR_FOREVER;
	weir_ctx child, grandchild;

	if (late)
		deadline = weir_deadline_after(random_below(&w->random, 50000));
	CHECK_OK(weir_ctx_init(&child, &t->branch[branch], deadline));
	if (next_random(&w->random) % 2) {
		use(w, &child, branch, late);
	} else {
		CHECK_OK(weir_ctx_init(&grandchild, &child, WEIR_FOREVER));
		CHECK_ERR(weir_ctx_destroy(&child), WEIR_EBUSY);
		/* Sometimes the parent is cancelled. */
		if (next_random(&w->random) % 8 == 0)
			weir_ctx_cancel(&child);
		use(w, &grandchild, branch, late);
		CHECK_OK(weir_ctx_destroy(&grandchild));
	}
	CHECK_OK(weir_ctx_destroy(&child));
}

static void *live(void *arg)
{
	struct worker *w = arg;
	struct tree *t = w->tree;

	for (;;) {
		meet(&t->gate);
		if (t->stop)
			return NULL;
		while (!__atomic_load_n(&t->root_over, __ATOMIC_ACQUIRE))
			one_life(w);
		/* Once more after the cancel has returned. */
		one_life(w);
		meet(&t->gate);
	}
}

static void one_round(struct tree *t, uint64_t *random)
{
	t->root_over = 0;
	CHECK_OK(weir_ctx_init(&t->root, NULL, WEIR_FOREVER));
	for (int i = 0; i < BRANCHES; i++) {
		t->branch_over[i] = 0;
		CHECK_OK(weir_ctx_init(&t->branch[i], &t->root, WEIR_FOREVER));
	}
	meet(&t->gate);
	for (int i = 0; i < BRANCHES; i++) {
		jitter(random, 200000);
		if (next_random(random) % 2) {
			weir_ctx_cancel(&t->branch[i]);
			__atomic_store_n(&t->branch_over[i], 1,
					 __ATOMIC_RELEASE);
		}
		CHECK_IDENTITY(&t->sem);
	}
	weir_ctx_cancel(&t->root);
	__atomic_store_n(&t->root_over, 1, __ATOMIC_RELEASE);
	/* All waiters have left the queue, and no later acquire enters it. */
	CHECK_EQ(waiters_of(&t->sem), 0);
	meet(&t->gate);
	CHECK_EQ(stat_of(&t->sem).free, stat_of(&t->sem).capacity);
	for (int i = 0; i < BRANCHES; i++) {
		CHECK_ERR(weir_ctx_err(&t->branch[i]), WEIR_ECANCELED);
		CHECK_OK(weir_ctx_destroy(&t->branch[i]));
	}
	CHECK_OK(weir_ctx_destroy(&t->root));
}

static void rounds_with(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 3, .policy = policy };
	int64_t until = weir_now_ns() + RUN_NS * check_scale();
	struct tree t = { .gate.parties = WORKERS + 1 };
	struct worker worker[WORKERS];
	uint64_t random = seed_of(1000);

	CHECK_OK(weir_sem_init_opts(&t.sem, &opts));
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = (struct worker){ .tree = &t };
		worker[i].random = seed_of((uint64_t)i);
		worker[i].thread = start(live, &worker[i]);
	}
	do
		one_round(&t, &random);
	while (weir_now_ns() < until);
	t.stop = true;
	meet(&t.gate);
	for (int i = 0; i < WORKERS; i++)
		finish(worker[i].thread);
	CHECK_OK(weir_sem_destroy(&t.sem));
}

TEST(c13_tree_under_load)
{
	rounds_with(WEIR_FIFO);
}

TEST(c13_tree_under_load_barging)
{
	rounds_with(WEIR_BARGING);
}
