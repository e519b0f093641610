/* SPDX-License-Identifier: MIT */
/* Pause and resume: no grants, the queue is kept.  C3, C5, C16, C19, C21. */
#include "puppet.h"
#include "weir/ctx.h"

/* A paused semaphore with two waiters in the queue. */
struct queue {
	const char *name;
	weir_named *sem;
	struct puppet first, second;
};

static struct queue paused_queue(int64_t capacity)
{
	struct queue q = { .name = fresh_name() };

	q.sem = open_named(q.name, capacity);
	q.first = puppet_at(q.name, capacity);
	q.second = puppet_at(q.name, capacity);
	CHECK_OK(weir_named_pause(q.sem));
	puppet_tell(&q.first, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(q.sem).waiters == 1);
	puppet_tell(&q.second, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(q.sem).waiters == 2);
	return q;
}

static void end_queue(struct queue *q)
{
	puppet_end(&q->first);
	puppet_end(&q->second);
	close_named(q->sem);
}

TEST(c3_a_pause_keeps_the_queue_and_its_order)
{
	struct queue q = paused_queue(1);

	CHECK(look_at(q.sem).paused);
	CHECK(!look_at(q.sem).closed);
	CHECK(!weir_named_is_closed(q.sem));
	CHECK_EQ(look_at(q.sem).free, 1);
	CHECK_OK(weir_named_resume(q.sem));
	CHECK(!look_at(q.sem).paused);
	CHECK_EQ(puppet_hear(&q.first), WEIR_OK);
	CHECK_EQ(look_at(q.sem).waiters, 1);
	CHECK_EQ(puppet_do(&q.first, PUPPET_RELEASE, 1), WEIR_OK);
	CHECK_EQ(puppet_hear(&q.second), WEIR_OK);
	end_queue(&q);
}

TEST(c5_a_paused_semaphore_grants_nothing)
{
	weir_named *sem = open_named(fresh_name(), 3);
	int64_t got;

	/* This handle is on the holder list, so the fast path would take. */
	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	CHECK_OK(weir_named_pause(sem));
	CHECK_OK(weir_named_pause(sem));
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_named_acquire_for(sem, 1, 0), WEIR_ETIMEDOUT);
	CHECK_ERR(weir_named_acquire_for(sem, 1, 1000000), WEIR_ETIMEDOUT);
	CHECK_OK(weir_named_drain(sem, &got));
	CHECK_EQ(got, 0);
	/* Nothing is requested. */
	CHECK_OK(weir_named_acquire(sem, 0, NULL));
	CHECK_EQ(look_at(sem).free, 2);
	weir_named_release(sem, 1);
	CHECK_EQ(look_at(sem).free, 3);
	CHECK_OK(weir_named_wait_idle(sem, NULL));
	CHECK_OK(weir_named_resume(sem));
	CHECK_OK(weir_named_resume(sem));
	CHECK_OK(weir_named_acquire_for(sem, 3, 0));
	weir_named_release(sem, 3);
	close_named(sem);
}

TEST(c21_a_resize_during_a_pause)
{
	struct queue q = paused_queue(1);

	CHECK_OK(weir_named_resize(q.sem, 2, NULL));
	CHECK_EQ(look_at(q.sem).waiters, 2);
	CHECK_EQ(look_at(q.sem).free, 2);
	CHECK_OK(weir_named_resume(q.sem));
	CHECK_EQ(puppet_hear(&q.first), WEIR_OK);
	CHECK_EQ(puppet_hear(&q.second), WEIR_OK);
	end_queue(&q);
}

TEST(c38_deaths_during_a_pause)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	struct puppet holder = puppet_at(name, 1), other = puppet_at(name, 1);
	struct puppet waiter = puppet_at(name, 1);

	CHECK_EQ(puppet_do(&holder, PUPPET_ACQUIRE, 1), WEIR_OK);
	CHECK_OK(weir_named_pause(sem));
	puppet_tell(&other, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 1);
	puppet_tell(&waiter, PUPPET_ACQUIRE, 1, 0, NULL);
	AWAIT(look_at(sem).waiters == 2);
	/* The permit of the dead holder is free, and is not granted. */
	puppet_kill(&holder);
	AWAIT(look_at(sem).free == 1);
	puppet_kill(&other);
	AWAIT(look_at(sem).waiters == 1);
	CHECK_EQ(look_at(sem).free, 1);
	CHECK_OK(weir_named_resume(sem));
	CHECK_EQ(puppet_hear(&waiter), WEIR_OK);
	puppet_end(&waiter);
	close_named(sem);
}

TEST(a_pause_outlives_its_handle)
{
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1), *other = open_named(name, 1);

	CHECK_OK(weir_named_pause(other));
	close_named(other);
	CHECK(look_at(sem).paused);
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_EAGAIN);
	close_named(sem);
}

TEST(c19_a_close_ends_a_pause)
{
	struct queue q = paused_queue(1), other = paused_queue(1);

	weir_named_close(q.sem, WEIR_CLOSE_NOW);
	CHECK_EQ(puppet_hear(&q.first), WEIR_ECLOSED);
	CHECK_EQ(puppet_hear(&q.second), WEIR_ECLOSED);
	CHECK(look_at(q.sem).closed);
	CHECK(!look_at(q.sem).paused);
	CHECK_ERR(weir_named_pause(q.sem), WEIR_ECLOSED);
	CHECK_ERR(weir_named_resume(q.sem), WEIR_ECLOSED);
	end_queue(&q);
	/* A drain grants to the waiters that fit. */
	weir_named_close(other.sem, WEIR_CLOSE_DRAIN);
	CHECK_EQ(puppet_hear(&other.first), WEIR_OK);
	CHECK_EQ(puppet_hear(&other.second), WEIR_ECLOSED);
	end_queue(&other);
}

TEST(c16_a_cancel_during_a_pause)
{
	weir_named *sem = open_named(fresh_name(), 1);
	weir_ctx ctx;

	CHECK_OK(weir_named_pause(sem));
	CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(1000000)));
	CHECK_ERR(weir_named_acquire(sem, 1, &ctx), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_EQ(look_at(sem).waiters, 0);
	close_named(sem);
}

TEST(misuse)
{
	CHECK_ERR(weir_named_pause(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_named_resume(NULL), WEIR_EINVAL);
}
