/* SPDX-License-Identifier: MIT */
/* Patterns are watched under their own names and types. */
#include "check.h"
#include "look.h"
#include "weir/chan.h"
#include "weir/diag.h"
#include "weir/group.h"
#include "weir/limits.h"
#include "weir/pool.h"
#include "weir/rate.h"
#include "weir/rwlock.h"

static weir_diag_object found[8];
static unsigned count;

static void note(const weir_diag_object *object, void *name)
{
	if (object->name && !strcmp(object->name, name))
		found[count++ % 8] = *object;
}

/* The only object with this name has this type. */
static const weir_diag_object *only(const char *name, weir_diag_type type)
{
	count = 0;
	CHECK_OK(weir_diag_each(note, (void *)(uintptr_t)name));
	CHECK_EQ(count, 1);
	CHECK_EQ(found[0].type, type);
	return &found[0];
}

static void none(const char *name)
{
	count = 0;
	CHECK_OK(weir_diag_each(note, (void *)(uintptr_t)name));
	CHECK_EQ(count, 0);
}

TEST(c48_a_read_lock_has_holders)
{
	const weir_rwlock_opts opts = { .name = "table" };
	weir_rwlock rw;

	CHECK_OK(weir_rwlock_init(&rw, &opts));
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->held, 0);
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->held, 1);
	CHECK_EQ(found[0].holders, 1);
	weir_rwlock_read_done(&rw);
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->held, 0);
	CHECK_OK(weir_rwlock_destroy(&rw));
	none("table");
}

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

TEST(c48_a_loan_is_held)
{
	const weir_pool_opts opts = { .max = 3, .name = "db", .create = create,
				      .destroy = destroy };
	weir_pool_item *item = NULL;
	weir_pool pool;

	CHECK_OK(weir_pool_init(&pool, NULL, &opts));
	CHECK_EQ(only("db", WEIR_DIAG_POOL)->capacity, 3);
	CHECK_OK(weir_pool_borrow(&pool, "test", NULL, &item));
	CHECK_EQ(only("db", WEIR_DIAG_POOL)->held, 1);
	weir_pool_give_back(&pool, item);
	CHECK_EQ(only("db", WEIR_DIAG_POOL)->held, 0);
	CHECK_OK(weir_pool_destroy(&pool));
	none("db");
}

TEST(a_group_a_rate_and_a_limit_have_their_types)
{
	const weir_group_opts group_opts = { .workers = 1, .name = "tasks" };
	const weir_rate_opts rate_opts = { .rate = 5, .name = "mail" };
	static const char text[] = "[writes]\ncapacity = 7\n";
	weir_group group;
	weir_limits limits;
	weir_rate rate;

	CHECK_OK(weir_group_init(&group, &group_opts));
	CHECK_OK(weir_rate_init(&rate, &rate_opts));
	CHECK_EQ(only("tasks", WEIR_DIAG_GROUP)->capacity, 1);
	(void)only("mail", WEIR_DIAG_RATE);
	weir_group_end(&group);
	CHECK_OK(weir_rate_destroy(&rate));
	none("tasks");
	none("mail");
	CHECK_OK(weir_limits_init(&limits, 4));
	CHECK_OK(weir_limits_load_text(&limits, text, strlen(text), NULL));
	CHECK_EQ(only("writes", WEIR_DIAG_LIMITS)->capacity, 7);
	CHECK_OK(weir_limits_destroy(&limits));
	none("writes");
}

/* A channel has no name: nothing of it is watched. */
TEST(a_channel_is_not_watched)
{
	weir_chan chan;

	CHECK_OK(weir_chan_init(&chan, NULL, 4, sizeof(int)));
	none("weir_chan");
	CHECK_OK(weir_chan_destroy(&chan));
}
