/* SPDX-License-Identifier: MIT */
/* Predicted deadlocks, with WEIR_DIAG=order of meson.build. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "check.h"
#include "look.h"
#include "record/lockorder.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/permit.h"
#include "weir/rwlock.h"

static char last[16384];
static unsigned reports;
static unsigned loader_calls;

/*
 * The library finds this function instead of that of the C library, which takes
 * the lock of the loader.  A thread may hold that lock for long: it runs the
 * constructor of a library.
 */
int dladdr(const void *address, Dl_info *info)
{
	(void)address;
	(void)info;
	loader_calls++;
	return 0;
}

static void keep(const char *text)
{
	reports++;
	snprintf(last, sizeof(last), "%s", text);
}

/*
 * The tests share a process, but no orders: the next watched semaphore makes new
 * tables.  Those of the test before remain in memory.
 */
static void forget_orders(void)
{
	/* relaxed: there is no other thread. */
	at_store_relaxed(&weir_registry_->order, NULL);
}

static void begin(void)
{
	forget_orders();
	reports = loader_calls = 0;
	last[0] = '\0';
	CHECK(!weir_diag_set_report(keep));
}

static void end(void)
{
	CHECK(weir_diag_set_report(NULL) == keep);
}

/* Hold n of one, and get m of the other. */
static void nest(weir_sem *one, int64_t n, weir_sem *other, int64_t m)
{
	CHECK_OK(weir_sem_acquire(one, n, NULL));
	CHECK_OK(weir_sem_acquire(other, m, NULL));
	weir_sem_release(other, m);
	weir_sem_release(one, n);
}

/*
 * The first test: nothing is predicted from now on, unless the next test begins
 * with new tables.
 */
TEST(a_full_table_is_reported_once)
{
	weir_sem hub, sem;

	begin();
	watch(&hub, 1, "hub");
	for (int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "class-%d", i);
		watch(&sem, 1, name);
		nest(&hub, 1, &sem, 1);
		CHECK_OK(weir_sem_destroy(&sem));
	}
	CHECK_EQ(reports, 1);
	CHECK(!strcmp(last, "weir: ORDER  a table is full: further orders are "
			    "not examined\n"));
	CHECK_OK(weir_sem_destroy(&hub));
	end();
}

TEST(two_orders_that_never_met_are_reported_once)
{
	weir_sem db, smtp;

	begin();
	watch(&db, 20, "db_pool");
	watch(&smtp, 2, "smtp_conn");
	nest(&db, 10, &smtp, 1);
	CHECK_EQ(reports, 0);
	nest(&smtp, 2, &db, 11);
	CHECK_EQ(reports, 1);
	CHECK(strstr(last, "weir: ORDER  a deadlock is possible: needs 2 "
			   "concurrent callers\n  order   "));
	CHECK(strstr(last, "db_pool -> smtp_conn at "));
	CHECK(strstr(last, "smtp_conn -> db_pool at "));
	CHECK(strstr(last, "holds db_pool 10 of 20 ("));
	CHECK(strstr(last, "wants smtp_conn 1\n"));
	for (int i = 0; i < 5; i++) {
		nest(&db, 10, &smtp, 1);
		nest(&smtp, 2, &db, 11);
		nest(&smtp, 1, &db, 1);
	}
	CHECK_EQ(reports, 1);
	CHECK_OK(weir_sem_destroy(&db));
	CHECK_OK(weir_sem_destroy(&smtp));
	end();
}

struct crossing {
	weir_sem *first, *second;
	weir_ctx end;		/* ends the wait */
	uint32_t waited;	/* the wait has ended */
	uint32_t leave;		/* both waits have ended */
};

static void *cross(void *arg)
{
	struct crossing *c = arg;

	CHECK_OK(weir_sem_acquire(c->first, 1, NULL));
	AWAIT(!weir_sem_available(c->second));
	CHECK_ERR(weir_sem_acquire(c->second, 1, &c->end), WEIR_ECANCELED);
	at_store_release(&c->waited, 1);
	AWAIT(at_load_acquire(&c->leave));
	weir_sem_release(c->first, 1);
	return NULL;
}

/*
 * Two threads deadlock; the report on it is in `last`.  The waits end one after
 * the other: a request whose thread finds the tables locked is not examined.
 */
