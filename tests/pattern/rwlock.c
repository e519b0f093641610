/* SPDX-License-Identifier: MIT */
/* The reader-writer lock with each of its three preferences. */
#include <stdio.h>

#include "check.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/rwlock.h"

static weir_rwlock rw;
static const weir_rw_prefer all[] = { WEIR_RW_BARGING, WEIR_RW_FIFO,
				      WEIR_RW_WRITERS };

static void begin(weir_rw_prefer prefer)
{
	CHECK_OK(weir_rwlock_init(&rw, &(weir_rwlock_opts){
		.prefer = prefer,
		/* Longer than any test takes. */
		.barge_us = prefer == WEIR_RW_BARGING ? WEIR_BARGE_US_MAX : 0,
		.name = "rw" }));
}

static weir_rwlock_info info(void)
{
	weir_rwlock_info i;

	CHECK_OK(weir_rwlock_stat(&rw, &i));
	return i;
}

static void end(void)
{
	CHECK_EQ(info().readers, 0);
	CHECK_EQ(info().waiters, 0);
	CHECK_OK(weir_rwlock_destroy(&rw));
}

/* A call on its own thread, and its result. */
enum call { READ, WRITE };

struct caller {
	enum call call;
	weir_ctx *ctx;
	int64_t deadline;
	check_thread thread;
	weir_err err;
	int done;
};

