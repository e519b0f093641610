/* SPDX-License-Identifier: MIT */
/*
 * The call sites of patterns are those of the user: each call is made in a function
 * of its own, and the recorded site is in this function.
 */
#include "check.h"
#include "look.h"
#include "weir/group.h"
#include "weir/permit.h"
#include "weir/multi.h"
#include "weir/pool.h"
#include "weir/pool_async.h"
#include "weir/rate.h"
#include "weir/rwlock.h"

/* A function that ends with a call would jump to it. */
#define HERE __attribute__((noinline)) static void
#define END __asm__ volatile("")

/* More than the size of a function below. */
#define REACH 1024u

static bool is_in(uint64_t site, void (*function)(void))
{
	return site - (uintptr_t)function < REACH;
}

/* The only slot with permits of the semaphore has a site in the function. */
static bool is_held_in(const weir_sem *sem, void (*function)(void))
{
	return slots_with(sem) == 1 &&
	       /* relaxed: another thread has written it. */
	       is_in(at_load_relaxed(&slot_with(sem)->site), function);
}

/*
 * Permits.
 */
static weir_sem sem;
static weir_permit permit;

HERE permit_acquire(void)
{
	CHECK_OK(weir_permit_acquire(&permit, &sem, 1, NULL));
	END;
}

HERE permit_acquire_until(void)
{
	CHECK_OK(weir_permit_acquire_until(&permit, &sem, 1, 0));
	END;
}

HERE permit_try_acquire(void)
{
	CHECK_OK(weir_permit_try_acquire(&permit, &sem, 1));
	END;
}

TEST(c48_a_permit_has_the_site_of_its_acquire)
{
	static void (*const calls[])(void) = { permit_acquire, permit_acquire,
					       permit_acquire_until,
					       permit_try_acquire };

	watch(&sem, 1, "permits");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		calls[i]();
		if (SITES_ARE_EXACT)
			CHECK(is_held_in(&sem, calls[i]));
		weir_permit_release(&permit);
	}
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * Pools.
 */
static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	(void)ctx;
	*resource = user;
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	(void)resource;
}

static weir_pool pool;
static weir_pool_item *item;
static weir_pool_op op;

HERE borrow(void)
{
	CHECK_OK(weir_pool_borrow(&pool, "test", NULL, &item));
	END;
}

HERE borrow_until(void)
{
	CHECK_OK(weir_pool_borrow_until(&pool, "test", 0, &item));
	END;
}

HERE try_borrow(void)
{
	CHECK_OK(weir_pool_try_borrow(&pool, "test", &item));
	END;
}

HERE borrow_at_once(void)
{
	CHECK_OK(weir_pool_op_borrow(&op, &pool, "test", NULL, &item));
	END;
}

HERE submit(void)
{
	weir_pool_item *none;

	CHECK_ERR(weir_pool_op_borrow(&op, &pool, "test", NULL, &none),
		  WEIR_EQUEUED);
	END;
}

static void lent(weir_pool_op *lent_by, weir_err err, weir_pool_item *got,
		 void *user)
{
	(void)lent_by;
	(void)user;
	CHECK_OK(err);
	item = got;
}

TEST(c48_a_loan_has_the_site_of_its_borrower)
{
	static void (*const calls[])(void) = { borrow, borrow, borrow_until,
					       try_borrow, borrow_at_once,
					       borrow };
	const weir_pool_opts opts = { .max = 1, .name = "db", .create = create,
				      .destroy = destroy };
	struct rg_wait wait;

	CHECK_OK(weir_pool_init(&pool, NULL, &opts));
	weir_pool_op_init(&op, NULL, lent, NULL);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		calls[i]();
		CHECK(is_held_in(&pool.permits_, calls[i]));
		weir_pool_give_back(&pool, item);
	}
	/* The second borrow at one site takes the fast path. */
	borrow();
	CHECK(is_last(&pool.permits_));
	CHECK_EQ(acquires_of(&pool.permits_), 7);
	submit();
	CHECK_EQ(waits_on(&pool.permits_, &wait), 1);
	CHECK(is_in(wait.site, submit));
	weir_pool_give_back(&pool, item);
	weir_pool_give_back(&pool, item);
	CHECK_OK(weir_pool_destroy(&pool));
}

/* A callback of the pool has sites of its own. */
static weir_sem inner;