static void deadlock(weir_sem *a, weir_sem *b)
{
	struct crossing pair[] = { { .first = a, .second = b },
				   { .first = b, .second = a } };
	weir_diag_verdict verdict;
	check_thread threads[2];

	for (int i = 0; i < 2; i++) {
		CHECK_OK(weir_ctx_init(&pair[i].end, NULL, WEIR_FOREVER));
		threads[i] = start(cross, &pair[i]);
	}
	AWAIT(waiters_of(a) && waiters_of(b));
	CHECK_OK(weir_explain(last, sizeof(last), &verdict));
	CHECK_EQ(verdict, WEIR_DIAG_DEADLOCK);
	CHECK(strstr(last, "  order   "));
	for (int i = 0; i < 2; i++) {
		weir_ctx_cancel(&pair[i].end);
		AWAIT(at_load_acquire(&pair[i].waited));
	}
	for (int i = 0; i < 2; i++) {
		at_store_release(&pair[i].leave, 1);
		finish(threads[i]);
		CHECK_OK(weir_ctx_destroy(&pair[i].end));
	}
}

TEST(a_deadlock_was_predicted)
{
	weir_sem a, b;

	begin();
	watch(&a, 1, "predicted-1");
	watch(&b, 1, "predicted-2");
	deadlock(&a, &b);
	CHECK(!strstr(last, "first seen"));
	/* The waits have ended, so their orders are known now. */
	CHECK_EQ(reports, 1);
	deadlock(&a, &b);
	CHECK(strstr(last, "  (first seen "));
	CHECK(strstr(last, " ago, predicted then)\n"));
	CHECK_EQ(reports, 1);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
	end();
}

/* The permits that a thread has of an object count together, wherever acquired. */
TEST(permits_of_several_call_sites_add_up)
{
	const weir_rwlock_opts opts = { .name = "table" };
	weir_sem pool, db;
	weir_rwlock rw;

	begin();
	watch(&pool, 10, "pool");
	watch(&db, 1, "rows");
	CHECK_OK(weir_sem_acquire(&pool, 5, NULL));
	CHECK_OK(weir_sem_acquire(&pool, 4, NULL));
	/* Two such threads can hold all of the pool. */
	CHECK_EQ(reports, 1);
	CHECK_OK(weir_sem_acquire(&db, 1, NULL));
	weir_sem_release(&db, 1);
	weir_sem_release(&pool, 9);
	CHECK_OK(weir_sem_acquire(&db, 1, NULL));
	CHECK_OK(weir_sem_acquire(&pool, 2, NULL));
	weir_sem_release(&pool, 2);
	weir_sem_release(&db, 1);
	CHECK_EQ(reports, 2);
	CHECK(strstr(last, "holds pool 9 of 10 ("));

	/* A reader that becomes the writer. */
	CHECK_OK(weir_rwlock_init(&rw, &opts));
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	CHECK_OK(weir_rwlock_try_upgrade(&rw));
	CHECK_OK(weir_sem_acquire(&db, 1, NULL));
	weir_sem_release(&db, 1);
	weir_rwlock_write_done(&rw);
	CHECK_OK(weir_sem_acquire(&db, 1, NULL));
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	weir_rwlock_read_done(&rw);
	weir_sem_release(&db, 1);
	CHECK_EQ(reports, 3);
	CHECK(strstr(last, "holds table as the writer ("));
	CHECK(strstr(last, "wants table as a reader\n"));
	CHECK_OK(weir_sem_destroy(&db));
	CHECK_OK(weir_sem_destroy(&pool));
	CHECK_OK(weir_rwlock_destroy(&rw));
	end();
}

/* A lock has readers and a writer: its permits are not in the report. */
TEST(the_order_of_a_lock_names_the_roles)
{
	const weir_rwlock_opts opts = { .name = "table" };
	weir_rwlock rw;
	weir_sem db;

	begin();
	CHECK_OK(weir_rwlock_init(&rw, &opts));
	watch(&db, 1, "rows");
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	CHECK_OK(weir_sem_acquire(&db, 1, NULL));
	weir_sem_release(&db, 1);
	weir_rwlock_read_done(&rw);
	CHECK_OK(weir_sem_acquire(&db, 1, NULL));
	CHECK_OK(weir_rwlock_write(&rw, NULL));
	weir_rwlock_write_done(&rw);
	weir_sem_release(&db, 1);
	CHECK_EQ(reports, 1);
	CHECK(strstr(last, "holds table as a reader ("));
	CHECK(strstr(last, "wants table as the writer\n"));
	CHECK(strstr(last, "holds rows 1 of 1 ("));
	CHECK(!strstr(last, "10737418"));
	CHECK_OK(weir_sem_destroy(&db));
	CHECK_OK(weir_rwlock_destroy(&rw));
	end();
}

