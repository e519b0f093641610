/* SPDX-License-Identifier: MIT */
/* Patterns are watched under their own names and types. */
#include "base/thread.h"
#include "check.h"
#include "look.h"
#include "weir/adaptive.h"
#include "weir/chan.h"
#include "weir/chan_async.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/group.h"
#include "weir/limits.h"
#include "weir/multi.h"
#include "weir/pool.h"
#include "weir/rate.h"
#include "weir/rwlock.h"
#include "weir/sharded.h"

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

/* A group that could not be set up leaves no record behind. */
TEST(a_group_that_fails_is_not_watched)
{
	weir_group_opts opts = { .workers = 1, .name = "failed",
				 .stack_size = 1 };
	weir_group group;

	CHECK_ERR(weir_group_init(&group, &opts), WEIR_EINVAL);
	none("failed");
	opts.stack_size = 0;
	opts.ctx = (weir_ctx *)(uintptr_t)1;
	CHECK_ERR(weir_group_init(&group, &opts), WEIR_EINVAL);
	none("failed");
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

struct borrower {
	weir_pool *pool;
	weir_pool_item *item;
	uint32_t tid;
};

static void *borrow(void *arg)
{
	struct borrower *b = arg;

	b->tid = weir_thread_id_();
	CHECK_OK(weir_pool_borrow(b->pool, "thread", NULL, &b->item));
	return NULL;
}

static bool is_usable(void *user, void *resource)
{
	(void)resource;
	return !user;
}

/*
 * The thread that has borrowed a resource has ended, and another thread gives it
 * back: the loan that ends is this one, and not the oldest one.
 */
static void pass_on(const weir_pool_opts *opts, bool discard)
{
	struct borrower b = { .item = NULL };
	weir_pool_item *mine = NULL;
	uint32_t me = weir_thread_id_();
	weir_pool pool;

	CHECK_OK(weir_pool_init(&pool, NULL, opts));
	b.pool = &pool;
	CHECK_OK(weir_pool_borrow(&pool, "test", NULL, &mine));
	/* Two loans of the same item: the second one is of a used resource. */
	for (int i = 0; i < 2; i++) {
		finish(start(borrow, &b));
		CHECK_EQ(held_by(&pool.permits_, me), 1);
		CHECK_EQ(held_by(&pool.permits_, b.tid), 1);
		(discard ? weir_pool_discard :
			   weir_pool_give_back)(&pool, b.item);
		CHECK_EQ(held_by(&pool.permits_, me), 1);
		CHECK_EQ(held_by(&pool.permits_, b.tid), 0);
		CHECK_ADDS_UP(&pool.permits_);
	}
	/* No other thread's record was changed for it. */
	CHECK_EQ(object_of(&pool.permits_)->handed_over, 0);
	CHECK(!(object_of(&pool.permits_)->flags & RG_OWED));
	weir_pool_give_back(&pool, mine);
	CHECK_EQ(sum_of_slots(&pool.permits_), 0);
	CHECK_OK(weir_pool_destroy(&pool));
}

TEST(c48_a_loan_that_another_thread_gives_back)
{
	weir_pool_opts opts = { .max = 3, .name = "db", .create = create,
				.destroy = destroy };

	pass_on(&opts, false);
	pass_on(&opts, true);
	opts.validate = is_usable;
	pass_on(&opts, false);
	/* No resource is usable a second time. */
	opts.user = &opts;
	pass_on(&opts, false);
}

#define EXCHANGED 4

struct exchange {
	weir_pool pool;
	pthread_mutex_t lock;
	weir_pool_item *items[EXCHANGED];
	int n;
};

/* Borrow, or give back what any thread has borrowed. */
static void *trade(void *arg)
{
	struct exchange *e = arg;
	uint64_t rng = seed_of(weir_thread_id_());

	for (int i = 0; i < 2000 * check_scale(); i++) {
		weir_pool_item *item = NULL;

		if (random_below(&rng, 2) &&
		    !weir_pool_try_borrow(&e->pool, "thread", &item)) {
			pthread_mutex_lock(&e->lock);
			e->items[e->n++] = item;
			pthread_mutex_unlock(&e->lock);
			continue;
		}
		pthread_mutex_lock(&e->lock);
		item = e->n ? e->items[--e->n] : NULL;
		pthread_mutex_unlock(&e->lock);
		if (item)
			weir_pool_give_back(&e->pool, item);
	}
	return NULL;
}

TEST(c48_loans_that_change_threads_add_up)
{
	const weir_pool_opts opts = { .max = EXCHANGED, .name = "db",
				      .create = create, .destroy = destroy };
	static struct exchange e = { .lock = PTHREAD_MUTEX_INITIALIZER };
	check_thread threads[3];

	CHECK_OK(weir_pool_init(&e.pool, NULL, &opts));
	for (int i = 0; i < 3; i++)
		threads[i] = start(trade, &e);
	for (int i = 0; i < 3; i++)
		finish(threads[i]);
	CHECK_ADDS_UP(&e.pool.permits_);
	CHECK_EQ(sum_of_slots(&e.pool.permits_), e.n);
	CHECK_EQ(object_of(&e.pool.permits_)->handed_over, 0);
	while (e.n)
		weir_pool_give_back(&e.pool, e.items[--e.n]);
	CHECK_EQ(sum_of_slots(&e.pool.permits_), 0);
	CHECK_OK(weir_pool_destroy(&e.pool));
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

static char text[65536];

static weir_diag_verdict explain(void)
{
	weir_diag_verdict verdict = WEIR_DIAG_FINE;

	CHECK_OK(weir_explain(text, sizeof(text), &verdict));
	return verdict;
}

/*
 * Channels: items, and waiters on both sides.
 */
static weir_chan chan;

static void open_chan(int64_t capacity)
{
	const weir_chan_opts opts = { .capacity = capacity,
				      .item_size = sizeof(int),
				      .name = "jobs" };

	CHECK_OK(weir_chan_init_opts(&chan, &opts));
}

static void *send_two(void *unused)
{
	int items[2] = { 1, 2 };
	size_t sent;

	(void)unused;
	CHECK_OK(weir_chan_send_many(&chan, items, 2, NULL, &sent));
	return NULL;
}

static void *receive(void *unused)
{
	int item;

	(void)unused;
	CHECK_OK(weir_chan_recv(&chan, &item, NULL));
	return NULL;
}

static void *send_one(void *unused)
{
	int item = 7;

	(void)unused;
	CHECK_OK(weir_chan_send(&chan, &item, NULL));
	return NULL;
}

TEST(a_channel_shows_its_items)
{
	const weir_diag_object *o;
	int item = 3, room[4];
	size_t got;

	open_chan(4);
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->capacity, 4);
	CHECK(found[0].address == &chan);
	/* A thread that has ended leaves its items, and is no holder. */
	finish(start(send_two, NULL));
	CHECK_OK(weir_chan_try_send(&chan, &item));
	o = only("jobs", WEIR_DIAG_CHAN);
	CHECK_EQ(o->held, 3);
	CHECK_EQ(o->free, 1);
	CHECK_EQ(o->holders, 0);
	CHECK_EQ(o->immediate, 2);
	/* Also one that has only received. */
	finish(start(receive, NULL));
	o = only("jobs", WEIR_DIAG_CHAN);
	CHECK_EQ(o->held, 2);
	CHECK_EQ(o->releases, 1);
	CHECK(explain() < WEIR_DIAG_SLOW);
	CHECK(strstr(text, "jobs: channel, 2 of 4 free; barging; open\n"
			   "  items 2\n"));
	CHECK_OK(weir_chan_recv_many(&chan, room, 4, NULL, &got));
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->held, 0);
	CHECK_ERR(weir_chan_try_recv(&chan, &item), WEIR_EAGAIN);
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->would_block, 1);
	weir_chan_close(&chan);
	CHECK(only("jobs", WEIR_DIAG_CHAN)->closed);
	CHECK_ERR(weir_chan_recv(&chan, &item, NULL), WEIR_ECLOSED);
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->refused, 1);
	CHECK_OK(weir_chan_destroy(&chan));
	none("jobs");
}

