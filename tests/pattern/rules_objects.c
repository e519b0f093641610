/* SPDX-License-Identifier: MIT */
/* The objects of rules.c: how each is set up, occupied, used and destroyed. */
#include "rules.h"

#include "check.h"
#include "weir/adaptive.h"
#include "weir/breaker.h"
#include "weir/chan.h"
#include "weir/group.h"
#include "weir/limits.h"
#include "weir/pool.h"
#include "weir/rate.h"
#include "weir/rwlock.h"
#include "weir/sharded.h"

#define HOUR INT64_C(3600000000000)

weir_ctx stop;

/* The semaphore, also below the adaptive limit. */
static weir_sem sem;
static void sem_init(void)
{
	CHECK_OK(weir_sem_init_opts(&sem, &(weir_sem_opts){
		.permits = 1, .name = "harbour" }));
}
static void sem_occupy(void) { CHECK_OK(weir_sem_try_acquire(&sem, 1)); }
static void sem_vacate(void) { weir_sem_release(&sem, 1); }
static weir_err sem_enter(void) { return weir_sem_acquire(&sem, 1, &stop); }
static weir_err sem_use(void) { return weir_sem_resize(&sem, 1, NULL); }
static void sem_close(void) { weir_sem_close(&sem, WEIR_CLOSE_NOW); }
static weir_err sem_destroy(void) { return weir_sem_destroy(&sem); }

static weir_ctx ctx;
static void nothing(void) { }
static void ctx_init(void)
{
	CHECK_OK(weir_ctx_init(&ctx, &stop, WEIR_FOREVER));
}
static weir_err ctx_enter(void) { return weir_ctx_wait(&ctx, WEIR_FOREVER); }
static weir_err ctx_use(void) { return weir_ctx_err(&ctx); }
static weir_err ctx_destroy(void) { return weir_ctx_destroy(&ctx); }

static weir_rwlock rw;
static void rw_init(void)
{
	CHECK_OK(weir_rwlock_init(&rw, &(weir_rwlock_opts){
		.name = "harbour" }));
}
static void rw_occupy(void) { CHECK_OK(weir_rwlock_try_write(&rw)); }
static void rw_vacate(void) { weir_rwlock_write_done(&rw); }
static weir_err rw_enter(void) { return weir_rwlock_read(&rw, &stop); }
static weir_err rw_use(void)
{
	weir_err err = weir_rwlock_try_read(&rw);

	if (!err)
		weir_rwlock_read_done(&rw);
	return err == WEIR_EAGAIN ? WEIR_OK : err;
}
static void rw_close(void) { weir_rwlock_close(&rw); }
static weir_err rw_destroy(void) { return weir_rwlock_destroy(&rw); }

static weir_sharded sharded;
static void sharded_init(void)
{
	CHECK_OK(weir_sharded_init(&sharded, &(weir_sharded_opts){
		.capacity = 1, .name = "harbour" }));
}
static void sharded_occupy(void)
{
	CHECK_OK(weir_sharded_try_acquire(&sharded, 1));
}
static void sharded_vacate(void) { weir_sharded_release(&sharded, 1); }
static weir_err sharded_enter(void)
{
	return weir_sharded_acquire(&sharded, 1, &stop);
}
static weir_err sharded_use(void)
{
	return weir_sharded_resize(&sharded, 1, NULL);
}
static void sharded_close(void) { weir_sharded_close(&sharded, WEIR_CLOSE_NOW); }
static weir_err sharded_destroy(void) { return weir_sharded_destroy(&sharded); }

static weir_chan chan;
static int item;
static void chan_init(void)
{
	CHECK_OK(weir_chan_init(&chan, NULL, 1, sizeof(item)));
}
static void chan_occupy(void) { CHECK_OK(weir_chan_try_send(&chan, &item)); }
static void chan_vacate(void) { CHECK_OK(weir_chan_try_recv(&chan, &item)); }
static weir_err chan_enter(void) { return weir_chan_send(&chan, &item, &stop); }
static weir_err chan_use(void)
{
	size_t sent;

	return weir_chan_send_many(&chan, NULL, 0, NULL, &sent);
}
static void chan_close(void) { weir_chan_close(&chan); }
static weir_err chan_destroy(void) { return weir_chan_destroy(&chan); }