static void *caller(void *arg)
{
	struct caller *g = arg;

	if (g->deadline)
		g->err = g->call == READ ?
				 weir_rwlock_read_until(&rw, g->deadline) :
				 weir_rwlock_write_until(&rw, g->deadline);
	else
		g->err = g->call == READ ? weir_rwlock_read(&rw, g->ctx) :
					   weir_rwlock_write(&rw, g->ctx);
	__atomic_store_n(&g->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_done(struct caller *g)
{
	return __atomic_load_n(&g->done, __ATOMIC_ACQUIRE);
}

/* Start the call and wait until it is queued. */
static void start_waiting(struct caller *g)
{
	uint32_t before = info().waiters;

	g->thread = start(caller, g);
	AWAIT(info().waiters == before + 1);
}

static void finishes_with(struct caller *g, weir_err want)
{
	finish(g->thread);
	CHECK_ERR(g->err, want);
}

TEST(readers_share_and_writers_do_not)
{
	for (int i = 0; i < 3; i++) {
		begin(all[i]);
		CHECK_EQ(info().prefer, all[i]);
		CHECK_OK(weir_rwlock_read(&rw, NULL));
		CHECK_OK(weir_rwlock_read_until(&rw, 0));
		CHECK_OK(weir_rwlock_try_read(&rw));
		CHECK_EQ(info().readers, 3);
		CHECK(!info().writing);
		CHECK_ERR(weir_rwlock_try_write(&rw), WEIR_EAGAIN);
		CHECK_ERR(weir_rwlock_write_until(&rw, 0), WEIR_ETIMEDOUT);
		CHECK_ERR(weir_rwlock_destroy(&rw), WEIR_EBUSY);
		for (int k = 0; k < 3; k++)
			weir_rwlock_read_done(&rw);
		CHECK_OK(weir_rwlock_write(&rw, NULL));
		CHECK(info().writing && info().readers == 0);
		CHECK_ERR(weir_rwlock_try_read(&rw), WEIR_EAGAIN);
		CHECK_ERR(weir_rwlock_try_write(&rw), WEIR_EAGAIN);
		CHECK_ERR(weir_rwlock_read_until(&rw, 0), WEIR_ETIMEDOUT);
		CHECK_ERR(weir_rwlock_destroy(&rw), WEIR_EBUSY);
		weir_rwlock_write_done(&rw);
		CHECK_OK(weir_rwlock_try_write(&rw));
		weir_rwlock_write_done(&rw);
		end();
	}
}

TEST(static_one_is_barging)
{
	static weir_rwlock fixed = WEIR_RWLOCK_INIT;
	weir_rwlock_info i;

	CHECK_OK(weir_rwlock_stat(&fixed, &i));
	CHECK_EQ(i.prefer, WEIR_RW_BARGING);
	CHECK_OK(weir_rwlock_read(&fixed, NULL));
	CHECK_ERR(weir_rwlock_try_write(&fixed), WEIR_EAGAIN);
	weir_rwlock_read_done(&fixed);
	CHECK_OK(weir_rwlock_write(&fixed, NULL));
	weir_rwlock_write_done(&fixed);
	CHECK_OK(weir_rwlock_destroy(&fixed));
}

/* C4: a reader waits behind an earlier writer. */
TEST(c4_fifo_is_in_order_of_arrival)
{
	struct caller writer = { .call = WRITE }, reader = { .call = READ };

	begin(WEIR_RW_FIFO);
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	start_waiting(&writer);
	start_waiting(&reader);
	CHECK_ERR(weir_rwlock_try_read(&rw), WEIR_EAGAIN);
	weir_rwlock_read_done(&rw);
	finishes_with(&writer, WEIR_OK);
	CHECK(!is_done(&reader));
	weir_rwlock_write_done(&rw);
	finishes_with(&reader, WEIR_OK);
	weir_rwlock_read_done(&rw);
	end();
}

/* C30: a reader joins other readers although a writer waits. */
TEST(c30_readers_pass_a_writer)
{
	struct caller writer = { .call = WRITE };

	begin(WEIR_RW_BARGING);
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	start_waiting(&writer);
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	CHECK_OK(weir_rwlock_try_read(&rw));
	weir_rwlock_read_done(&rw);
	weir_rwlock_read_done(&rw);
	CHECK(!is_done(&writer));
	weir_rwlock_read_done(&rw);
	finishes_with(&writer, WEIR_OK);
	weir_rwlock_write_done(&rw);
	end();
}

/* C30: after the starvation bound no reader passes the writer any more. */
TEST(c30_writer_does_not_starve)
{
	struct caller writer = { .call = WRITE };

	CHECK_OK(weir_rwlock_init(&rw, &(weir_rwlock_opts){
		.prefer = WEIR_RW_BARGING, .barge_us = 1 }));
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	start_waiting(&writer);
	AWAIT(weir_rwlock_try_read(&rw) == WEIR_EAGAIN ||
	      (weir_rwlock_read_done(&rw), false));
	weir_rwlock_read_done(&rw);
	finishes_with(&writer, WEIR_OK);
	weir_rwlock_write_done(&rw);
	end();
}

/* C30: after the starvation bound no writer passes the reader any more. */
TEST(c30_reader_does_not_starve)
{
	struct caller reader = { .call = READ };
	int64_t queued;

	CHECK_OK(weir_rwlock_init(&rw, &(weir_rwlock_opts){ .barge_us = 1 }));
	CHECK_OK(weir_rwlock_write(&rw, NULL));
	start_waiting(&reader);
	queued = weir_now_ns();
	while (weir_now_ns() < queued + 2000)
		;
	weir_rwlock_write_done(&rw);
	/* The lock was handed over before write_done returned. */
	CHECK_ERR(weir_rwlock_try_write(&rw), WEIR_EAGAIN);
	finishes_with(&reader, WEIR_OK);
	weir_rwlock_read_done(&rw);
	end();
}

/* A later writer goes before a waiting reader. */
TEST(writers_first)
{
	struct caller reader = { .call = READ }, first = { .call = WRITE },
		      second = { .call = WRITE };

	begin(WEIR_RW_WRITERS);
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	start_waiting(&first);
	CHECK_ERR(weir_rwlock_try_read(&rw), WEIR_EAGAIN);
	start_waiting(&reader);
	start_waiting(&second);
	weir_rwlock_read_done(&rw);
	finishes_with(&first, WEIR_OK);
	weir_rwlock_write_done(&rw);
	finishes_with(&second, WEIR_OK);
	CHECK(!is_done(&reader));
	weir_rwlock_write_done(&rw);
	finishes_with(&reader, WEIR_OK);
	weir_rwlock_read_done(&rw);
	end();
}

/* C7: the writer is cancelled, and the readers behind it enter. */
TEST(c7_writer_that_leaves_lets_readers_in)
{
	for (int i = 1; i < 3; i++) {
		weir_ctx ctx = WEIR_CTX_INIT;
		struct caller writer = { .call = WRITE, .ctx = &ctx },
			      reader = { .call = READ }, another = reader;

		begin(all[i]);
		CHECK_OK(weir_rwlock_read(&rw, NULL));
		start_waiting(&writer);
		start_waiting(&reader);
		start_waiting(&another);
		weir_ctx_cancel(&ctx);
		finishes_with(&writer, WEIR_ECANCELED);
		finishes_with(&reader, WEIR_OK);
		finishes_with(&another, WEIR_OK);
		for (int k = 0; k < 3; k++)
			weir_rwlock_read_done(&rw);
		CHECK_OK(weir_ctx_destroy(&ctx));
		end();
	}
}

/* C13: a reader that waits for writers is cancelled, without any effect. */
TEST(c13_reader_that_leaves)
{
	weir_ctx ctx = WEIR_CTX_INIT;
	struct caller reader = { .call = READ, .ctx = &ctx },
		      stays = { .call = READ };

	begin(WEIR_RW_WRITERS);
	CHECK_OK(weir_rwlock_write(&rw, NULL));
	start_waiting(&reader);
	start_waiting(&stays);
	weir_ctx_cancel(&ctx);
	finishes_with(&reader, WEIR_ECANCELED);
	weir_rwlock_write_done(&rw);
	finishes_with(&stays, WEIR_OK);
	weir_rwlock_read_done(&rw);
	CHECK_EQ(weir_sem_available(&rw.recall_), 0);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(upgrade_is_refused_rather_than_waited_for)
{
	for (int i = 0; i < 3; i++) {
		struct caller writer = { .call = WRITE };

		begin(all[i]);
		CHECK_OK(weir_rwlock_read(&rw, NULL));
		CHECK_OK(weir_rwlock_read(&rw, NULL));
		/* Two readers: neither can become the writer. */
		CHECK_ERR(weir_rwlock_try_upgrade(&rw), WEIR_EAGAIN);
		CHECK_EQ(info().readers, 2);
		weir_rwlock_read_done(&rw);
		CHECK_OK(weir_rwlock_try_upgrade(&rw));
		CHECK(info().writing);
		weir_rwlock_downgrade(&rw);
		CHECK(!info().writing && info().readers == 1);
		CHECK_OK(weir_rwlock_try_read(&rw));
		weir_rwlock_read_done(&rw);
		/* A writer waits: an upgrade would pass it. */
		start_waiting(&writer);
		if (all[i] != WEIR_RW_BARGING)
			CHECK_ERR(weir_rwlock_try_upgrade(&rw), WEIR_EAGAIN);
		weir_rwlock_read_done(&rw);
		finishes_with(&writer, WEIR_OK);
		weir_rwlock_write_done(&rw);
		end();
	}
}

/* C30: with BARGING an upgrade passes a writer that waits within the bound. */
TEST(c30_upgrade_within_the_bound)
{
	const weir_rwlock_opts opts = { .barge_us = WEIR_BARGE_US_MAX };
	struct caller writer = { .call = WRITE };

	CHECK_OK(weir_rwlock_init(&rw, &opts));
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	start_waiting(&writer);
	CHECK_OK(weir_rwlock_try_upgrade(&rw));
	weir_rwlock_write_done(&rw);
	finishes_with(&writer, WEIR_OK);
	weir_rwlock_write_done(&rw);
	end();
}

/* Close in every state. */
TEST(c19_close_wakes_waiters)
{
	for (int i = 0; i < 3; i++) {
		struct caller guests[4] = {
			{ .call = READ }, { .call = WRITE },
			{ .call = READ, .deadline = WEIR_FOREVER },
			{ .call = WRITE, .deadline = WEIR_FOREVER } };

		begin(all[i]);
		CHECK_OK(weir_rwlock_write(&rw, NULL));
		for (int k = 0; k < 4; k++)
			start_waiting(&guests[k]);
		weir_rwlock_close(&rw);
		weir_rwlock_close(&rw);
		for (int k = 0; k < 4; k++)
			finishes_with(&guests[k], WEIR_ECLOSED);
		CHECK(info().closed);
		CHECK_ERR(weir_rwlock_try_read(&rw), WEIR_ECLOSED);
		CHECK_ERR(weir_rwlock_try_write(&rw), WEIR_ECLOSED);
		CHECK_ERR(weir_rwlock_read(&rw, NULL), WEIR_ECLOSED);
		CHECK_ERR(weir_rwlock_write(&rw, NULL), WEIR_ECLOSED);
		weir_rwlock_downgrade(&rw);
		weir_rwlock_read_done(&rw);
		end();
	}
}

static void begin_with_max_waiters(weir_rw_prefer prefer, uint32_t most)
{
	CHECK_OK(weir_rwlock_init(&rw, &(weir_rwlock_opts){
		.prefer = prefer, .max_waiters = most }));
}

/* C31: the bound is for readers and writers together; beyond it, WEIR_EBUSY. */
TEST(c31_max_waiters_is_for_both_kinds)
{
	for (int i = 0; i < 6; i++) {
		struct caller waiter = { .call = i % 2 ? READ : WRITE };

		begin_with_max_waiters(all[i / 2], 1);
		CHECK_OK(weir_rwlock_write(&rw, NULL));
		start_waiting(&waiter);
		CHECK_ERR(weir_rwlock_read_until(&rw, 0), WEIR_EBUSY);
		CHECK_ERR(weir_rwlock_write_until(&rw, 0), WEIR_EBUSY);
		CHECK_ERR(weir_rwlock_read(&rw, NULL), WEIR_EBUSY);
		CHECK_ERR(weir_rwlock_write(&rw, NULL), WEIR_EBUSY);
		CHECK_EQ(info().waiters, 1);
		weir_rwlock_write_done(&rw);
		finishes_with(&waiter, WEIR_OK);
		if (waiter.call == READ)
			weir_rwlock_read_done(&rw);
		else
			weir_rwlock_write_done(&rw);
		/* C16: the refused calls had no effect. */
		CHECK_OK(weir_rwlock_read(&rw, NULL));
		CHECK_ERR(weir_rwlock_write_until(&rw, 0), WEIR_ETIMEDOUT);
		weir_rwlock_read_done(&rw);
		end();
	}
}

/* C31: readers that have entered do not count; waiting readers do. */
TEST(c31_max_waiters_of_readers_that_are_recalled)
{
	struct caller readers[3] = { { .call = READ }, { .call = READ },
				     { .call = READ } };

	begin_with_max_waiters(WEIR_RW_WRITERS, 3);
	CHECK_OK(weir_rwlock_write(&rw, NULL));
	for (int i = 0; i < 3; i++)
		start_waiting(&readers[i]);
	CHECK_ERR(weir_rwlock_write(&rw, NULL), WEIR_EBUSY);
	weir_rwlock_write_done(&rw);
	for (int i = 0; i < 3; i++)
		finishes_with(&readers[i], WEIR_OK);
	CHECK_EQ(info().readers, 3);
	for (int i = 0; i < 3; i++)
		weir_rwlock_read_done(&rw);
	end();
}

/* C2, C19: a cancelled context and a close take precedence over the bound. */
TEST(c2_order_of_checks_with_max_waiters)
{
	struct caller writer = { .call = WRITE };
	weir_ctx ctx = WEIR_CTX_INIT;

	begin_with_max_waiters(WEIR_RW_WRITERS, 1);
	CHECK_OK(weir_rwlock_write(&rw, &ctx));
	start_waiting(&writer);
	CHECK_ERR(weir_rwlock_read(&rw, &ctx), WEIR_EBUSY);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(weir_rwlock_read(&rw, &ctx), WEIR_ECANCELED);
	CHECK_ERR(weir_rwlock_write(&rw, &ctx), WEIR_ECANCELED);
	weir_rwlock_close(&rw);
	finishes_with(&writer, WEIR_ECLOSED);
	CHECK_ERR(weir_rwlock_read(&rw, NULL), WEIR_ECLOSED);
	CHECK_ERR(weir_rwlock_write(&rw, NULL), WEIR_ECLOSED);
	weir_rwlock_write_done(&rw);
	CHECK_OK(weir_ctx_destroy(&ctx));
	end();
}

TEST(bad_input)
{
	weir_rwlock zeroed;
	weir_rwlock_info i;

	memset(&zeroed, 0, sizeof(zeroed));
#define REFUSED(...)                                                           \
	CHECK_ERR(weir_rwlock_init(&rw, &(weir_rwlock_opts){ __VA_ARGS__ }),   \
		  WEIR_EINVAL)
	CHECK_ERR(weir_rwlock_init(NULL, NULL), WEIR_EINVAL);
	REFUSED(.prefer = (weir_rw_prefer)3);
	REFUSED(.flags = 1);
	REFUSED(.prefer = WEIR_RW_FIFO, .barge_us = 1);
	REFUSED(.prefer = WEIR_RW_BARGING, .barge_us = WEIR_BARGE_US_MAX + 1);
	REFUSED(.reserved_ = { 0, 1, 0 });
	CHECK_ERR(weir_rwlock_read(&zeroed, NULL), WEIR_EINVAL);
	CHECK_ERR(weir_rwlock_write_until(NULL, 0), WEIR_EINVAL);
	CHECK_ERR(weir_rwlock_try_read(NULL), WEIR_EINVAL);
	CHECK_ERR(weir_rwlock_try_write(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_rwlock_try_upgrade(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_rwlock_destroy(&zeroed), WEIR_EINVAL);
	CHECK_ERR(weir_rwlock_stat(&zeroed, &i), WEIR_EINVAL);
	CHECK_PANICS("weir_rwlock_close", weir_rwlock_close(&zeroed));
	CHECK_PANICS("weir_rwlock_read_done", weir_rwlock_read_done(NULL));
	CHECK_PANICS("weir_rwlock_write_done", weir_rwlock_write_done(NULL));
	CHECK_PANICS("weir_rwlock_downgrade", weir_rwlock_downgrade(NULL));
	begin(WEIR_RW_WRITERS);
	CHECK_ERR(weir_rwlock_stat(&rw, NULL), WEIR_EINVAL);
	/* No reader and no writer is inside. */
	CHECK_PANICS("weir_rwlock_read_done: rwlock \"rw\" has no reader",
		     weir_rwlock_read_done(&rw));
	CHECK_PANICS("\"rw\" has no writer", weir_rwlock_write_done(&rw));
	CHECK_PANICS("\"rw\" has no reader",
		     CHECK_ERR(weir_rwlock_try_upgrade(&rw), WEIR_EINVAL));
	CHECK_EQ(info().readers, 0);
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	CHECK_PANICS("\"rw\" has no writer", weir_rwlock_write_done(&rw));
	CHECK_PANICS("\"rw\" has no writer", weir_rwlock_downgrade(&rw));
	weir_rwlock_read_done(&rw);
	end();
	CHECK_OK(weir_rwlock_init(&rw, &(weir_rwlock_opts){ .max_waiters = 1 }));
	struct caller one = { .call = WRITE };
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	start_waiting(&one);
	CHECK_ERR(weir_rwlock_write(&rw, NULL), WEIR_EBUSY);
	weir_rwlock_read_done(&rw);
	finishes_with(&one, WEIR_OK);
	weir_rwlock_write_done(&rw);
	end();
}

/* All forms of the calls on many threads; the protected data is never torn. */
static int64_t left, right, reads, writes;

static void check_data(void)
{
	CHECK_EQ(left, right);
	__atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
}

static void change(void)
{
	left++;
	writes++;
	right++;
}

static void one_round(uint64_t *seed)
{
	int64_t deadline = weir_deadline_after(random_below(seed, 50000));
	weir_err err;

	switch (random_below(seed, 6)) {
	case 0:
		err = weir_rwlock_write_until(&rw, deadline);
		break;
	case 1:
		err = weir_rwlock_try_write(&rw);
		break;
	case 2:
		err = weir_rwlock_read_until(&rw, deadline);
		if (!err && weir_rwlock_try_upgrade(&rw)) {
			check_data();
			weir_rwlock_read_done(&rw);
			return;
		}
		break;
	default:
		err = weir_rwlock_read(&rw, NULL);
		CHECK_OK(err);
		check_data();
		weir_rwlock_read_done(&rw);
		return;
	}
	CHECK(err == WEIR_OK || err == WEIR_EAGAIN || err == WEIR_ETIMEDOUT);
	if (err)
		return;
	change();
	if (random_below(seed, 2)) {
		weir_rwlock_write_done(&rw);
		return;
	}
	weir_rwlock_downgrade(&rw);
	check_data();
	weir_rwlock_read_done(&rw);
}

static void *storm(void *arg)
{
	uint64_t seed = seed_of((uint64_t)(uintptr_t)arg);

	for (int i = 0; i < 2000 * check_scale(); i++)
		one_round(&seed);
	return NULL;
}

TEST(storm_tears_nothing)
{
	for (int i = 0; i < 3; i++) {
		check_thread threads[5];

		left = right = reads = writes = 0;
		begin(all[i]);
		for (uintptr_t k = 0; k < 5; k++)
			threads[k] = start(storm, (void *)(k + 10));
		for (int k = 0; k < 5; k++)
			finish(threads[k]);
		CHECK(writes > 0 && reads > 0);
		CHECK_EQ(left, writes);
		CHECK_EQ(weir_sem_available(&rw.recall_), 0);
		CHECK_EQ(rw.readers_, 0);
		end();
	}
}

/*
 * C8: a writer that leaves as a reader would admit readers during the write.
 * The panic names the rwlock, and the writer is still inside.
 */
TEST(c8_a_writer_is_no_reader)
{
	for (int i = 0; i < 3; i++) {
		begin(all[i]);
		CHECK_OK(weir_rwlock_write(&rw, NULL));
		CHECK_PANICS("weir_rwlock_read_done: rwlock \"rw\" has a writer",
			     weir_rwlock_read_done(&rw));
		CHECK_PANICS("weir_rwlock_try_upgrade: rwlock \"rw\" has a "
			     "writer", CHECK_ERR(weir_rwlock_try_upgrade(&rw),
						 WEIR_EINVAL));
		CHECK(info().writing);
		CHECK_ERR(weir_rwlock_try_read(&rw), WEIR_EAGAIN);
		weir_rwlock_write_done(&rw);
		CHECK_OK(weir_rwlock_try_read(&rw));
		weir_rwlock_read_done(&rw);
		end();
	}
}

/* An unnamed rwlock of the static initialiser. */
TEST(c8_unmatched_read_done)
{
	static weir_rwlock fresh = WEIR_RWLOCK_INIT;
	char text[80];

	snprintf(text, sizeof(text),
		 "weir_rwlock_read_done: rwlock %p has no reader",
		 (void *)&fresh);
	CHECK_PANICS(text, weir_rwlock_read_done(&fresh));
	CHECK_OK(weir_rwlock_read(&fresh, NULL));
	weir_rwlock_read_done(&fresh);
	CHECK_PANICS("has no reader", weir_rwlock_read_done(&fresh));
	CHECK_OK(weir_rwlock_destroy(&fresh));
}

static int released;

static void try_in_the_hook(const weir_diag_event *event)
{
	if (event->kind != WEIR_DIAG_RELEASED || released++)
		return;
	if (!weir_rwlock_try_write(&rw))
		weir_rwlock_write_done(&rw);
}

static void recall_with_the_hook(void)
{
	struct caller reader = { .call = READ };
	weir_sem_info recall;

	begin(WEIR_RW_WRITERS);
	CHECK_OK(weir_rwlock_write(&rw, NULL));
	reader.thread = start(caller, &reader);
	do
		CHECK_OK(weir_sem_stat(&rw.recall_, &recall));
	while (!recall.waiters);
	CHECK(!weir_diag_set_hook(try_in_the_hook));
	weir_rwlock_write_done(&rw);
	CHECK(weir_diag_set_hook(NULL) == try_in_the_hook);
	finishes_with(&reader, WEIR_OK);
	weir_rwlock_read_done(&rw);
	end();
}

/*
 * The event hook runs with no lock held: it may use the lock whose event it gets.
 * There is no event if the reader still spins.
 */
TEST(c27_the_hook_of_a_recall_uses_the_lock)
{
	while (!released)
		recall_with_the_hook();
}