TEST(a_channel_shows_its_waiters)
{
	check_thread thread;
	int item = 3;

	open_chan(1);
	thread = start(receive, NULL);
	AWAIT(only("jobs", WEIR_DIAG_CHAN)->waiters == 1);
	CHECK_EQ(explain(), WEIR_DIAG_SLOW);
	CHECK(strstr(text, "  to receive  SLOW: waits for a sender"));
	CHECK(!strstr(text, "NO KNOWN RELEASER"));
	CHECK_OK(weir_chan_send(&chan, &item, NULL));
	finish(thread);
	CHECK_OK(weir_chan_send(&chan, &item, NULL));
	thread = start(send_one, NULL);
	AWAIT(only("jobs", WEIR_DIAG_CHAN)->waiters == 1);
	CHECK_EQ(explain(), WEIR_DIAG_NO_RELEASER);
	CHECK(strstr(text, "waits for a slot of jobs ("));
	CHECK(strstr(text, "  to send"));
	CHECK_OK(weir_chan_recv(&chan, &item, NULL));
	finish(thread);
	/* The sender that has waited is counted apart. */
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->immediate, 2);
	CHECK_EQ(found[0].queued, 1);
	CHECK_EQ(found[0].waiters, 0);
	CHECK_ERR(weir_chan_send_until(&chan, &item, weir_now_ns() + 1000),
		  WEIR_ETIMEDOUT);
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->timed_out, 1);
	CHECK_OK(weir_chan_destroy(&chan));
	none("jobs");
}

static void *hold_and_receive(void *sem)
{
	int item;

	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	CHECK_OK(weir_chan_recv(&chan, &item, NULL));
	weir_sem_release(sem, 1);
	return NULL;
}

static void *take(void *sem)
{
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	weir_sem_release(sem, 1);
	return NULL;
}