TEST(arity_of_a_nested_acquire)
{
	weir_sem orders;

	begin();
	watch(&orders, 20, "orders");
	nest(&orders, 1, &orders, 1);
	CHECK_EQ(reports, 1);
	CHECK(strstr(last, "needs 20 concurrent callers\n"));
	CHECK(strstr(last, "  callers 20 at "));
	CHECK(strstr(last, ": each holds orders 1 of 20 ("));
	CHECK_OK(weir_sem_destroy(&orders));
	end();
}

/* Two threads with 2 of 3 permits cannot be there at the same time. */
TEST(a_cycle_that_cannot_be_exhausted_is_not_reported)
{
	weir_sem a, b;

	begin();
	watch(&a, 3, "three");
	watch(&b, 1, "one");
	nest(&a, 2, &b, 1);
	nest(&b, 1, &a, 1);
	CHECK_EQ(reports, 0);
	/* With other weights it can. */
	nest(&b, 1, &a, 2);
	CHECK_EQ(reports, 1);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
	end();
}

TEST(calls_that_never_wait_make_no_order)
{
	weir_sem a, b;
	weir_permit permit = WEIR_PERMIT_INIT;

	begin();
	watch(&a, 1, "held");
	watch(&b, 1, "tried");
	nest(&a, 1, &b, 1);
	CHECK_OK(weir_sem_acquire(&b, 1, NULL));
	CHECK_OK(weir_sem_try_acquire(&a, 1));
	weir_sem_release(&a, 1);
	CHECK_OK(weir_sem_try_acquire_barging(&a, 1));
	weir_sem_release(&a, 1);
	CHECK_OK(weir_permit_try_acquire(&permit, &a, 1));
	weir_permit_release(&permit);
	CHECK_EQ(reports, 0);
	/* With a time limit it can wait. */
	CHECK_OK(weir_sem_try_acquire(&a, 1));
	weir_sem_release(&b, 1);
	CHECK_OK(weir_sem_acquire(&b, 1, NULL));
	CHECK_EQ(reports, 0);
	weir_sem_release(&a, 1);
	CHECK_OK(weir_sem_acquire_for(&a, 1, 1000000));
	CHECK_EQ(reports, 1);
	weir_sem_release(&a, 1);
	weir_sem_release(&b, 1);
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
	end();
}

static void *hold_until_told(void *arg)
{
	weir_sem *sems = arg;

	CHECK_OK(weir_sem_acquire(&sems[0], 1, NULL));
	weir_sem_release(&sems[2], 1);
	CHECK_OK(weir_sem_acquire(&sems[3], 1, NULL));
	weir_sem_release(&sems[0], 1);
	return NULL;
}

TEST(a_wait_that_times_out_makes_an_order)
{
	weir_sem sems[4];
	check_thread thread;

	begin();
	watch(&sems[0], 1, "busy");
	watch(&sems[1], 1, "own");
	CHECK_OK(weir_sem_init(&sems[2], 1));
	CHECK_OK(weir_sem_init(&sems[3], 1));
	CHECK_OK(weir_sem_acquire(&sems[2], 1, NULL));
	CHECK_OK(weir_sem_acquire(&sems[3], 1, NULL));
	nest(&sems[0], 1, &sems[1], 1);
	thread = start(hold_until_told, sems);
	CHECK_OK(weir_sem_acquire(&sems[2], 1, NULL));
	CHECK_OK(weir_sem_acquire(&sems[1], 1, NULL));
	reports = 0;
	CHECK_ERR(weir_sem_acquire_for(&sems[0], 1, 1000000), WEIR_ETIMEDOUT);
	/* The timeout report, and the prediction. */
	CHECK_EQ(reports, 2);
	CHECK(strstr(last, "busy -> own at "));
	CHECK(strstr(last, "diag-lockorder+0x"));
	/* Both without the lock of the loader. */
	CHECK_EQ(loader_calls, 0);
	weir_sem_release(&sems[1], 1);
	weir_sem_release(&sems[2], 1);
	weir_sem_release(&sems[3], 1);
	finish(thread);
	for (int i = 0; i < 4; i++)
		CHECK_OK(weir_sem_destroy(&sems[i]));
	end();
}

