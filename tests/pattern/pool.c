/* SPDX-License-Identifier: MIT */
/* The pool: borrow, replace, expire, limits, leaks, shutdown. */
#include "check.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/pool.h"

/* Resources are numbers from 1; live[] marks those that exist. */
#define LIVES 4096

static struct maker {
	int made, ended, live[LIVES];
	int broken;		/* the resource that validate refuses */
	weir_err refuse;
	weir_ctx *cancel;	/* create cancels it */
} maker;

static weir_pool pool;

static weir_err create(void *user, struct weir_ctx *ctx, void **resource)
{
	struct maker *m = user;
	int number;

	(void)ctx;
	if (m->cancel)
		weir_ctx_cancel(m->cancel);
	if (m->refuse)
		return m->refuse;
	number = __atomic_add_fetch(&m->made, 1, __ATOMIC_RELAXED);
	m->live[number % LIVES] = 1;
	*resource = (void *)(intptr_t)number;
	return WEIR_OK;
}

static void destroy(void *user, void *resource)
{
	struct maker *m = user;

	CHECK_EQ(m->live[(intptr_t)resource % LIVES], 1);
	m->live[(intptr_t)resource % LIVES] = 0;
	__atomic_add_fetch(&m->ended, 1, __ATOMIC_RELAXED);
}

static bool validate(void *user, void *resource)
{
	const struct maker *m = user;

	return (intptr_t)resource != m->broken;
}

static weir_pool_opts opts_of(int64_t max)
{
	return (weir_pool_opts){ .max = max, .create = create,
				 .destroy = destroy, .validate = validate,
				 .user = &maker, .name = "pool" };
}

static void begin_with(weir_pool_opts opts)
{
	memset(&maker, 0, sizeof(maker));
	CHECK_OK(weir_pool_init(&pool, NULL, &opts));
}

static void begin(int64_t max)
{
	begin_with(opts_of(max));
}

static weir_pool_info info(void)
{
	weir_pool_info i;

	CHECK_OK(weir_pool_stat(&pool, &i));
	CHECK_EQ(i.created - i.destroyed, i.idle + i.lent);
	CHECK_EQ(i.created, maker.made);
	CHECK_EQ(i.destroyed, maker.ended);
	return i;
}

static void end(void)
{
	info();
	CHECK_OK(weir_pool_destroy(&pool));
	CHECK_EQ(maker.made, maker.ended);
}

static weir_pool_item *borrow(void)
{
	weir_pool_item *item = NULL;

	CHECK_OK(weir_pool_borrow(&pool, __func__, NULL, &item));
	CHECK_EQ(maker.live[(intptr_t)item->resource % LIVES], 1);
	return item;
}

static intptr_t number(const weir_pool_item *item)
{
	return (intptr_t)item->resource;
}

TEST(created_on_demand_and_the_latest_is_lent_first)
{
	weir_pool_item *a, *b, *c;

	begin(3);
	CHECK_EQ(info().created, 0);
	a = borrow();
	CHECK_EQ(number(a), 1);
	weir_pool_give_back(&pool, a);
	b = borrow();
	CHECK_EQ(number(b), 1);
	c = borrow();
	CHECK_EQ(number(c), 2);
	CHECK_EQ(info().lent, 2);
	weir_pool_give_back(&pool, b);
	weir_pool_give_back(&pool, c);
	CHECK_EQ(info().idle, 2);
	a = borrow();
	CHECK_EQ(number(a), 2);
	weir_pool_give_back(&pool, a);
	end();
}

TEST(never_more_than_max)
{
	weir_pool_item *items[3], *more = NULL;

	begin(3);
	for (int i = 0; i < 3; i++)
		items[i] = borrow();
	CHECK_ERR(weir_pool_try_borrow(&pool, "me", &more), WEIR_EAGAIN);
	CHECK_ERR(weir_pool_borrow_until(&pool, "me", 0, &more),
		  WEIR_ETIMEDOUT);
	CHECK(!more);
	CHECK_ERR(weir_pool_destroy(&pool), WEIR_EBUSY);
	for (int i = 0; i < 3; i++)
		weir_pool_give_back(&pool, items[i]);
	CHECK_OK(weir_pool_try_borrow(&pool, "me", &more));
	weir_pool_give_back(&pool, more);
	CHECK_EQ(info().created, 3);
	end();
}