/* A receiver that blocks another thread needs a sender that is not known. */
TEST(c50_a_receiver_that_others_wait_for)
{
	check_thread receiver, waiter;
	weir_sem sem;
	int item = 3;

	open_chan(1);
	watch(&sem, 1, "mutex");
	receiver = start(hold_and_receive, &sem);
	AWAIT(only("jobs", WEIR_DIAG_CHAN)->waiters == 1);
	CHECK_EQ(explain(), WEIR_DIAG_SLOW);
	waiter = start(take, &sem);
	AWAIT(only("mutex", WEIR_DIAG_SEM)->waiters == 1);
	CHECK_EQ(explain(), WEIR_DIAG_NO_RELEASER);
	/* A program without a dynamic linker prints the address. */
	CHECK(strstr(text, "waits for an item of jobs (diag-types+0x") ||
	      strstr(text, "waits for an item of jobs (hold_and_receive") ||
	      strstr(text, "waits for an item of jobs (0x"));
	CHECK_OK(weir_chan_send(&chan, &item, NULL));
	finish(receiver);
	finish(waiter);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_chan_destroy(&chan));
}

static void ended(weir_chan_op *op, weir_err err, void *user)
{
	(void)op;
	*(weir_err *)user = err;
}

/* A thread that waits for the tokens of a rate limit. */
static weir_rate mail;

static void *hold_and_await_token(void *sem)
{
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	CHECK_ERR(weir_rate_acquire(&mail, 1, NULL), WEIR_ECLOSED);
	weir_sem_release(sem, 1);
	return NULL;
}

TEST(a_thread_that_waits_for_tokens_is_not_running)
{
	const weir_rate_opts opts = { .rate = 1, .name = "mail",
				      .period_ns = INT64_C(3600000000000) };
	check_thread thread;
	weir_sem sem;

	watch(&sem, 1, "mutex");
	CHECK_OK(weir_rate_init(&mail, &opts));
	CHECK_OK(weir_rate_acquire(&mail, 1, NULL));
	thread = start(hold_and_await_token, &sem);
	AWAIT(only("mail", WEIR_DIAG_RATE)->held == 1 &&
	      only("mutex", WEIR_DIAG_SEM)->held == 1);
	CHECK_EQ(explain(), WEIR_DIAG_FINE);
	CHECK(strstr(text, "waits for tokens of mail\n"));
	CHECK(!strstr(text, "running"));
	/* The permit of the semaphore inside is not shown. */
	CHECK(strstr(text, "mail: rate limit, a call waits for tokens; "));
	CHECK(strstr(text, "\n  next  1 context:\n        tid "));
	CHECK(!strstr(strstr(text, "mail: rate limit"), "permit"));
	weir_rate_close(&mail);
	finish(thread);
	CHECK_OK(weir_rate_destroy(&mail));
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * A weir_all that waits holds permits that its submitter has acquired.  Its callback,
 * on another thread, releases them.
 */
static weir_sem chain[3];
static weir_req two[2];

static void release_two(weir_all *all, weir_err err, void *user)
{
	(void)all;
	(void)user;
	CHECK_OK(err);
	weir_release_all(two, 2);
}

static void *submit_and_wait(void *all)
{
	CHECK_ERR(weir_all_submit(all, two, 2, NULL), WEIR_EQUEUED);
	return take(&chain[2]);
}

static void *hold_and_wait(void *unused)
{
	(void)unused;
	CHECK_OK(weir_sem_acquire(&chain[2], 1, NULL));
	AWAIT(waiters_of(&chain[1]) == 1);
	CHECK_OK(weir_sem_acquire(&chain[0], 1, NULL));
	weir_sem_release(&chain[0], 1);
	weir_sem_release(&chain[2], 1);
	return NULL;
}

TEST(c50_a_weir_all_releases_what_its_submitter_has_acquired)
{
	check_thread submitter, holder;
	weir_all all;

	for (int i = 0; i < 3; i++)
		watch(&chain[i], 1, "chain");
	two[0] = (weir_req){ &chain[0], 1 };
	two[1] = (weir_req){ &chain[1], 1 };
	weir_all_init(&all, NULL, release_two, NULL);
	CHECK_OK(weir_sem_acquire(&chain[1], 1, NULL));
	holder = start(hold_and_wait, NULL);
	AWAIT(!weir_sem_available(&chain[2]));
	submitter = start(submit_and_wait, &all);
	AWAIT(waiters_of(&chain[0]) == 1 && waiters_of(&chain[2]) == 1);
	CHECK(explain() < WEIR_DIAG_SELF_NESTED);
	CHECK_EQ(object_of(&chain[0])->moved, 1);
	/* The callback runs here. */
	weir_sem_release(&chain[1], 1);
	finish(holder);
	finish(submitter);
	CHECK_EQ(object_of(&chain[0])->moved, 0);
	CHECK(object_of(&chain[0])->flags & RG_MOVED);
	for (int i = 0; i < 3; i++)
		CHECK_OK(weir_sem_destroy(&chain[i]));
}

static uint32_t flags_of(const weir_sem *sem)
{
	return object_of(sem)->flags & (RG_MOVED | RG_HANDED_OVER);
}

/* C50: a request that does not wait is that of a thread. */
TEST(c50_a_weir_all_that_does_not_wait_marks_nothing)
{
	weir_all all;

	for (int i = 0; i < 2; i++) {
		watch(&chain[i], 1, "chain");
		two[i] = (weir_req){ &chain[i], 1 };
	}
	weir_all_init(&all, NULL, release_two, NULL);
	CHECK_OK(weir_all_submit(&all, two, 2, NULL));
	weir_release_all(two, 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(object_of(&chain[i])->moved, 0);
		CHECK_EQ(flags_of(&chain[i]), 0);
		CHECK_EQ(slots_with(&chain[i]), 0);
		CHECK_OK(weir_sem_destroy(&chain[i]));
	}
}

/* C50: the same if its callback runs on the thread that has submitted it. */
TEST(c50_a_weir_all_that_returns_to_its_thread)
{
	weir_all all;

	for (int i = 0; i < 3; i++)
		watch(&chain[i], 1, "chain");
	for (int cancelled = 0; cancelled < 2; cancelled++) {
		const weir_req three[] = { { &chain[0], 1 }, { &chain[1], 1 },
					   { &chain[2], 1 } };

		two[0] = (weir_req){ &chain[0], 1 };
		two[1] = (weir_req){ &chain[2], 1 };
		weir_all_init(&all, NULL, release_two, NULL);
		CHECK_OK(weir_sem_acquire(&chain[1], 1, NULL));
		CHECK_OK(weir_sem_acquire(&chain[2], 1, NULL));
		CHECK_ERR(weir_all_submit(&all, three, 3, NULL), WEIR_EQUEUED);
		CHECK_EQ(object_of(&chain[0])->moved, 1);
		CHECK_EQ(object_of(&chain[1])->moved, 0);
		/* Now it waits for the last one. */
		weir_sem_release(&chain[1], 1);
		CHECK_EQ(object_of(&chain[0])->moved, 1);
		CHECK_EQ(object_of(&chain[1])->moved, 1);
		CHECK_EQ(object_of(&chain[2])->moved, 0);
		if (cancelled)
			CHECK_OK(weir_all_cancel(&all));
		weir_sem_release(&chain[2], 1);
		if (!cancelled)
			weir_sem_release(&chain[1], 1);
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(object_of(&chain[i])->moved, 0);
			CHECK_EQ(flags_of(&chain[i]), 0);
			CHECK_EQ(slots_with(&chain[i]), 0);
		}
	}
	for (int i = 0; i < 3; i++)
		CHECK_OK(weir_sem_destroy(&chain[i]));
}

