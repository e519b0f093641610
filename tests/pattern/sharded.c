/* SPDX-License-Identifier: MIT */
/*
 * The sharded semaphore.  Each thread of these tests runs on the CPU that it
 * says, so that a test decides which shard a call uses.
 */
#include <sched.h>

#include "check.h"
#include "pattern/sharded.h"
#include "weir/ctx.h"

static _Thread_local int cpu;

int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void)
{
	return cpu;
}

static weir_sharded s;

static void begin(int64_t capacity, uint32_t batch)
{
	cpu = 0;
	CHECK_OK(weir_sharded_init(&s, &(weir_sharded_opts){
		.capacity = capacity, .name = "s", .shards = 4,
		.batch = batch }));
}

static weir_sharded_info info(void)
{
	weir_sharded_info i;

	CHECK_OK(weir_sharded_stat(&s, &i));
	return i;
}

/* The permits are those of the test, and the equation holds. */
static void check_held(int64_t held)
{
	weir_sharded_info i = info();

	CHECK_EQ(i.held, held);
	CHECK_EQ(i.capacity, i.free + i.held + i.granted - i.debt);
	CHECK_EQ(i.waiters, 0);
}

static void end(void)
{
	check_held(0);
	CHECK_OK(weir_sharded_destroy(&s));
}

static void acquire_at(int at, int64_t n)
{
	cpu = at;
	CHECK_OK(weir_sharded_acquire(&s, n, NULL));
}

static void release_at(int at, int64_t n)
{
	cpu = at;
	weir_sharded_release(&s, n);
}

static int64_t credit(int at)
{
	return s.body_->shards[at].credit;
}

/* A call on its own thread, and its result. */
struct caller {
	int64_t n;
	weir_ctx *ctx;
	int64_t deadline;
	check_thread thread;
	weir_err err;
};

static void *caller(void *arg)
{
	struct caller *c = arg;

	cpu = 3;
	c->err = c->deadline ?
			 weir_sharded_acquire_until(&s, c->n, c->deadline) :
			 weir_sharded_acquire(&s, c->n, c->ctx);
	return NULL;
}

/* Start the call and wait until it is queued. */
static void start_waiting(struct caller *c)
{
	uint32_t before = info().waiters;

	c->thread = start(caller, c);
	AWAIT(info().waiters == before + 1);
}

static void finishes_with(struct caller *c, weir_err want)
{
	finish(c->thread);
	CHECK_ERR(c->err, want);
}

/* An acquire takes a batch; a release keeps its permit in the shard. */
TEST(one_permit_stays_at_its_cpu)
{
	begin(100, 8);
	acquire_at(1, 1);
	CHECK_EQ(credit(1), 7);
	CHECK_EQ(weir_sem_available(&s.body_->rest), 92);
	for (int i = 0; i < 1000; i++) {
		release_at(1, 1);
		CHECK_EQ(credit(1), 8);
		acquire_at(1, 1);
		CHECK_EQ(credit(1), 7);
	}
	CHECK_EQ(weir_sem_available(&s.body_->rest), 92);
	check_held(1);
	/* Another thread releases it, on another CPU. */
	release_at(2, 1);
	CHECK_EQ(credit(2), 1);
	check_held(0);
	end();
}

/* A shard keeps at most two batches; the surplus goes to the centre. */
TEST(no_cpu_hoards)
{
	begin(100, 4);
	for (int i = 0; i < 50; i++)
		acquire_at(1, 1);
	for (int i = 0; i < 50; i++)
		release_at(2, 1);
	CHECK(credit(2) <= 8);
	CHECK_EQ(info().free, 100);
	/* A release of more permits than the shard has room for. */
	acquire_at(0, 100);
	release_at(0, 100);
	CHECK_EQ(credit(0), 0);
	CHECK_EQ(weir_sem_available(&s.body_->rest), 100);
	end();
}

