/* SPDX-License-Identifier: MIT */
/*
 * Scoped forms of read-write locks, loans and groups: they end once, on every
 * path out of their block.  tests/unit/ctx.c has those of contexts,
 * tests/permit those of permits.
 */
#include "check.h"
#include "weir/group.h"
#include "weir/pool.h"
#include "weir/rwlock.h"

static weir_rwlock rw = WEIR_RWLOCK_INIT;

static void check_lock(int64_t readers, bool writing)
{
	weir_rwlock_info info;

	CHECK_OK(weir_rwlock_stat(&rw, &info));
	CHECK_EQ(info.readers, readers);
	CHECK_EQ(info.writing, writing);
}

static weir_err return_inside(bool write)
{
	weir_err err;

	if (write)
		WEIR_WITH_WRITE(err, &rw, NULL) {
			check_lock(0, true);
			return WEIR_EFULL;
		}
	WEIR_WITH_READ(err, &rw, NULL) {
		check_lock(1, false);
		return WEIR_EOPEN;
	}
	return err;
}

TEST(rwlock_scopes)
{
	weir_ctx ended = WEIR_CTX_INIT;
	int ran = 0;
	weir_err err;

	WEIR_WITH_READ(err, &rw, NULL)
		WEIR_WITH_READ(err, &rw, NULL)
			check_lock(2, false);
	CHECK_OK(err);
	check_lock(0, false);
	WEIR_WITH_WRITE(err, &rw, NULL) {
		check_lock(0, true);
		break;
	}
	check_lock(0, false);
	CHECK_ERR(return_inside(true), WEIR_EFULL);
	CHECK_ERR(return_inside(false), WEIR_EOPEN);
	check_lock(0, false);
	weir_ctx_cancel(&ended);
	WEIR_WITH_WRITE(err, &rw, &ended)
		ran++;
	CHECK_ERR(err, WEIR_ECANCELED);
	WEIR_WITH_READ(err, &rw, &ended)
		ran++;
	CHECK_ERR(err, WEIR_ECANCELED);
	CHECK_EQ(ran, 0);
	check_lock(0, false);
	CHECK_OK(weir_ctx_destroy(&ended));
}

static int made, unmade;

static weir_err make(void *user, weir_ctx *ctx, void **resource)
{
	(void)user;
	(void)ctx;
	*resource = &made;
	made++;
	return WEIR_OK;
}

static void unmake(void *user, void *resource)
{
	(void)user;
	(void)resource;
	unmade++;
}

static int64_t lent(weir_pool *pool)
{
	weir_pool_info info;

	CHECK_OK(weir_pool_stat(pool, &info));
	return info.lent;
}

TEST(loan_scopes)
{
	weir_pool_opts opts = { .max = 1, .create = make, .destroy = unmake };
	weir_pool_item *item = NULL;
	weir_pool pool;
	weir_err err;

	CHECK_OK(weir_pool_init(&pool, NULL, &opts));
	WEIR_WITH_LOAN(err, item, &pool, "a", NULL) {
		CHECK(item->resource == &made);
		CHECK_EQ(lent(&pool), 1);
		/* The pool is empty now. */
		weir_pool_item *other;
		CHECK_ERR(weir_pool_try_borrow(&pool, "b", &other),
			  WEIR_EAGAIN);
		break;
	}
	CHECK_OK(err);
	CHECK_EQ(lent(&pool), 0);
	WEIR_WITH_LOAN(err, item, &pool, "c", NULL) {
		weir_pool_discard(&pool, item);
		item = NULL;
	}
	CHECK_EQ(lent(&pool), 0);
	CHECK_EQ(unmade, 1);
	weir_pool_close(&pool);
	WEIR_WITH_LOAN(err, item, &pool, "d", NULL)
		CHECK(false);
	CHECK_ERR(err, WEIR_ECLOSED);
	CHECK_OK(weir_pool_destroy(&pool));
}

static int ran;

static weir_err count(void *arg, weir_ctx *ctx)
{
	(void)ctx;
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
	return (weir_err)(intptr_t)arg;
}

static weir_err until_cancelled(void *arg, weir_ctx *ctx)
{
	(void)arg;
	return weir_ctx_wait(ctx, WEIR_FOREVER);
}

/* The result is the very value that the first failed task returned. */
TEST(group_scope_returns_the_tasks_own_value)
{
	weir_group_opts opts = { .workers = 1, .flags = WEIR_GROUP_FAIL_FAST };
	weir_err err;

	WEIR_WITH_GROUP(err, group, &opts)
		for (intptr_t i = 0; i < 3; i++)
			CHECK_OK(weir_group_spawn(&group, count, NULL, 1,
						  NULL));
	CHECK_OK(err);
	CHECK_EQ(ran, 3);
	WEIR_WITH_GROUP(err, group, &opts) {
		CHECK_OK(weir_group_spawn(&group, count, NULL, 1, NULL));
		CHECK_OK(weir_group_spawn(&group, count, (void *)4711, 1,
					  NULL));
		CHECK_OK(weir_group_spawn(&group, count, (void *)-99, 1, NULL));
	}
	CHECK_EQ(err, 4711);
	opts.workers = 0;
	WEIR_WITH_GROUP(err, group, &opts)
		CHECK(false);
	CHECK_ERR(err, WEIR_EINVAL);
}

static int leave_early(void)
{
	weir_group_opts opts = { .workers = 2 };
	weir_err err;

	WEIR_WITH_GROUP(err, group, &opts) {
		CHECK_OK(weir_group_spawn(&group, until_cancelled, NULL, 1,
					  NULL));
		return 7;
	}
	return err;
}

/* A block that is left early cancels its tasks and waits for them. */
TEST(group_scope_left_early)
{
	weir_group_opts opts = { .workers = 2 };
	weir_err err;

	CHECK_EQ(leave_early(), 7);
	WEIR_WITH_GROUP(err, group, &opts) {
		CHECK_OK(weir_group_spawn(&group, until_cancelled, NULL, 1,
					  NULL));
		break;
	}
	CHECK_OK(err);
	/* The end of the block overwrites err, and a break keeps it. */
	WEIR_WITH_GROUP(err, group, &opts) {
		err = weir_group_spawn(&group, count, NULL, 3, NULL);
		CHECK_ERR(err, WEIR_ETOOBIG);
	}
	CHECK_OK(err);
	WEIR_WITH_GROUP(err, group, &opts) {
		err = weir_group_spawn(&group, count, NULL, 3, NULL);
		if (err)
			break;
	}
	CHECK_ERR(err, WEIR_ETOOBIG);
}

/* A child of the group's context would outlive the scope. */
TEST(group_end_with_a_child)
{
	weir_group_opts opts = { .workers = 1, .name = "g" };
	weir_group group;
	weir_ctx child;

	CHECK_OK(weir_group_init(&group, &opts));
	CHECK_OK(weir_ctx_init(&child, &group.ctx_, WEIR_FOREVER));
	CHECK_PANICS("weir_group_end: group \"g\"", weir_group_end(&group));
	CHECK_OK(weir_ctx_destroy(&child));
	weir_group_end(&group);
}