static void *submit_three(void *all)
{
	static weir_req three[3];

	for (int i = 0; i < 3; i++)
		three[i] = (weir_req){ &chain[i], 1 };
	CHECK_ERR(weir_all_submit(all, three, 3, NULL), WEIR_EQUEUED);
	return NULL;
}

/*
 * C50: the same if its callback runs on another thread, which has acquired all that
 * the request has.
 */
TEST(c50_a_weir_all_of_which_the_submitter_has_acquired_nothing)
{
	weir_all all;

	for (int i = 0; i < 3; i++)
		watch(&chain[i], 1, "chain");
	two[0] = (weir_req){ &chain[0], 1 };
	two[1] = (weir_req){ &chain[2], 1 };
	weir_all_init(&all, NULL, release_two, NULL);
	CHECK_OK(weir_sem_acquire(&chain[0], 1, NULL));
	CHECK_OK(weir_sem_acquire(&chain[2], 1, NULL));
	finish(start(submit_three, &all));
	weir_sem_release(&chain[0], 1);
	CHECK_EQ(object_of(&chain[0])->moved, 1);
	CHECK_EQ(object_of(&chain[1])->moved, 1);
	CHECK_EQ(object_of(&chain[2])->moved, 0);
	weir_sem_release(&chain[2], 1);
	weir_sem_release(&chain[1], 1);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(object_of(&chain[i])->moved, 0);
		CHECK_EQ(flags_of(&chain[i]), 0);
		CHECK_EQ(slots_with(&chain[i]), 0);
		CHECK_OK(weir_sem_destroy(&chain[i]));
	}
}

/* The wait for the tasks of a group is one of the group. */
static weir_group tasks;
static weir_ctx end_of_wait;

static weir_err take_go(void *sem, struct weir_ctx *ctx)
{
	(void)ctx;
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	weir_sem_release(sem, 1);
	return WEIR_OK;
}

static void *hold_and_await_tasks(void *sem)
{
	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	CHECK_OK(weir_group_spawn(&tasks, take_go, sem, 1, NULL));
	CHECK_ERR(weir_group_wait(&tasks, &end_of_wait, NULL), WEIR_ECANCELED);
	weir_sem_release(sem, 1);
	return NULL;
}