/* C10: all permits can be taken from one CPU, wherever they lie, and no more. */
TEST(c10_every_permit_is_found)
{
	for (uint32_t batch = 0; batch < 4; batch++) {
		begin(6, batch);
		for (int round = 0; round < 20; round++) {
			for (int i = 0; i < 6; i++)
				acquire_at(round + i * 3, 1);
			cpu = round;
			CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_EAGAIN);
			CHECK_ERR(weir_sharded_acquire_until(&s, 1, 0),
				  WEIR_ETIMEDOUT);
			check_held(6);
			for (int i = 0; i < 6; i++)
				release_at(round + i, 1);
			for (int i = 0; i < 6; i++)
				CHECK_OK(weir_sharded_try_acquire(&s, 1));
			for (int i = 0; i < 6; i++)
				release_at(i, 1);
		}
		end();
	}
}

/* C10: a request for several permits collects them from all shards. */
TEST(c10_several_permits)
{
	begin(8, 1);
	for (int i = 0; i < 8; i++)
		acquire_at(i, 1);
	for (int i = 0; i < 8; i++)
		release_at(i, 1);
	CHECK(info().in_shards > 0);
	acquire_at(0, 8);
	CHECK_EQ(info().in_shards, 0);
	CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sharded_try_acquire(&s, 2), WEIR_EAGAIN);
	release_at(0, 8);
	for (int i = 0; i < 8; i++)
		acquire_at(i, 1);
	for (int i = 0; i < 8; i++)
		release_at(i, 1);
	CHECK_OK(weir_sharded_try_acquire(&s, 7));
	CHECK_OK(weir_sharded_acquire_until(&s, 1, 0));
	release_at(1, 8);
	end();
}

/* C6: a release grants the waiter, from every CPU and every shard. */
TEST(c6_release_wakes_a_waiter)
{
	struct caller one = { .n = 1 }, three = { .n = 3 };

	begin(3, 2);
	for (int i = 0; i < 3; i++)
		acquire_at(i, 1);
	start_waiting(&one);
	release_at(1, 1);
	finishes_with(&one, WEIR_OK);
	CHECK_EQ(info().in_shards, 0);
	start_waiting(&three);
	for (int i = 0; i < 3; i++)
		release_at(i, 1);
	finishes_with(&three, WEIR_OK);
	release_at(0, 3);
	/* No call waits any more: the permits stay in the shards. */
	acquire_at(2, 1);
	release_at(2, 1);
	CHECK(credit(2) > 0);
	end();
}