__attribute__((noinline))
static void init_account(weir_sem *sem)
{
	weir_sem_opts opts = { .permits = 1, .flags = WEIR_SEM_TRACKED };

	CHECK_OK(weir_sem_init_opts(sem, &opts));
}

TEST(semaphores_without_a_name_are_one_class_if_made_at_one_place)
{
	weir_sem accounts[2], journal;

	begin();
	for (int i = 0; i < 2; i++)
		init_account(&accounts[i]);
	watch(&journal, 1, "journal");
	/* Their order may be that of their addresses. */
	nest(&accounts[0], 1, &accounts[1], 1);
	nest(&accounts[1], 1, &accounts[0], 1);
	CHECK_EQ(reports, 0);
	nest(&accounts[0], 1, &journal, 1);
	nest(&journal, 1, &accounts[1], 1);
	CHECK_EQ(reports, 1);
	CHECK(strstr(last, "journal -> semaphore made at "));
	for (int i = 0; i < 2; i++)
		CHECK_OK(weir_sem_destroy(&accounts[i]));
	CHECK_OK(weir_sem_destroy(&journal));
	end();
}

/*
 * A cycle of semaphores.  A caller on edge i holds held[i] of semaphore i and
 * wants wants[i] of the next one.
 */
struct cycle {
	int length;
	int64_t capacity[3], held[3], wants[3];
};

/* Whether some order of ends lets all callers end; n[i]: those on edge i. */
static bool can_end(const struct cycle *c, int n[3])
{
	bool left = false;

	for (int i = 0; i < c->length; i++) {
		int next = (i + 1) % c->length;
		bool ends;

		if (!n[i])
			continue;
		left = true;
		if (c->capacity[next] - n[next] * c->held[next] < c->wants[i])
			continue;
		n[i]--;
		ends = can_end(c, n);
		n[i]++;
		if (ends)
			return true;
	}
	return !left;
}

/* The least number of callers that can deadlock; 0: none. */
static int64_t search(const struct cycle *c)
{
	int64_t least = 0;
	int n[3] = { 0, 0, 0 }, most[3] = { 0, 0, 0 };

	for (int i = 0; i < c->length; i++)
		most[i] = (int)(c->capacity[i] / c->held[i]);
	for (n[0] = 0; n[0] <= most[0]; n[0]++)
		for (n[1] = 0; n[1] <= most[1]; n[1]++)
			for (n[2] = 0; n[2] <= most[2]; n[2]++) {
				int64_t sum = n[0] + n[1] + n[2];

				if ((!least || sum < least) && !can_end(c, n))
					least = sum;
			}
	return least;
}

static int64_t predicted(void)
{
	const char *at = strstr(last, "needs ");
	long long n = 0;

	if (reports)
		CHECK(at && sscanf(at, "needs %lld ", &n) == 1);
	return n;
}