TEST(c50_a_thread_that_waits_for_the_tasks_of_a_group)
{
	const weir_group_opts opts = { .workers = 1, .name = "tasks" };
	check_thread holder;
	weir_sem sem;

	watch(&sem, 1, "mutex");
	CHECK_OK(weir_group_init(&tasks, &opts));
	CHECK_OK(weir_ctx_init(&end_of_wait, NULL, WEIR_FOREVER));
	/* The task needs what the thread holds that waits for the task. */
	holder = start(hold_and_await_tasks, &sem);
	AWAIT(only("tasks", WEIR_DIAG_GROUP)->waiters == 1);
	AWAIT(only("mutex", WEIR_DIAG_SEM)->waiters == 1);
	CHECK_EQ(explain(), WEIR_DIAG_DEADLOCK);
	CHECK(strstr(text, "waits for tasks to be idle"));
	weir_ctx_cancel(&end_of_wait);
	finish(holder);
	CHECK_OK(weir_group_wait(&tasks, NULL, NULL));
	CHECK_EQ(only("tasks", WEIR_DIAG_GROUP)->held, 0);
	CHECK_EQ(found[0].waiters, 0);
	CHECK_EQ(found[0].queued + found[0].cancelled, 0);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	weir_group_end(&tasks);
	CHECK_OK(weir_ctx_destroy(&end_of_wait));
	CHECK_OK(weir_sem_destroy(&sem));
}

static void *spawn_three(void *sem)
{
	weir_err err;

	CHECK_OK(weir_sem_acquire(sem, 1, NULL));
	CHECK_OK(weir_group_spawn(&tasks, take_go, sem, 1, NULL));
	/* The first one runs, the second one is in the backlog. */
	AWAIT(waiters_of(sem) == 1);
	CHECK_OK(weir_group_spawn(&tasks, take_go, sem, 1, NULL));
	err = weir_group_spawn(&tasks, take_go, sem, 1, &end_of_wait);
	weir_sem_release(sem, 1);
	CHECK_ERR(err, WEIR_ECANCELED);
	return NULL;
}

/* A spawn waits for room in the backlog: the wait is one of the group. */
TEST(c50_a_spawn_that_waits_for_room)
{
	const weir_group_opts opts = { .workers = 1, .backlog = 1,
				       .name = "tasks" };
	check_thread spawner;
	weir_sem sem;

	watch(&sem, 1, "mutex");
	CHECK_OK(weir_group_init(&tasks, &opts));
	CHECK_OK(weir_ctx_init(&end_of_wait, NULL, WEIR_FOREVER));
	spawner = start(spawn_three, &sem);
	AWAIT(only("tasks", WEIR_DIAG_GROUP)->waiters == 1);
	CHECK_EQ(found[0].holders, 1);
	AWAIT(only("mutex", WEIR_DIAG_SEM)->waiters == 1);
	/* Another thread of the group, without permits, could make room. */
	CHECK_EQ(explain(), WEIR_DIAG_NO_RELEASER);
	CHECK(strstr(text, "waits for tasks to have room"));
	CHECK(strstr(text, "  waits for room"));
	weir_ctx_cancel(&end_of_wait);
	finish(spawner);
	CHECK_OK(weir_group_wait(&tasks, NULL, NULL));
	CHECK_EQ(only("tasks", WEIR_DIAG_GROUP)->held, 0);
	CHECK_EQ(found[0].waiters, 0);
	CHECK_EQ(found[0].immediate, 2);
	CHECK_EQ(found[0].queued + found[0].cancelled, 0);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	weir_group_end(&tasks);
	CHECK_OK(weir_ctx_destroy(&end_of_wait));
	CHECK_OK(weir_sem_destroy(&sem));
}

static void *spawn_third(void *arg)
{
	(void)arg;
	CHECK_OK(weir_group_spawn(&tasks, take_go, arg, 1, NULL));
	return NULL;
}