TEST(broken_ones_are_replaced)
{
	weir_pool_item *item;

	begin(1);
	item = borrow();
	weir_pool_discard(&pool, item);
	CHECK_EQ(info().idle, 0);
	item = borrow();
	CHECK_EQ(number(item), 2);
	weir_pool_give_back(&pool, item);
	/* The resource is not valid when it would be lent again. */
	maker.broken = 2;
	item = borrow();
	CHECK_EQ(number(item), 3);
	weir_pool_give_back(&pool, item);
	CHECK_EQ(info().destroyed, 2);
	end();
}

TEST(create_that_fails_takes_nothing)
{
	weir_pool_item *item = NULL;

	begin(1);
	maker.refuse = WEIR_ESYSTEM;
	for (int i = 0; i < 3; i++)
		CHECK_ERR(weir_pool_borrow(&pool, NULL, NULL, &item),
			  WEIR_ESYSTEM);
	CHECK(!item);
	CHECK_EQ(info().failed, 3);
	maker.refuse = WEIR_OK;
	item = borrow();
	weir_pool_give_back(&pool, item);
	end();
}

/* Limits of a nanosecond, which have always passed. */
TEST(idle_and_old_ones_end)
{
	weir_pool_opts opts = opts_of(3);
	weir_pool_item *items[3], *item;
	int64_t then;

	opts.idle_ns = 1;
	begin_with(opts);
	for (int i = 0; i < 3; i++)
		items[i] = borrow();
	for (int i = 0; i < 3; i++)
		weir_pool_give_back(&pool, items[i]);
	then = weir_now_ns();
	AWAIT(weir_now_ns() > then + 1);
	CHECK_EQ(info().idle, 3);
	CHECK_EQ(weir_pool_trim(&pool), 3);
	CHECK_EQ(weir_pool_trim(&pool), 0);
	CHECK_EQ(info().idle, 0);
	end();

	opts.idle_ns = 0;
	opts.lifetime_ns = 1;
	begin_with(opts);
	item = borrow();
	AWAIT(weir_now_ns() > item->made_ns_ + 1);
	weir_pool_give_back(&pool, item);
	CHECK_EQ(info().idle, 0);
	end();

	/* Limits that have not passed yet. */
	opts.idle_ns = opts.lifetime_ns = INT64_MAX;
	begin_with(opts);
	item = borrow();
	weir_pool_give_back(&pool, item);
	CHECK_EQ(weir_pool_trim(&pool), 0);
	CHECK_EQ(number(borrow()), 1);
	weir_pool_give_back(&pool, item);
	end();
}

TEST(leaks_have_a_name)
{
	weir_pool_item *a, *b;
	weir_pool_loan loans[2];
	size_t n;

	begin(3);
	CHECK_OK(weir_pool_loans(&pool, NULL, 0, &n));
	CHECK_EQ(n, 0);
	CHECK_EQ(info().oldest_loan_ns, 0);
	CHECK_OK(weir_pool_borrow(&pool, "the report", NULL, &a));
	b = borrow();
	CHECK_OK(weir_pool_loans(&pool, loans, 1, &n));
	CHECK_EQ(n, 2);
	CHECK_OK(weir_pool_loans(&pool, loans, 2, &n));
	CHECK_EQ(n, 2);
	for (int i = 0; i < 2; i++) {
		CHECK(!strcmp(loans[i].who,
			      loans[i].resource == a->resource ? "the report" :
								 "borrow"));
		CHECK(loans[i].thread == (uint64_t)(uintptr_t)pthread_self());
		CHECK(loans[i].since_ns <= weir_now_ns());
	}
	AWAIT(info().oldest_loan_ns > 0);
	weir_pool_give_back(&pool, a);
	weir_pool_give_back(&pool, b);
	end();
}

static void *borrow_one(void *arg)
{
	weir_pool_item *item = NULL;
	weir_err err = weir_pool_borrow(&pool, "thread", arg, &item);

	if (!err)
		weir_pool_give_back(&pool, item);
	return (void *)(intptr_t)err;
}

/* C13, also if the context ends while the resource is created. */
TEST(c13_ended_context_wins)
{
	weir_ctx ctx = WEIR_CTX_INIT, soon = WEIR_CTX_INIT;
	weir_pool_item *item, *none = NULL;
	check_thread thread;

	begin(1);
	item = borrow();
	thread = start(borrow_one, &ctx);
	AWAIT(info().waiters == 1);
	weir_ctx_cancel(&ctx);
	CHECK_EQ((intptr_t)finish(thread), WEIR_ECANCELED);
	CHECK_ERR(weir_pool_borrow(&pool, NULL, &ctx, &none), WEIR_ECANCELED);
	weir_pool_discard(&pool, item);
	maker.cancel = &soon;
	CHECK_ERR(weir_pool_borrow(&pool, NULL, &soon, &none), WEIR_ECANCELED);
	CHECK(!none);
	maker.cancel = NULL;
	/* The new resource is kept. */
	CHECK_EQ(info().idle, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_ctx_destroy(&soon));
	end();
}