static weir_pool pool;
static weir_pool_item *lent;
static weir_err make(void *user, weir_ctx *c, void **resource)
{
	(void)user;
	(void)c;
	*resource = &pool;
	return WEIR_OK;
}
static void unmake(void *user, void *resource)
{
	(void)user;
	(void)resource;
}
static void pool_init(void)
{
	CHECK_OK(weir_pool_init(&pool, NULL, &(weir_pool_opts){
		.max = 1, .create = make, .destroy = unmake,
		.name = "harbour" }));
}
static void pool_occupy(void)
{
	CHECK_OK(weir_pool_try_borrow(&pool, NULL, &lent));
}
static void pool_vacate(void) { weir_pool_give_back(&pool, lent); }
static weir_err pool_enter(void)
{
	weir_pool_item *one;

	return weir_pool_borrow(&pool, NULL, &stop, &one);
}
static weir_err pool_use(void)
{
	weir_pool_item *one;
	weir_err err = weir_pool_try_borrow(&pool, NULL, &one);

	if (!err)
		weir_pool_give_back(&pool, one);
	return err == WEIR_EAGAIN ? WEIR_OK : err;
}
static void pool_close(void) { weir_pool_close(&pool); }
static weir_err pool_destroy(void) { return weir_pool_destroy(&pool); }

static const weir_rate_opts slow = { .rate = 1, .period_ns = HOUR,
				     .name = "harbour" };
static weir_rate rate;
static void rate_init(void) { CHECK_OK(weir_rate_init(&rate, &slow)); }
static void rate_occupy(void) { CHECK_OK(weir_rate_try_acquire(&rate, 1)); }
static weir_err rate_enter(void) { return weir_rate_acquire(&rate, 1, &stop); }
static weir_err rate_use(void) { return weir_rate_try_acquire(&rate, 0); }
static void rate_close(void) { weir_rate_close(&rate); }
static weir_err rate_destroy(void) { return weir_rate_destroy(&rate); }

static weir_keyed keyed;
static void keyed_init(void)
{
	CHECK_OK(weir_keyed_init(&keyed, NULL, 4, &slow));
}
static void keyed_occupy(void)
{
	CHECK_OK(weir_keyed_try_acquire(&keyed, "a", 1, 1));
}
static weir_err keyed_enter(void)
{
	return weir_keyed_acquire(&keyed, "a", 1, 1, &stop);
}
static weir_err keyed_use(void)
{
	return weir_keyed_try_acquire(&keyed, "b", 1, 0);
}
static void keyed_close(void) { weir_keyed_close(&keyed); }
static weir_err keyed_destroy(void) { return weir_keyed_destroy(&keyed); }

static weir_group group;
static weir_sem go = WEIR_SEM_INIT_UNBOUNDED(0);
static weir_err task(void *arg, weir_ctx *c)
{
	(void)arg;
	return weir_sem_acquire(&go, 1, c);
}
static void group_init(void)
{
	CHECK_OK(weir_group_init(&group, &(weir_group_opts){
		.workers = 1, .name = "harbour" }));
}
static void group_occupy(void)
{
	CHECK_OK(weir_group_spawn(&group, task, NULL, 1, NULL));
}
static weir_err group_enter(void)
{
	return weir_group_wait(&group, &stop, NULL);
}
static void group_vacate(void)
{
	weir_sem_release(&go, 1);
	CHECK_OK(weir_group_wait(&group, NULL, NULL));
}
static weir_err group_use(void)
{
	weir_err err = weir_group_try_spawn(&group, task, NULL, 1);

	if (!err)
		group_vacate();
	return err;
}
static void group_close(void) { weir_group_close(&group); }
static weir_err group_destroy(void) { return weir_group_destroy(&group); }