/* The usual wait for room: a task that runs will end. */
TEST(c50_a_spawn_behind_a_task_that_runs_is_slow)
{
	const weir_group_opts opts = { .workers = 1, .backlog = 1,
				       .name = "tasks" };
	check_thread spawner;
	weir_sem sem;

	watch(&sem, 1, "mutex");
	CHECK_OK(weir_group_init(&tasks, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_group_spawn(&tasks, take_go, &sem, 1, NULL));
	AWAIT(only("mutex", WEIR_DIAG_SEM)->waiters == 1);
	CHECK_OK(weir_group_spawn(&tasks, take_go, &sem, 1, NULL));
	spawner = start(spawn_third, &sem);
	AWAIT(only("tasks", WEIR_DIAG_GROUP)->waiters == 1);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	weir_sem_release(&sem, 1);
	finish(spawner);
	CHECK_OK(weir_group_wait(&tasks, NULL, NULL));
	weir_group_end(&tasks);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * With WEIR_RW_WRITERS a reader waits outside the queue while a writer waits or is
 * inside, and writers that come later go before it.
 */
static weir_rwlock table;
static weir_sem other;
static weir_ctx rescue;

static int64_t waiters_of_table(void)
{
	weir_rwlock_info info;

	CHECK_OK(weir_rwlock_stat(&table, &info));
	return info.waiters;
}

static void open_table(void)
{
	const weir_rwlock_opts opts = { .prefer = WEIR_RW_WRITERS,
					.name = "table" };
	const weir_sem_opts sem_opts = { .permits = 1, .name = "other" };

	CHECK_OK(weir_rwlock_init(&table, &opts));
	CHECK_OK(weir_sem_init_opts(&other, &sem_opts));
	CHECK_OK(weir_ctx_init(&rescue, NULL, WEIR_FOREVER));
}

static void close_table(void)
{
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->held, 0);
	CHECK_EQ(found[0].waiters, 0);
	CHECK_OK(weir_ctx_destroy(&rescue));
	CHECK_OK(weir_sem_destroy(&other));
	CHECK_OK(weir_rwlock_destroy(&table));
}

static void *write_table(void *unused)
{
	(void)unused;
	CHECK_OK(weir_rwlock_write(&table, NULL));
	weir_rwlock_write_done(&table);
	return NULL;
}

static void *read_twice(void *unused)
{
	(void)unused;
	CHECK_OK(weir_rwlock_read(&table, NULL));
	AWAIT(waiters_of_table() == 1);
	CHECK_ERR(weir_rwlock_read(&table, &rescue), WEIR_ECANCELED);
	weir_rwlock_read_done(&table);
	return NULL;
}

TEST(c50_a_reader_that_waits_for_its_recall)
{
	check_thread reads, writes;

	open_table();
	reads = start(read_twice, NULL);
	AWAIT(only("table", WEIR_DIAG_RWLOCK)->held == 1);
	writes = start(write_table, NULL);
	AWAIT(waiters_of_table() == 2);
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->waiters, 2);
	CHECK_EQ(explain(), WEIR_DIAG_DEADLOCK);
	CHECK(strstr(text, "waits for table as a reader"));
	weir_ctx_cancel(&rescue);
	finish(reads);
	finish(writes);
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->cancelled, 1);
	close_table();
}

static void *write_and_downgrade(void *unused)
{
	(void)unused;
	CHECK_OK(weir_rwlock_write(&table, NULL));
	AWAIT(waiters_of_table() == 2);
	weir_rwlock_downgrade(&table);
	/* The reader has the other semaphore. */
	CHECK_ERR(weir_sem_acquire(&other, 1, &rescue), WEIR_ECANCELED);
	weir_rwlock_read_done(&table);
	return NULL;
}

static void *read_with_other(void *unused)
{
	(void)unused;
	CHECK_OK(weir_sem_acquire(&other, 1, NULL));
	CHECK_OK(weir_rwlock_read(&table, NULL));
	weir_rwlock_read_done(&table);
	weir_sem_release(&other, 1);
	return NULL;
}

TEST(c50_a_later_writer_goes_before_the_recall)
{
	check_thread first, reads, second;

	open_table();
	first = start(write_and_downgrade, NULL);
	AWAIT(only("table", WEIR_DIAG_RWLOCK)->holders == 1);
	reads = start(read_with_other, NULL);
	AWAIT(waiters_of_table() == 1);
	second = start(write_table, NULL);
	AWAIT(only("other", WEIR_DIAG_SEM)->waiters == 1);
	CHECK_EQ(only("table", WEIR_DIAG_RWLOCK)->held, 1);
	CHECK_EQ(found[0].waiters, 2);
	CHECK_EQ(explain(), WEIR_DIAG_DEADLOCK);
	CHECK(strstr(text, "weir: DEADLOCK  3 contexts"));
	weir_ctx_cancel(&rescue);
	finish(first);
	finish(second);
	finish(reads);
	close_table();
}

TEST(an_operation_on_a_channel_is_a_waiter)
{
	weir_err err = WEIR_EQUEUED;
	int item, sent = 5;
	weir_chan_op op;

	open_chan(1);
	weir_chan_op_init(&op, NULL, ended, &err);
	CHECK_ERR(weir_chan_op_recv(&op, &chan, &item, NULL), WEIR_EQUEUED);
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->waiters, 1);
	(void)explain();
	CHECK(strstr(text, "operation"));
	CHECK(strstr(text, "  to receive"));
	CHECK_OK(weir_chan_send(&chan, &sent, NULL));
	CHECK_OK(err);
	CHECK_EQ(item, 5);
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->waiters, 0);
	CHECK_EQ(found[0].held, 0);
	CHECK_EQ(found[0].immediate, 1);
	CHECK_EQ(found[0].releases, 1);
	CHECK_ERR(weir_chan_op_recv(&op, &chan, &item, NULL), WEIR_EQUEUED);
	CHECK_OK(weir_chan_op_cancel(&op));
	CHECK_EQ(only("jobs", WEIR_DIAG_CHAN)->cancelled, 1);
	CHECK_OK(weir_chan_destroy(&chan));
}