/* Close with idle and lent items and with waiters; then wait for idle. */
TEST(c19_close_and_drain)
{
	weir_pool_item *a, *b, *none = NULL;
	weir_ctx past;
	check_thread threads[2];

	begin(2);
	a = borrow();
	b = borrow();
	for (int i = 0; i < 2; i++) {
		threads[i] = start(borrow_one, NULL);
		AWAIT(info().waiters == (uint32_t)i + 1);
	}
	weir_pool_close(&pool);
	weir_pool_close(&pool);
	for (int i = 0; i < 2; i++)
		CHECK_EQ((intptr_t)finish(threads[i]), WEIR_ECLOSED);
	CHECK(info().closed && info().lent == 2);
	CHECK_ERR(weir_pool_borrow(&pool, NULL, NULL, &none), WEIR_ECLOSED);
	CHECK_ERR(weir_pool_try_borrow(&pool, NULL, &none), WEIR_ECLOSED);
	CHECK_OK(weir_ctx_init(&past, NULL, 1));
	CHECK_ERR(weir_pool_wait_idle(&pool, &past), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&past));
	weir_pool_give_back(&pool, a);
	CHECK_EQ(maker.ended, 1);
	weir_pool_discard(&pool, b);
	CHECK_OK(weir_pool_wait_idle(&pool, NULL));
	CHECK_EQ(maker.ended, 2);
	end();

	begin(2);
	weir_pool_give_back(&pool, borrow());
	CHECK_EQ(info().idle, 1);
	weir_pool_close(&pool);
	CHECK_EQ(info().idle, 0);
	CHECK_EQ(weir_pool_trim(&pool), 0);
	end();
}

/*
 * The pool is closed while a validate runs, which then ends its thread.  The
 * close did not find the resource: it is destroyed nevertheless.
 */
static bool close_and_exit(void *user, void *resource)
{
	(void)user;
	(void)resource;
	weir_pool_close(&pool);
	pthread_exit(NULL);
}

TEST(c19_close_while_a_validate_is_left)
{
	weir_pool_opts opts = opts_of(2);

	opts.validate = close_and_exit;
	begin_with(opts);
	weir_pool_give_back(&pool, borrow());
	(void)finish(start(borrow_one, NULL));
	CHECK_OK(weir_pool_wait_idle(&pool, NULL));
	CHECK_EQ(maker.ended, 1);
	CHECK_EQ(info().idle, 0);
	end();
}

/*
 * Callbacks may call the pool: the last destroy calls stat, trim and
 * try_borrow.
 */
static weir_err last_try;

static void call_pool_and_destroy(void *user, void *resource)
{
	weir_pool_item *item;
	weir_pool_info i;

	CHECK_OK(weir_pool_stat(&pool, &i));
	CHECK_EQ(weir_pool_trim(&pool), 0);
	last_try = weir_pool_try_borrow(&pool, __func__, &item);
	destroy(user, resource);
}

TEST(c27_destroy_that_calls_the_pool)
{
	weir_pool_opts opts = opts_of(1);

	opts.destroy = call_pool_and_destroy;
	begin_with(opts);
	weir_pool_give_back(&pool, borrow());
	CHECK_OK(weir_pool_destroy(&pool));
	CHECK_ERR(last_try, WEIR_ECLOSED);
	CHECK_EQ(maker.made, 1);
	CHECK_EQ(maker.ended, 1);
}

/* Misuse panics, and leaves the pool unchanged. */
TEST(c34_twice_given_back_panics)
{
	weir_pool_item *item, other;

	begin(2);
	item = borrow();
	weir_pool_give_back(&pool, item);
	CHECK_PANICS("not lent by pool \"pool\"",
		     weir_pool_give_back(&pool, item));
	CHECK_PANICS("not lent by pool \"pool\"",
		     weir_pool_discard(&pool, item));
	CHECK_PANICS("not lent by pool \"pool\"",
		     weir_pool_give_back(&pool, NULL));
	memset(&other, 0, sizeof(other));
	CHECK_PANICS("not lent", weir_pool_give_back(&pool, &other));
	CHECK_EQ(info().idle, 1);
	CHECK_PANICS("is not a valid pool", weir_pool_give_back(NULL, item));
	end();
}