HERE take_inner(void)
{
	CHECK_OK(weir_sem_acquire(&inner, 1, NULL));
	END;
}

static weir_err create_with_inner(void *user, struct weir_ctx *ctx,
				  void **resource)
{
	(void)ctx;
	*resource = user;
	take_inner();
	return WEIR_OK;
}

TEST(a_callback_does_not_have_the_site_of_the_borrower)
{
	const weir_pool_opts opts = { .max = 1, .name = "db",
				      .create = create_with_inner,
				      .destroy = destroy };

	watch(&inner, 1, "inner");
	CHECK_OK(weir_pool_init(&pool, NULL, &opts));
	borrow();
	CHECK(is_held_in(&pool.permits_, borrow));
	CHECK(!is_held_in(&inner, borrow));
	if (SITES_ARE_EXACT)
		CHECK(is_held_in(&inner, take_inner));
	weir_sem_release(&inner, 1);
	weir_pool_give_back(&pool, item);
	CHECK_OK(weir_pool_destroy(&pool));
	CHECK_OK(weir_sem_destroy(&inner));
}

/*
 * Reader-writer locks.
 */
static weir_rwlock rw;

HERE read_lock(void)
{
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	END;
}

HERE write_until(void)
{
	CHECK_OK(weir_rwlock_write_until(&rw, 0));
	END;
}

HERE try_read(void)
{
	CHECK_OK(weir_rwlock_try_read(&rw));
	END;
}

HERE try_write(void)
{
	CHECK_OK(weir_rwlock_try_write(&rw));
	END;
}

/* max_waiters: the calls that wait try first. */
static void check_rwlock(uint32_t max_waiters)
{
	const weir_rwlock_opts opts = { .name = "table",
					.max_waiters = max_waiters };

	CHECK_OK(weir_rwlock_init(&rw, &opts));
	read_lock();
	if (SITES_ARE_EXACT)
		CHECK(is_held_in(&rw.inside_, read_lock));
	weir_rwlock_read_done(&rw);
	write_until();
	if (SITES_ARE_EXACT)
		CHECK(is_held_in(&rw.inside_, write_until));
	weir_rwlock_write_done(&rw);
	try_read();
	CHECK(is_held_in(&rw.inside_, try_read));
	weir_rwlock_read_done(&rw);
	try_write();
	CHECK(is_held_in(&rw.inside_, try_write));
	weir_rwlock_write_done(&rw);
	CHECK_OK(weir_rwlock_destroy(&rw));
}

TEST(c48_a_lock_has_the_site_of_its_caller)
{
	check_rwlock(0);
	check_rwlock(1);
}

/*
 * Several semaphores.
 */
static const weir_req several[] = { { &sem, 1 } };
static weir_set set;
static weir_all all;

HERE acquire_all(void)
{
	CHECK_OK(weir_acquire_all(several, 1, NULL));
	END;
}

HERE set_acquire(void)
{
	CHECK_OK(weir_set_acquire(&set, several, 1, NULL));
	END;
}

HERE submit_all(void)
{
	CHECK_OK(weir_all_submit(&all, several, 1, NULL));
	END;
}

static void never(weir_all *unused, weir_err err, void *user)
{
	(void)unused;
	(void)err;
	(void)user;
}