TEST(a_channel_without_a_name_is_not_watched)
{
	CHECK_OK(weir_chan_init(&chan, NULL, 4, sizeof(int)));
	none("weir_chan");
	CHECK_OK(weir_chan_destroy(&chan));
}

/*
 * Sharded semaphores have holders.
 */
static weir_sharded sharded;

static void *take_three(void *unused)
{
	(void)unused;
	CHECK_OK(weir_sharded_acquire(&sharded, 3, NULL));
	weir_sharded_release(&sharded, 3);
	return NULL;
}

TEST(c48_a_sharded_semaphore_has_holders)
{
	const weir_sharded_opts opts = { .capacity = 4, .name = "calls" };
	check_thread thread;

	CHECK_OK(weir_sharded_init(&sharded, &opts));
	CHECK_EQ(only("calls", WEIR_DIAG_SHARDED)->held, 0);
	CHECK_OK(weir_sharded_acquire(&sharded, 1, NULL));
	CHECK_OK(weir_sharded_try_acquire(&sharded, 1));
	CHECK_EQ(only("calls", WEIR_DIAG_SHARDED)->held, 2);
	CHECK_EQ(found[0].free, 2);
	CHECK_EQ(found[0].immediate, 2);
	thread = start(take_three, NULL);
	AWAIT(only("calls", WEIR_DIAG_SHARDED)->waiters == 1);
	CHECK(explain() <= WEIR_DIAG_SLOW);
	CHECK(strstr(text, "calls: sharded semaphore, 2 of 4 free; barging"));
	CHECK(strstr(text, "  held  2 permits by "));
	CHECK(strstr(text, "  queue 1 waiting for 3 permits:\n"));
	weir_sharded_release(&sharded, 2);
	finish(thread);
	CHECK_EQ(only("calls", WEIR_DIAG_SHARDED)->held, 0);
	CHECK_EQ(found[0].queued, 1);
	CHECK_OK(weir_sharded_resize(&sharded, 6, NULL));
	CHECK_EQ(only("calls", WEIR_DIAG_SHARDED)->capacity, 6);
	CHECK_ERR(weir_sharded_acquire_until(&sharded, 7, weir_now_ns()),
		  WEIR_ETOOBIG);
	CHECK_OK(weir_sharded_destroy(&sharded));
	none("calls");
}