/* C2, C13, C14, C16: how a wait ends; nothing is held afterwards. */
TEST(c13_a_wait_ends)
{
	struct caller cancelled = { .n = 1 }, late = { .n = 1 };
	weir_ctx ctx = WEIR_CTX_INIT;

	begin(1, 1);
	cancelled.ctx = &ctx;
	acquire_at(0, 1);
	start_waiting(&cancelled);
	weir_ctx_cancel(&ctx);
	finishes_with(&cancelled, WEIR_ECANCELED);
	late.deadline = weir_deadline_after(1);
	late.thread = start(caller, &late);
	finishes_with(&late, WEIR_ETIMEDOUT);
	release_at(0, 1);
	CHECK_EQ(credit(0), 1);
	/* An ended ctx wins over a free permit; a deadline does not. */
	CHECK_ERR(weir_sharded_acquire(&s, 1, &ctx), WEIR_ECANCELED);
	CHECK_ERR(weir_sharded_acquire(&s, -1, &ctx), WEIR_EINVAL);
	CHECK_EQ(credit(0), 1);
	CHECK_OK(weir_sharded_acquire_until(&s, 1, 0));
	release_at(0, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/* C11: a request beyond the capacity; growth lets it in. */
TEST(c11_oversized)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct caller five = { .n = 5, .ctx = &ctx };

	begin(2, 1);
	CHECK_ERR(weir_sharded_acquire(&s, 3, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sharded_acquire_until(&s, 3, WEIR_FOREVER),
		  WEIR_ETOOBIG);
	acquire_at(1, 1);
	release_at(1, 1);
	start_waiting(&five);
	CHECK_OK(weir_sharded_resize(&s, 5, NULL));
	finishes_with(&five, WEIR_OK);
	release_at(0, 5);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

/* C19: both modes; permits in the shards are not granted after CLOSE_NOW. */
TEST(c19_close)
{
	struct caller one = { .n = 1 };

	begin(2, 1);
	acquire_at(0, 2);
	start_waiting(&one);
	weir_sharded_close(&s, WEIR_CLOSE_NOW);
	weir_sharded_close(&s, WEIR_CLOSE_NOW);
	finishes_with(&one, WEIR_ECLOSED);
	release_at(1, 2);
	CHECK(info().closed);
	CHECK_ERR(weir_sharded_acquire(&s, 1, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_sharded_acquire(&s, 0, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_sharded_acquire_until(&s, 2, 0), WEIR_ECLOSED);
	CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_ECLOSED);
	CHECK_ERR(weir_sharded_try_acquire(&s, 2), WEIR_ECLOSED);
	end();

	begin(4, 2);
	acquire_at(0, 1);
	CHECK_EQ(credit(0), 1);
	weir_sharded_close(&s, WEIR_CLOSE_DRAIN);
	CHECK_OK(weir_sharded_acquire(&s, 2, NULL));
	CHECK_OK(weir_sharded_try_acquire(&s, 1));
	CHECK_ERR(weir_sharded_acquire(&s, 1, NULL), WEIR_ECLOSED);
	release_at(2, 4);
	CHECK_OK(weir_sharded_acquire(&s, 4, NULL));
	release_at(2, 4);
	end();
}

/* C21: growth grants; a debt is paid by releases before any shard is filled. */
TEST(c21_resize)
{
	struct caller two = { .n = 2 };
	int64_t debt = -1;

	begin(4, 1);
	for (int i = 0; i < 4; i++)
		acquire_at(i, 1);
	CHECK_OK(weir_sharded_resize(&s, 1, &debt));
	CHECK_EQ(debt, 3);
	for (int i = 0; i < 3; i++) {
		release_at(i, 1);
		CHECK_EQ(info().debt, 2 - i);
		CHECK_EQ(info().in_shards, 0);
		CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_EAGAIN);
	}
	release_at(3, 1);
	CHECK_OK(weir_sharded_try_acquire(&s, 1));
	CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_EAGAIN);
	/* The debt is paid: the shards work again. */
	release_at(2, 1);
	acquire_at(2, 1);
	release_at(2, 1);
	CHECK_EQ(credit(2), 1);
	CHECK_OK(weir_sharded_resize(&s, 3, &debt));
	CHECK_EQ(debt, 0);
	acquire_at(1, 3);
	start_waiting(&two);
	CHECK_OK(weir_sharded_resize(&s, 5, NULL));
	finishes_with(&two, WEIR_OK);
	CHECK_ERR(weir_sharded_resize(&s, -1, &debt), WEIR_EINVAL);
	check_held(5);
	release_at(1, 5);
	end();
}

/* C21: credit in the shards counts as free in a shrink. */
TEST(c21_shrink_collects_credit)
{
	int64_t debt = -1;

	begin(8, 2);
	for (int i = 0; i < 4; i++)
		acquire_at(i, 1);
	for (int i = 0; i < 4; i++)
		release_at(i, 1);
	CHECK_EQ(info().in_shards, 8);
	CHECK_OK(weir_sharded_resize(&s, 2, &debt));
	CHECK_EQ(debt, 0);
	acquire_at(3, 2);
	CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_EAGAIN);
	release_at(3, 2);
	end();
}

/* C31 */
TEST(c31_max_waiters)
{
	struct caller one = { .n = 1 };

	CHECK_OK(weir_sharded_init(&s, &(weir_sharded_opts){
		.capacity = 1, .max_waiters = 1 }));
	acquire_at(0, 1);
	start_waiting(&one);
	CHECK_ERR(weir_sharded_acquire_until(&s, 1, WEIR_FOREVER), WEIR_EBUSY);
	release_at(0, 1);
	finishes_with(&one, WEIR_OK);
	release_at(0, 1);
	end();
}

/* C8: an excess is found when it reaches the centre, and is removed. */
TEST(c8_over_release)
{
	begin(4, 1);
	CHECK_PANICS("weir_sharded_release: sharded semaphore \"s\" has 0 permits "
		     "out and 9 were returned", weir_sharded_release(&s, 9));
	check_held(0);
	acquire_at(0, 4);
	release_at(0, 4);
	/* The excess fits into the shard. */
	weir_sharded_release(&s, 1);
	CHECK_PANICS("weir_sharded_try_acquire: sharded semaphore \"s\" has 0",
		     CHECK_OK(weir_sharded_try_acquire(&s, 2)));
	weir_sharded_release(&s, 2);
	check_held(0);
	CHECK_PANICS("the count -1 is invalid", weir_sharded_release(&s, -1));
	weir_sharded_release(&s, 0);
	end();
}

TEST(bad_input)
{
	weir_sharded zeroed;
	weir_sharded_info i;

	memset(&zeroed, 0, sizeof(zeroed));
#define REFUSED(...)                                                           \
	CHECK_ERR(weir_sharded_init(&s, &(weir_sharded_opts){ __VA_ARGS__ }),  \
		  WEIR_EINVAL)
	CHECK_ERR(weir_sharded_init(NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_init(&s, NULL), WEIR_EINVAL);
	REFUSED(.capacity = -1);
	REFUSED(.capacity = WEIR_SEM_MAX + 1);
	REFUSED(.shards = 3);
	REFUSED(.shards = 128);
	REFUSED(.batch = WEIR_SHARDED_BATCH_MAX + 1);
	REFUSED(.barge_us = WEIR_BARGE_US_MAX + 1);
	REFUSED(.flags = 1);
	REFUSED(.unused_ = 1);
	REFUSED(.reserved_ = { 0, 0, 1 });
	CHECK_ERR(weir_sharded_acquire(&zeroed, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_acquire_until(NULL, 1, 0), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_try_acquire(&zeroed, 1), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_resize(&zeroed, 1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_destroy(&zeroed), WEIR_EINVAL);
	CHECK_PANICS("weir_sharded_release", weir_sharded_release(&zeroed, 1));
	CHECK_PANICS("weir_sharded_close",
		     weir_sharded_close(NULL, WEIR_CLOSE_NOW));
	begin(1, 0);
	CHECK_ERR(weir_sharded_stat(&s, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_acquire(&s, -1, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_sharded_try_acquire(&s, -1), WEIR_EINVAL);
	CHECK_OK(weir_sharded_try_acquire(&s, 0));
	CHECK_OK(weir_sharded_acquire(&s, 0, NULL));
	end();
	/* The largest capacity, and none. */
	begin(WEIR_SEM_MAX, 0);
	acquire_at(0, WEIR_SEM_MAX);
	release_at(0, WEIR_SEM_MAX);
	end();
	begin(0, 0);
	CHECK_ERR(weir_sharded_try_acquire(&s, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sharded_acquire(&s, 1, NULL), WEIR_ETOOBIG);
	end();
}

/* The default: one shard for each CPU, a power of two. */
TEST(default_shards)
{
	weir_sharded_info i;
	cpu_set_t cpus;

	CHECK_OK(weir_sharded_init(&s, &(weir_sharded_opts){ .capacity = 1 }));
	i = info();
	CHECK(i.shards >= 1 && i.shards <= WEIR_SHARDS_MAX);
	CHECK(!(i.shards & (i.shards - 1)));
	/* A container may allow fewer CPUs than the machine has. */
	CHECK(i.shards == WEIR_SHARDS_MAX ||
	      sched_getaffinity(0, sizeof(cpus), &cpus) ||
	      i.shards >= (uint32_t)CPU_COUNT(&cpus));
	/* An unknown CPU uses the first shard. */
	acquire_at(-1, 1);
	release_at(-1, 1);
	CHECK_EQ(credit(0), 1);
	end();
}