/*
 * An item that was discarded is lent again last, so a second discard does not
 * end the loan of the next borrower.
 */
TEST(c34_twice_discarded_panics)
{
	weir_pool_item *item, *next;

	begin(2);
	item = borrow();
	weir_pool_discard(&pool, item);
	next = borrow();
	CHECK_PANICS("weir_pool_discard: item", weir_pool_discard(&pool, item));
	CHECK_EQ(info().lent, 1);
	weir_pool_give_back(&pool, next);
	end();
}

TEST(bad_input)
{
	weir_pool_opts good = opts_of(1), opts;
	static weir_pool_item memory[1];
	weir_pool zeroed;
	weir_pool_item *item;
	weir_pool_info i;
	size_t n;

	memset(&zeroed, 0, sizeof(zeroed));
	CHECK_ERR(weir_pool_init(NULL, NULL, &good), WEIR_EINVAL);
	CHECK_ERR(weir_pool_init(&pool, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_pool_init(&pool, (char *)memory + 1, &good),
		  WEIR_EINVAL);
#define WITH(field, value)                                                     \
	(opts = good, opts.field = (value),                                    \
	 weir_pool_init(&pool, NULL, &opts))
	CHECK_ERR(WITH(max, 0), WEIR_EINVAL);
	CHECK_ERR(WITH(max, WEIR_POOL_MAX + 1), WEIR_EINVAL);
	CHECK_ERR(WITH(create, NULL), WEIR_EINVAL);
	CHECK_ERR(WITH(destroy, NULL), WEIR_EINVAL);
	CHECK_ERR(WITH(idle_ns, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(lifetime_ns, -1), WEIR_EINVAL);
	CHECK_ERR(WITH(flags, 1), WEIR_EINVAL);
	CHECK_ERR(WITH(reserved_[3], 1), WEIR_EINVAL);
	CHECK_ERR(weir_pool_borrow(&zeroed, NULL, NULL, &item), WEIR_EINVAL);
	CHECK_ERR(weir_pool_borrow_until(NULL, NULL, 0, &item), WEIR_EINVAL);
	CHECK_ERR(weir_pool_try_borrow(NULL, NULL, &item), WEIR_EINVAL);
	CHECK_ERR(weir_pool_destroy(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_pool_wait_idle(&zeroed, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_pool_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_ERR(weir_pool_loans(&zeroed, NULL, 0, &n), WEIR_EINVAL);
	CHECK_PANICS("weir_pool_close", weir_pool_close(&zeroed));
	CHECK_PANICS("weir_pool_trim", CHECK_EQ(weir_pool_trim(NULL), 0));
	memset(&maker, 0, sizeof(maker));
	CHECK_OK(weir_pool_init(&pool, memory, &good));
	CHECK_ERR(weir_pool_borrow(&pool, NULL, NULL, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_pool_loans(&pool, NULL, 1, &n), WEIR_EINVAL);
	CHECK_ERR(weir_pool_loans(&pool, NULL, 0, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_pool_stat(&pool, NULL), WEIR_EINVAL);
	end();
}

/*
 * All forms of borrow; each resource has one user at a time, and counts add up.
 */
static int in_use[LIVES];

static weir_err storm_create(void *user, struct weir_ctx *ctx, void **resource)
{
	struct maker *m = user;
	int n = __atomic_add_fetch(&m->made, 1, __ATOMIC_RELAXED);

	(void)ctx;
	if (n % 7 == 0) {
		__atomic_sub_fetch(&m->made, 1, __ATOMIC_RELAXED);
		return WEIR_ESYSTEM;
	}
	/* Each resource that exists has its own number. */
	for (intptr_t i = 1; i < LIVES; i++) {
		int free = 0;

		if (__atomic_compare_exchange_n(&m->live[i], &free, 1, 0,
						__ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			*resource = (void *)i;
			return WEIR_OK;
		}
	}
	check_fail(__FILE__, __LINE__, "no room for a resource");
}

static void storm_destroy(void *user, void *resource)
{
	struct maker *m = user;

	CHECK_EQ(__atomic_exchange_n(&m->live[(intptr_t)resource], 0,
				     __ATOMIC_ACQ_REL), 1);
	__atomic_add_fetch(&m->ended, 1, __ATOMIC_RELAXED);
}

static void *storm(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 1500 * check_scale(); i++) {
		int64_t deadline = weir_deadline_after(random_below(&seed, 20000));
		weir_pool_item *item = NULL;
		weir_err err;

		switch (random_below(&seed, 4)) {
		case 0:
			err = weir_pool_try_borrow(&pool, "try", &item);
			break;
		case 1:
			err = weir_pool_borrow_until(&pool, "until", deadline,
						     &item);
			break;
		case 2:
			weir_pool_trim(&pool);
			continue;
		default:
			err = weir_pool_borrow(&pool, "borrow", NULL, &item);
			break;
		}
		CHECK(err == WEIR_OK || err == WEIR_EAGAIN ||
		      err == WEIR_ETIMEDOUT || err == WEIR_ESYSTEM);
		if (err)
			continue;
		/* A plain access: no other thread may have the resource. */
		CHECK_EQ(in_use[(intptr_t)item->resource]++, 0);
		CHECK_EQ(--in_use[(intptr_t)item->resource], 0);
		if (random_below(&seed, 8))
			weir_pool_give_back(&pool, item);
		else
			weir_pool_discard(&pool, item);
	}
	return NULL;
}

TEST(storm_adds_up)
{
	weir_pool_opts opts = { .max = 3, .create = storm_create,
				.destroy = storm_destroy, .user = &maker,
				.idle_ns = 100000 };
	check_thread threads[5];

	begin_with(opts);
	for (uintptr_t i = 0; i < 5; i++)
		threads[i] = start(storm, (void *)i);
	for (int i = 0; i < 5; i++)
		finish(threads[i]);
	weir_pool_close(&pool);
	CHECK_OK(weir_pool_wait_idle(&pool, NULL));
	CHECK_EQ(info().lent, 0);
	CHECK_EQ(info().idle, 0);
	CHECK(info().created > 3 && info().failed > 0);
	end();
}

static int acquired;

static void stat_in_the_hook(const weir_diag_event *event)
{
	weir_pool_info info;

	if (event->kind != WEIR_DIAG_ACQUIRED)
		return;
	CHECK_OK(weir_pool_stat(&pool, &info));
	acquired++;
}

static void *wait_idle(void *unused)
{
	(void)unused;
	CHECK_OK(weir_pool_wait_idle(&pool, NULL));
	return NULL;
}

/*
 * The event hook runs with no lock held: it may use the pool.  While a thread waits
 * for the pool to be idle, a trim takes its permit on the slow path.
 */
TEST(c27_the_hook_of_a_trim_uses_the_pool)
{
	weir_pool_opts opts = opts_of(2);
	weir_pool_item *a, *b;
	weir_sem_info permits;
	check_thread thread;

	opts.idle_ns = 1;
	begin_with(opts);
	CHECK_OK(weir_pool_borrow(&pool, NULL, NULL, &a));
	CHECK_OK(weir_pool_borrow(&pool, NULL, NULL, &b));
	weir_pool_give_back(&pool, b);
	thread = start(wait_idle, NULL);
	do
		CHECK_OK(weir_sem_stat(&pool.permits_, &permits));
	while (!permits.oversized);
	CHECK(!weir_diag_set_hook(stat_in_the_hook));
	CHECK_EQ(weir_pool_trim(&pool), 1);
	CHECK(weir_diag_set_hook(NULL) == stat_in_the_hook);
	CHECK_EQ(acquired, 1);
	weir_pool_give_back(&pool, a);
	finish(thread);
	CHECK_OK(weir_pool_destroy(&pool));
}

static check_thread idler;

/* While a resource is destroyed, a thread waits, and the pool is destroyed. */
static void destroy_meanwhile(void *user, void *resource)
{
	weir_sem_info permits;
	weir_pool_info i;

	destroy(user, resource);
	idler = start(wait_idle, NULL);
	do
		CHECK_OK(weir_sem_stat(&pool.permits_, &permits));
	while (!permits.oversized);
	CHECK_ERR(weir_pool_destroy(&pool), WEIR_EBUSY);
	CHECK_OK(weir_pool_stat(&pool, &i));
	CHECK(!i.closed);
}

/* C22: a destroy that fails because a thread waits for idle changes nothing. */
TEST(c22_destroy_while_a_thread_waits_for_idle)
{
	weir_pool_opts opts = opts_of(2);

	opts.destroy = destroy_meanwhile;
	begin_with(opts);
	weir_pool_discard(&pool, borrow());
	finish(idler);
	end();
}
