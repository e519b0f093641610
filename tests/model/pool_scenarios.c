/* SPDX-License-Identifier: MIT */
/* Pools: a resource is lent to one borrower at a time and destroyed once. */
#include "pattern_scenario.h"
#include "weir/pool.h"

static weir_pool pool;
static weir_pool_item items[2];
static weir_ctx ctx;
static int created, destroyed, lent[16], refuse;
static uint64_t resources[16];

/* weir_now_ns lets other threads run in the middle of a callback. */
static weir_err create(void *user, struct weir_ctx *until, void **resource)
{
	(void)user;
	(void)until;
	EX_ASSERT(created - destroyed < pool.opts_.max);
	created++;
	(void)weir_now_ns();
	if (refuse) {
		refuse--;
		destroyed++;
		return WEIR_ESYSTEM;
	}
	*resource = &resources[created];
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	(void)user;
	ex_touch(resource, sizeof(resources[0]), true);
	EX_ASSERT(++*(uint64_t *)resource == 1);
	(void)weir_now_ns();
	destroyed++;
}

static void reset(int64_t max)
{
	EX_ASSERT(weir_pool_init(&pool, items, &(weir_pool_opts){
		.max = max, .create = create, .destroy = destroy }) == WEIR_OK);
	EX_ASSERT(weir_ctx_init(&ctx, NULL, WEIR_FOREVER) == WEIR_OK);
}

static void of_one(void)
{
	reset(1);
}

static void of_two(void)
{
	reset(2);
}

static void adds_up(void)
{
	weir_pool_info info;

	check_calm(&pool.permits_);
	EX_ASSERT(weir_pool_stat(&pool, &info) == WEIR_OK);
	EX_ASSERT(info.lent == 0);
	EX_ASSERT(info.created - info.destroyed == info.idle);
	EX_ASSERT(created - destroyed == info.idle);
	EX_ASSERT(weir_sem_available(&pool.permits_) == pool.opts_.max);
}

/* And every resource has been destroyed. */
static void all_destroyed(void)
{
	adds_up();
	EX_ASSERT(created == destroyed);
}

static void use(weir_pool_item *item)
{
	int which = (int)((uint64_t *)item->resource - resources);

	EX_ASSERT(lent[which]++ == 0);
	ex_touch(item->resource, sizeof(resources[0]), true);
	EX_ASSERT(*(uint64_t *)item->resource == 0);
	EX_ASSERT(--lent[which] == 0);
}

static void borrow(void)
{
	weir_pool_item *item;

	EX_ASSERT(weir_pool_borrow(&pool, NULL, NULL, &item) == WEIR_OK);
	use(item);
	weir_pool_give_back(&pool, item);
}

static void borrow_and_break(void)
{
	weir_pool_item *item;

	EX_ASSERT(weir_pool_borrow(&pool, NULL, NULL, &item) == WEIR_OK);
	use(item);
	weir_pool_discard(&pool, item);
}

/* Three borrowers share one resource, or two of which one is discarded. */
SCENARIO(pool_of_one, 2, of_one, adds_up, borrow, borrow, borrow)
SCENARIO(pool_of_two, 2, of_two, adds_up, borrow, borrow, borrow_and_break)

static void borrow_or_refused(void)
{
	weir_pool_item *item;
	weir_err err = weir_pool_borrow(&pool, NULL, NULL, &item);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ESYSTEM);
	if (!err) {
		use(item);
		weir_pool_give_back(&pool, item);
	}
}

static void of_one_refused(void)
{
	of_one();
	refuse = 1;
}

/* C7: after a failed create the next borrower creates. */
SCENARIO(pool_create_fails, 2, of_one_refused, adds_up, borrow_or_refused,
	 borrow_or_refused)

static void borrow_ctx(void)
{
	weir_pool_item *item;
	weir_err err = weir_pool_borrow(&pool, NULL, &ctx, &item);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECANCELED);
	if (!err) {
		use(item);
		weir_pool_give_back(&pool, item);
	}
}

static void cancel(void)
{
	weir_ctx_cancel(&ctx);
}

/* C13: a borrow is cancelled while it waits or while it creates. */
SCENARIO(pool_cancel, 2, of_one, adds_up, borrow_ctx, borrow, cancel)

static void borrow_or_closed(void)
{
	weir_pool_item *item;
	weir_err err = weir_pool_borrow(&pool, NULL, NULL, &item);

	EX_ASSERT(err == WEIR_OK || err == WEIR_ECLOSED);
	if (!err) {
		use(item);
		weir_pool_give_back(&pool, item);
	}
}

static void close_and_wait(void)
{
	weir_pool_close(&pool);
	EX_ASSERT(weir_pool_wait_idle(&pool, NULL) == WEIR_OK);
	/* C20: all resources have been given back and destroyed. */
	EX_ASSERT(created == destroyed);
}

static void one_idle_of_two(void)
{
	of_two();
	borrow();
}

/* C19, C20: a close meets borrowers and an idle resource. */
SCENARIO(pool_close, 2, of_one, all_destroyed, borrow_or_closed,
	 borrow_or_closed, close_and_wait)
SCENARIO(pool_close_idle, 2, one_idle_of_two, all_destroyed, borrow_or_closed,
	 borrow_or_closed, close_and_wait)

static void idle_for_too_long(void)
{
	EX_ASSERT(weir_pool_init(&pool, items, &(weir_pool_opts){
		.max = 1, .create = create, .destroy = destroy,
		.idle_ns = 1 }) == WEIR_OK);
	borrow();
	ex_clock_advance(10);
}

static void trim(void)
{
	EX_ASSERT(weir_pool_trim(&pool) <= 1);
}

/* A trim destroys the idle resource that a borrower is about to take. */
SCENARIO(pool_trim_meets_borrow, 3, idle_for_too_long, adds_up, trim, borrow)
SCENARIO(pool_trim_meets_close, 2, idle_for_too_long, all_destroyed, trim,
	 close_and_wait, borrow_or_closed)

static void try_borrow(void)
{
	weir_pool_item *item;

	EX_ASSERT(weir_pool_try_borrow(&pool, NULL, &item) == WEIR_OK);
	use(item);
	weir_pool_give_back(&pool, item);
}

static void borrow_and_try(void)
{
	borrow();
	try_borrow();
}

static void idle_for_long(void)
{
	EX_ASSERT(weir_pool_init(&pool, items, &(weir_pool_opts){
		.max = 1, .create = create, .destroy = destroy,
		.idle_ns = 1000000 }) == WEIR_OK);
	borrow();
}

static void idle_for_too_long_by_far(void)
{
	idle_for_long();
	ex_clock_advance(1000000);
}

/* C5: a trim that destroys nothing takes no permit from a try_borrow. */
SCENARIO(pool_trim_meets_try, 3, idle_for_long, adds_up, trim, try_borrow)
SCENARIO(pool_trim_finds_nothing, 3, idle_for_too_long_by_far, adds_up, trim,
	 borrow_and_try)