TEST(an_adaptive_limit_is_its_semaphore)
{
	weir_adaptive adaptive;
	weir_sem sem;

	watch(&sem, 1, "limit");
	CHECK_OK(weir_adaptive_init(&adaptive, &sem, NULL));
	CHECK_EQ(only("limit", WEIR_DIAG_ADAPTIVE)->capacity, 20);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * Any-of requests.
 */
static weir_sem first, second;

static void *take_any(void *ctx)
{
	const weir_req reqs[] = { { &first, 1 }, { &second, 1 } };
	size_t which;
	weir_err err = weir_acquire_any(reqs, 2, ctx, &which);

	if (!err)
		weir_sem_release(which ? &second : &first, 1);
	CHECK_EQ(err, ctx ? WEIR_ECANCELED : WEIR_OK);
	return NULL;
}

static void hold_both(void)
{
	watch(&first, 1, "first");
	watch(&second, 1, "second");
	CHECK_OK(weir_sem_acquire(&first, 1, NULL));
	CHECK_OK(weir_sem_acquire(&second, 1, NULL));
}

static void drop_both(void)
{
	CHECK_EQ(waits_on(&first, NULL), 0);
	CHECK_EQ(waits_on(&second, NULL), 0);
	CHECK_ADDS_UP(&first);
	CHECK_ADDS_UP(&second);
	CHECK_OK(weir_sem_destroy(&first));
	CHECK_OK(weir_sem_destroy(&second));
}

TEST(an_any_of_request_waits_for_each_semaphore)
{
	check_thread thread;
	weir_ctx ctx;

	hold_both();
	thread = start(take_any, NULL);
	AWAIT(waits_on(&first, NULL) == 1 && waits_on(&second, NULL) == 1);
	CHECK(explain() <= WEIR_DIAG_SLOW);
	CHECK_EQ(only("first", WEIR_DIAG_SEM)->waiters, 1);
	/* One is enough. */
	weir_sem_release(&second, 1);
	finish(thread);
	CHECK_EQ(only("second", WEIR_DIAG_SEM)->queued, 1);
	CHECK_EQ(only("first", WEIR_DIAG_SEM)->queued, 0);
	CHECK_OK(weir_sem_acquire(&second, 1, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	thread = start(take_any, &ctx);
	AWAIT(waits_on(&first, NULL) == 1 && waits_on(&second, NULL) == 1);
	weir_ctx_cancel(&ctx);
	finish(thread);
	CHECK_EQ(only("first", WEIR_DIAG_SEM)->cancelled, 1);
	CHECK_EQ(only("second", WEIR_DIAG_SEM)->cancelled, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	weir_sem_release(&first, 1);
	weir_sem_release(&second, 1);
	drop_both();
}

static void *nest_any(void *ctx)
{
	CHECK_OK(weir_sem_acquire(&first, 1, NULL));
	CHECK_OK(weir_sem_acquire(&second, 1, NULL));
	return take_any(ctx);
}

/* C50: a thread that holds all that it waits for. */
TEST(c50_an_any_of_request_in_a_deadlock)
{
	check_thread thread;
	weir_ctx ctx;

	watch(&first, 1, "first");
	watch(&second, 1, "second");
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	thread = start(nest_any, &ctx);
	AWAIT(waits_on(&first, NULL) == 1 && waits_on(&second, NULL) == 1);
	CHECK_EQ(explain(), WEIR_DIAG_SELF_NESTED);
	CHECK(strstr(text, "  waits for one of "));
	CHECK(strstr(text, " or "));
	CHECK(strstr(text, "can be cancelled"));
	weir_ctx_cancel(&ctx);
	finish(thread);
	CHECK_OK(weir_ctx_destroy(&ctx));
	weir_sem_release(&first, 1);
	weir_sem_release(&second, 1);
	drop_both();
}

static void any_ended(weir_any *any, weir_err err, size_t which, void *user)
{
	(void)any;
	(void)err;
	*(size_t *)user = which;
}

TEST(an_any_of_operation_has_one_context)
{
	const weir_req reqs[] = { { &first, 1 }, { &second, 1 } };
	unsigned contexts;
	struct rg_wait a, b;
	weir_op places[2];
	weir_any any;
	size_t which = 9;

	hold_both();
	contexts = contexts_in(RG_LIVE);
	weir_any_init(&any, NULL, any_ended, &which);
	CHECK_ERR(weir_any_submit(&any, reqs, places, 2, NULL, NULL),
		  WEIR_EQUEUED);
	CHECK_EQ(waits_on(&first, &a), 1);
	CHECK_EQ(waits_on(&second, &b), 1);
	CHECK_EQ(a.context, b.context);
	CHECK_EQ(context_of(a.context)->kind, RG_OPERATION);
	CHECK_EQ(contexts_in(RG_LIVE), contexts + 1);
	weir_sem_release(&first, 1);
	CHECK_EQ(which, 0);
	CHECK_EQ(contexts_in(RG_LIVE), contexts);
	CHECK_ERR(weir_any_submit(&any, reqs, places, 2, NULL, NULL),
		  WEIR_EQUEUED);
	CHECK_OK(weir_any_cancel(&any));
	CHECK_EQ(contexts_in(RG_LIVE), contexts);
	weir_sem_release(&first, 1);
	weir_sem_release(&second, 1);
	drop_both();
}

/*
 * Static initialisers.
 */
static weir_sem fixed = WEIR_SEM_INIT_OPTS(2, 0, "fixed", WEIR_FIFO, 0);
static weir_sem signals =
	WEIR_SEM_INIT_OPTS(0, 0, "signals", WEIR_FIFO, WEIR_SEM_UNBOUNDED);
static weir_sem hidden =
	WEIR_SEM_INIT_OPTS(2, 0, "hidden", WEIR_FIFO, WEIR_SEM_UNWATCHED);
static weir_sem tried = WEIR_SEM_INIT_OPTS(1, 3, "tried", WEIR_BARGING, 0);

TEST(c48_a_static_semaphore_is_watched_from_its_first_acquire)
{
	none("fixed");
	CHECK_OK(weir_sem_acquire(&fixed, 1, NULL));
	CHECK_EQ(only("fixed", WEIR_DIAG_SEM)->held, 1);
	CHECK_EQ(found[0].immediate, 1);
	CHECK_OK(weir_sem_acquire(&fixed, 1, NULL));
	CHECK_EQ(only("fixed", WEIR_DIAG_SEM)->held, 2);
	/* One for each call site; with sanitizers both may have the same one. */
	CHECK(found[0].holders == 1 || found[0].holders == 2);
	weir_sem_release(&fixed, 2);
	CHECK_EQ(only("fixed", WEIR_DIAG_SEM)->held, 0);
	CHECK(!found[0].handed_over);
	CHECK_OK(weir_sem_destroy(&fixed));
	none("fixed");
}

TEST(c48_a_static_semaphore_that_is_released_first)
{
	weir_sem_release(&signals, 1);
	none("signals");
	CHECK_OK(weir_sem_acquire(&signals, 1, NULL));
	CHECK(only("signals", WEIR_DIAG_SEM)->unbounded);
	weir_sem_release(&tried, 1);
	CHECK_OK(weir_sem_try_acquire(&tried, 2));
	/* The third permit was out at the start. */
	CHECK_EQ(only("tried", WEIR_DIAG_SEM)->held, 3);
	CHECK_EQ(found[0].holders, 1);
	weir_sem_release(&tried, 2);
	CHECK_OK(weir_sem_acquire(&hidden, 1, NULL));
	weir_sem_release(&hidden, 1);
	none("hidden");
	CHECK_OK(weir_sem_destroy(&signals));
	CHECK_OK(weir_sem_destroy(&tried));
	CHECK_OK(weir_sem_destroy(&hidden));
}