static weir_limits limits;
static weir_sem *limit;
static void limits_init(void)
{
	static const char text[] = "[harbour]\ncapacity = 1\n";

	CHECK_OK(weir_limits_init(&limits, 4));
	CHECK_OK(weir_limits_load_text(&limits, text, strlen(text), NULL));
	limit = weir_limits_find(&limits, "harbour");
}
static void limits_occupy(void) { CHECK_OK(weir_sem_try_acquire(limit, 1)); }
static void limits_vacate(void) { weir_sem_release(limit, 1); }
static weir_err limits_enter(void) { return weir_sem_acquire(limit, 1, &stop); }
static weir_err limits_use(void)
{
	return weir_limits_load_text(&limits, "", 0, NULL);
}
static weir_err limits_destroy(void) { return weir_limits_destroy(&limits); }

static weir_adaptive adaptive;
static void adaptive_init(void)
{
	sem_init();
	CHECK_OK(weir_adaptive_init(&adaptive, &sem, &(weir_adaptive_opts){
		.initial = 1, .max = 1 }));
}
static weir_err adaptive_enter(void)
{
	int64_t began;

	return weir_adaptive_acquire(&adaptive, &stop, &began);
}
static weir_err adaptive_use(void)
{
	weir_adaptive_info info;

	return weir_adaptive_stat(&adaptive, &info);
}

static weir_breaker breaker;
static void breaker_init(void) { CHECK_OK(weir_breaker_init(&breaker, NULL)); }
static weir_err breaker_use(void)
{
	weir_breaker_pass pass;
	weir_err err = weir_breaker_enter(&breaker, &pass);

	if (!err)
		weir_breaker_leave(&breaker, pass, true);
	return err;
}

const struct object objects[] = {
	{ "weir_sem_", "semaphore", sem_init, sem_occupy, sem_enter, sem_vacate,
	  sem_use, sem_close, sem_destroy, WEIR_OK, true, true },
	{ "weir_ctx_", "context", ctx_init, nothing, ctx_enter, nothing,
	  ctx_use, NULL, ctx_destroy, WEIR_OK, false, false },
	{ "weir_rwlock_", "rwlock", rw_init, rw_occupy, rw_enter, rw_vacate,
	  rw_use, rw_close, rw_destroy, WEIR_EBUSY, true, true },
	{ "weir_sharded_", "sharded semaphore", sharded_init, sharded_occupy,
	  sharded_enter, sharded_vacate, sharded_use, sharded_close,
	  sharded_destroy, WEIR_EBUSY, true, true },
	{ "weir_chan_", "channel", chan_init, chan_occupy, chan_enter,
	  chan_vacate, chan_use, chan_close, chan_destroy, WEIR_OK, true,
	  true },
	{ "weir_pool_", "pool", pool_init, pool_occupy, pool_enter, pool_vacate,
	  pool_use, pool_close, pool_destroy, WEIR_EBUSY, true, true },
	{ "weir_rate_", "rate limit", rate_init, rate_occupy, rate_enter,
	  nothing, rate_use, rate_close, rate_destroy, WEIR_OK, true, true },
	{ "weir_keyed_", "keyed limit", keyed_init, keyed_occupy, keyed_enter,
	  nothing, keyed_use, keyed_close, keyed_destroy, WEIR_OK, true, true },
	{ "weir_group_", "group", group_init, group_occupy, group_enter,
	  group_vacate, group_use, group_close, group_destroy, WEIR_EBUSY,
	  false, false },
	{ "weir_limits_", "weir_limits", limits_init, limits_occupy,
	  limits_enter, limits_vacate, limits_use, NULL, limits_destroy,
	  WEIR_EBUSY, true, false },
	{ "weir_adaptive_", "adaptive limit", adaptive_init, sem_occupy,
	  adaptive_enter, sem_vacate, adaptive_use, NULL, NULL, WEIR_OK, true,
	  false },
	{ "weir_breaker_", "breaker", breaker_init, nothing, NULL, nothing,
	  breaker_use, NULL, NULL, WEIR_OK, true, false },
};

const size_t object_count = sizeof(objects) / sizeof(*objects);