TEST(c48_several_semaphores_have_the_site_of_their_caller)
{
	watch(&sem, 1, "several");
	acquire_all();
	CHECK(is_held_in(&sem, acquire_all));
	weir_release_all(several, 1);
	set_acquire();
	CHECK(is_held_in(&sem, set_acquire));
	weir_set_release(&set);
	weir_all_init(&all, NULL, never, NULL);
	submit_all();
	CHECK(is_held_in(&sem, submit_all));
	weir_release_all(several, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

static weir_sem row[3];
static const weir_req of_row[] = { { &row[0], 1 }, { &row[1], 1 },
				   { &row[2], 1 } };

/* Before submit_row: is_in() takes the code behind a function for a part of it. */
HERE hold_row(int i)
{
	CHECK_OK(weir_sem_acquire(&row[i], 1, NULL));
	END;
}

HERE submit_row(void)
{
	CHECK_ERR(weir_all_submit(&all, of_row, 3, NULL), WEIR_EQUEUED);
	END;
}

/*
 * Also what the library acquires in its callback, after a wait.  The releases run
 * the callback: the permit that they give back is not that of the request.
 */
TEST(c48_a_request_that_goes_on_has_the_site_of_its_caller)
{
	struct rg_wait wait;

	for (int i = 0; i < 3; i++)
		watch(&row[i], 1, "row");
	hold_row(0);
	hold_row(2);
	weir_all_init(&all, NULL, never, NULL);
	submit_row();
	CHECK_EQ(waits_on(&row[0], &wait), 1);
	CHECK(is_in(wait.site, submit_row));
	weir_sem_release(&row[0], 1);
	CHECK(is_held_in(&row[0], submit_row));
	CHECK(is_held_in(&row[1], submit_row));
	CHECK_EQ(waits_on(&row[2], &wait), 1);
	CHECK(is_in(wait.site, submit_row));
	weir_sem_release(&row[2], 1);
	CHECK(is_held_in(&row[2], submit_row));
	weir_release_all(of_row, 3);
	for (int i = 0; i < 3; i++)
		CHECK_OK(weir_sem_destroy(&row[i]));
}

/*
 * Groups.
 */
static weir_group group;
static weir_sem go;

static weir_err task(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return weir_sem_acquire(&go, 1, NULL);
}

HERE spawn(void)
{
	CHECK_OK(weir_group_spawn(&group, task, NULL, 1, NULL));
	END;
}

TEST(c48_a_task_has_the_site_of_its_spawn)
{
	const weir_group_opts opts = { .workers = 1, .name = "tasks" };

	CHECK_OK(weir_sem_init_opts(&go, &(weir_sem_opts){ .capacity = 1 }));
	CHECK_OK(weir_group_init(&group, &opts));
	spawn();
	AWAIT(slots_with(&group.permits_) == 1);
	CHECK(is_held_in(&group.permits_, spawn));
	weir_sem_release(&go, 1);
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
	weir_group_end(&group);
	CHECK_OK(weir_sem_destroy(&go));
}

static void *spawning(void *unused)
{
	(void)unused;
	spawn();
	return NULL;
}

TEST(c48_a_spawn_that_waits_for_room_has_the_site_of_its_caller)
{
	const weir_group_opts opts = { .workers = 1, .backlog = 1,
				       .name = "tasks" };
	check_thread spawner;
	struct rg_wait wait;

	CHECK_OK(weir_sem_init_opts(&go, &(weir_sem_opts){ .capacity = 3 }));
	CHECK_OK(weir_group_init(&group, &opts));
	spawn();
	AWAIT(slots_with(&group.permits_) == 1);
	spawn();
	spawner = start(spawning, NULL);
	AWAIT(waits_on(&group.permits_, &wait) == 1);
	CHECK(is_in(wait.site, spawn));
	CHECK_EQ(wait.flags, RG_ROOM);
	CHECK_EQ(wait.max, 0);
	weir_sem_release(&go, 3);
	finish(spawner);
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
	CHECK_EQ(object_of(&group.permits_)->queued, 0);
	weir_group_end(&group);
	CHECK_OK(weir_sem_destroy(&go));
}

/*
 * Rate limits.
 */
static weir_rate rate;

HERE wait_for_token(void)
{
	CHECK_ERR(weir_rate_acquire(&rate, 1, NULL), WEIR_ECLOSED);
	END;
}

static void *waiting(void *unused)
{
	(void)unused;
	wait_for_token();
	return NULL;
}

TEST(c48_a_wait_for_a_token_has_the_site_of_its_caller)
{
	const weir_rate_opts opts = { .rate = 1, .name = "mail",
				      .period_ns = INT64_C(3600000000000) };
	check_thread head, next;
	struct rg_wait wait;

	CHECK_OK(weir_rate_init(&rate, &opts));
	CHECK_OK(weir_rate_acquire(&rate, 1, NULL));
	head = start(waiting, NULL);
	AWAIT(slots_with(&rate.gate_) == 1);
	CHECK(is_held_in(&rate.gate_, wait_for_token));
	next = start(waiting, NULL);
	AWAIT(waits_on(&rate.gate_, &wait) == 1);
	CHECK(is_in(wait.site, wait_for_token));
	weir_rate_close(&rate);
	finish(head);
	finish(next);
	CHECK_OK(weir_rate_destroy(&rate));
}