TEST(arity_equals_exhaustive_search)
{
	uint64_t random = check_seed();
	unsigned possible = 0;

	for (int round = 0; round < 60; round++) {
		struct cycle c = { .length = (int)random_below(&random, 3) + 1 };
		weir_sem sems[3];

		begin();
		for (int i = 0; i < c.length; i++) {
			char name[32];

			c.capacity[i] = random_below(&random, 5) + 1;
			snprintf(name, sizeof(name), "r%d-%d", round, i);
			watch(&sems[i], c.capacity[i], name);
		}
		for (int i = 0; i < c.length; i++) {
			int next = (i + 1) % c.length;

			/* A single thread runs all edges, one at a time. */
			c.held[i] = random_below(&random, c.capacity[i]) + 1;
			c.wants[i] = random_below(&random, c.capacity[next]) +
				     1;
			if (c.length == 1 &&
			    c.held[i] + c.wants[i] > c.capacity[i])
				c.held[i] = c.wants[i] = 1;
			if (c.length == 1 && c.capacity[i] == 1)
				continue;
			nest(&sems[i], c.held[i], &sems[next], c.wants[i]);
		}
		if (c.length > 1 || c.capacity[0] > 1) {
			CHECK_EQ(predicted(), search(&c));
			possible += search(&c) > 0;
		}
		for (int i = 0; i < c.length; i++)
			CHECK_OK(weir_sem_destroy(&sems[i]));
		end();
	}
	CHECK(possible > 5);
	/* The formula itself, for each semaphore with one kind of caller. */
	for (int64_t k = 1; k <= 8; k++)
		for (int64_t h = 1; h <= k; h++)
			for (int64_t w = 1; w <= k; w++) {
				struct cycle c = { 1, { k }, { h }, { w } };

				CHECK_EQ(weir_order_callers_(k, h, w),
					 search(&c));
			}
	CHECK_EQ(weir_order_callers_(3, 4, 1), 0);
	CHECK_EQ(weir_order_callers_(3, 1, 4), 0);
}

static void *release_one(void *sem)
{
	weir_sem_release(sem, 1);
	return NULL;
}

/* Another thread releases what this one has acquired: nothing is nested. */
TEST(permits_that_are_handed_over_make_no_order)
{
	weir_sem jobs, other;

	begin();
	watch(&jobs, 4, "jobs");
	watch(&other, 1, "other");
	CHECK_OK(weir_sem_acquire(&jobs, 1, NULL));
	finish(start(release_one, &jobs));
	for (int i = 0; i < 4; i++)
		CHECK_OK(weir_sem_acquire(&jobs, 1, NULL));
	CHECK_OK(weir_sem_acquire(&other, 1, NULL));
	for (int i = 0; i < 4; i++)
		finish(start(release_one, &jobs));
	CHECK_OK(weir_sem_acquire(&jobs, 1, NULL));
	weir_sem_release(&jobs, 1);
	weir_sem_release(&other, 1);
	CHECK_EQ(reports, 0);
	CHECK_OK(weir_sem_destroy(&jobs));
	CHECK_OK(weir_sem_destroy(&other));
	end();
}

/* A thread that takes thousands of permits one by one does not fill a table. */
TEST(a_pair_has_a_limited_number_of_weights)
{
	weir_sem bytes, a, b;

	begin();
	watch(&bytes, 4000, "bytes");
	for (int i = 0; i < 3000; i++)
		CHECK_OK(weir_sem_acquire(&bytes, 1, NULL));
	weir_sem_release(&bytes, 3000);
	CHECK_EQ(reports, 1);
	CHECK(strstr(last, "needs 4000 concurrent callers\n"));
	watch(&a, 1, "after");
	watch(&b, 1, "before");
	nest(&a, 1, &b, 1);
	nest(&b, 1, &a, 1);
	CHECK_EQ(reports, 2);
	CHECK(strstr(last, "needs 2 concurrent callers\n"));
	CHECK_OK(weir_sem_destroy(&bytes));
	CHECK_OK(weir_sem_destroy(&a));
	CHECK_OK(weir_sem_destroy(&b));
	end();
}

static void keep_and_test_cancel(const char *text)
{
	(void)text;
	reports++;
	pthread_testcancel();
}

static void *nest_cancelled(void *sems)
{
	weir_sem *pair = sems;

	pthread_cancel(pthread_self());
	nest(&pair[0], 1, &pair[1], 1);
	nest(&pair[1], 1, &pair[0], 1);
	return sems;
}

/* As every call of weir/sem.h. */
TEST(a_report_is_no_cancellation_point)
{
	weir_sem sems[2];
	pthread_t thread;
	void *result;

	begin();
	weir_diag_set_report(keep_and_test_cancel);
	watch(&sems[0], 1, "cancel-1");
	watch(&sems[1], 1, "cancel-2");
	CHECK(!pthread_create(&thread, NULL, nest_cancelled, sems));
	CHECK(!pthread_join(thread, &result));
	CHECK_EQ(reports, 1);
	CHECK(result == sems);
	CHECK_OK(weir_sem_destroy(&sems[0]));
	CHECK_OK(weir_sem_destroy(&sems[1]));
	weir_diag_set_report(keep);
	end();
}
