/* SPDX-License-Identifier: MIT */
/*
 * The verdicts on waits that can end: SLOW, STALLED, STARVED and STRANDED, and
 * the limit of timeout reports.  Time passes by changing the times in the
 * registry.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/print.h"
#include "base/ticks.h"
#include "check.h"
#include "diag/limit.h"
#include "look.h"
#include "weir/diag.h"
#include "weir/async.h"

static weir_sem sem;
static char text[65536];

static weir_diag_verdict explain(void)
{
	weir_diag_verdict verdict = WEIR_DIAG_FINE;

	CHECK_OK(weir_explain(text, sizeof(text), &verdict));
	return verdict;
}

static void *take_all(void *unused)
{
	weir_sem_info info;

	(void)unused;
	CHECK_OK(weir_sem_stat(&sem, &info));
	CHECK_OK(weir_sem_acquire(&sem, info.capacity, NULL));
	weir_sem_release(&sem, info.capacity);
	return NULL;
}

/* The record of the only wait on the semaphore. */
static struct rg_wait *the_wait(void)
{
	uint64_t id = weir_record_of_(&sem);

	CHECK_EQ(waits_on(&sem, NULL), 1);
	for (uint32_t i = 0;; i++) {
		struct rg_wait *wait = weir_rg_wait_(weir_registry_->base, i);

		/* relaxed: its thread sleeps. */
		if (at_load_relaxed(&wait->state) == RG_LIVE &&
		    at_load_relaxed(&wait->object) == id)
			return wait;
	}
}

/* The time in the registry is so many seconds earlier. */
static void age(uint64_t *ticks, uint64_t seconds)
{
	/* relaxed: both; its thread sleeps. */
	at_store_relaxed(ticks, at_load_relaxed(ticks) -
					seconds * weir_ticks_per_s_());
}

TEST(stalled_if_no_release_for_far_longer_than_usual)
{
	struct rg_object *object;
	check_thread thread;

	watch(&sem, 1, "stalled");
	object = object_of(&sem);
	for (int i = 0; i < 19; i++) {
		CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
		weir_sem_release(&sem, 1);
	}
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	thread = start(take_all, NULL);
	AWAIT(waiters_of(&sem) == 1 && waits_on(&sem, NULL) == 1);
	/* 19 releases in 60 seconds: stalled after 32 seconds. */
	age(&object->since, 60);
	CHECK_EQ(explain(), WEIR_DIAG_SLOW);
	age(&the_wait()->since, 10);
	CHECK_EQ(explain(), WEIR_DIAG_SLOW);
	age(&the_wait()->since, 40);
	CHECK_EQ(explain(), WEIR_DIAG_STALLED);
	CHECK(strstr(text, "verdict  STALLED\n"));
	/* A release that the queue has seen. */
	/* relaxed: nothing else writes it. */
	at_store_relaxed(&object->last_release, (uint64_t)weir_ticks_());
	CHECK_EQ(explain(), WEIR_DIAG_SLOW);
	age(&object->last_release, 50);
	CHECK_EQ(explain(), WEIR_DIAG_STALLED);
	weir_sem_release(&sem, 1);
	finish(thread);
	CHECK(explain() <= WEIR_DIAG_SLOW);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* Others take a permit and release it; false if the waiter is overdue. */
static bool overtake(int rounds)
{
	weir_err err = WEIR_OK;

	while (!err && rounds--) {
		err = weir_sem_try_acquire(&sem, 1);
		if (!err)
			weir_sem_release(&sem, 1);
	}
	return !err;
}

/*
 * Returns false if the starvation bound of the waiter, 16 seconds, passed
 * before the end: then nothing overtakes it any more.
 */
static bool starves(void)
{
	weir_sem_opts opts = { .permits = 2, .name = "starved",
			       .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	int64_t began_ns = weir_now_ns();
	check_thread thread;
	bool shown;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	thread = start(take_all, NULL);
	AWAIT(waiters_of(&sem) == 1 && waits_on(&sem, NULL) == 1);
	shown = overtake(8194);
	age(&the_wait()->since, 2);
	/* It is stalled if the last release was more than a second ago. */
	CHECK(explain() <= WEIR_DIAG_STALLED);
	shown = shown && overtake(2);
	if (shown) {
		CHECK_EQ(explain(), WEIR_DIAG_STARVED);
		CHECK(strstr(text, "  STARVED\n"));
	} else {
		CHECK(weir_now_ns() - began_ns >= WEIR_BARGE_US_MAX * 1000LL);
	}
	weir_sem_release(&sem, 1);
	finish(thread);
	CHECK_EQ(object_of(&sem)->queued, 0);
	CHECK_OK(weir_sem_destroy(&sem));
	return shown;
}

TEST(starved_if_others_take_the_permits_again_and_again)
{
	while (!starves())
		;
}

static void *take_one(void *unused)
{
	(void)unused;
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_sem_release(&sem, 1);
	return NULL;
}

/* The waiters before it in the queue do not overtake it. */
TEST(not_starved_behind_a_long_queue)
{
	check_thread threads[40];
	struct rg_object *object;
	struct rg_wait wait;

	watch(&sem, 1, "queue");
	object = object_of(&sem);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	for (unsigned i = 0; i < 40; i++) {
		threads[i] = start(take_one, NULL);
		AWAIT(waits_on(&sem, &wait) == i + 1);
		CHECK_EQ(object->queued, i + 1);
	}
	CHECK(explain() <= WEIR_DIAG_SLOW);
	weir_sem_release(&sem, 1);
	for (unsigned i = 0; i < 40; i++)
		finish(threads[i]);
	CHECK_EQ(object->queued, 0);
	CHECK(object->released >= 39);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(stranded_if_an_operation_is_granted_and_not_polled)
{
	weir_diag_verdict verdict = WEIR_DIAG_STRANDED;
	weir_op op;

	watch(&sem, 1, "stranded");
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&op, &sem, 1, NULL), WEIR_EQUEUED);
	/* A long wait before the grant is none after it. */
	age(&the_wait()->since, 60);
	weir_sem_release(&sem, 1);
	/* If a second has passed since the grant, retry. */
	for (int64_t begun_ns = 0; verdict != WEIR_DIAG_SLOW;) {
		CHECK(!begun_ns || weir_now_ns() - begun_ns > 1000000000);
		begun_ns = weir_now_ns();
		/* relaxed: nothing else writes it. */
		at_store_relaxed(&the_wait()->granted, (uint64_t)weir_ticks_());
		verdict = explain();
	}
	CHECK(strstr(text, "  queue empty, 1 granted and not picked up yet:\n"));
	CHECK(strstr(text, "  granted "));
	CHECK(strstr(text, " ago  SLOW\n"));
	age(&the_wait()->granted, 2);
	CHECK_EQ(explain(), WEIR_DIAG_STRANDED);
	CHECK(strstr(text, " ago  STRANDED\n"));
	CHECK_EQ(object_of(&sem)->queued, 0);
	CHECK_OK(weir_op_poll(&op));
	weir_sem_release(&sem, 1);
	CHECK(explain() <= WEIR_DIAG_SLOW);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* The reports of ten timeouts, printed with WEIR_DIAG=report=3. */
static unsigned printed_reports(void)
{
	int before = dup(STDERR_FILENO), file = memfd_create("errors", 0);
	unsigned n = 0;
	ssize_t size;

	CHECK(before >= 0 && file >= 0);
	CHECK(dup2(file, STDERR_FILENO) >= 0);
	for (int i = 0; i < 10; i++)
		CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000000),
			  WEIR_ETIMEDOUT);
	CHECK(dup2(before, STDERR_FILENO) >= 0);
	size = pread(file, text, sizeof(text) - 1, 0);
	CHECK(size >= 0);
	text[size] = '\0';
	for (const char *at = text; (at = strstr(at, "weir: acquire timed "));
	     at++)
		n++;
	close(before);
	close(file);
	return n;
}

static int64_t minute(void)
{
	return weir_now_ns() / INT64_C(60000000000);
}

TEST(at_most_n_timeout_reports_a_minute)
{
	int64_t began = minute();
	unsigned first, second;

	watch(&sem, 1, "late");
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	first = printed_reports();
	second = printed_reports();
	/* If a minute ends meanwhile, the next one has three more. */
	if (minute() == began) {
		CHECK_EQ(first, 3);
		CHECK_EQ(second, 0);
	}
	CHECK(first >= 3 && first + second <= 6);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void test_cancel(const char *report)
{
	(void)report;
	pthread_testcancel();
}

static void *time_out_cancelled(void *unused)
{
	(void)unused;
	pthread_cancel(pthread_self());
	CHECK_EQ(weir_sem_acquire_for(&sem, 1, 1000000),
		 WEIR_ETIMEDOUT);
	return &sem;
}

/* As every call of weir/sem.h. */
TEST(a_report_is_no_cancellation_point)
{
	pthread_t thread;
	void *result;

	watch(&sem, 1, "cancelled");
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(!weir_diag_set_report(test_cancel));
	CHECK(!pthread_create(&thread, NULL, time_out_cancelled, NULL));
	CHECK(!pthread_join(thread, &result));
	CHECK(result == &sem);
	CHECK(weir_diag_set_report(NULL) == test_cancel);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

static bool is_pending(int signal)
{
	sigset_t pending;

	CHECK(!sigpending(&pending));
	return sigismember(&pending, signal);
}

/* The program's own SIGPIPE remains; a report adds none. */
TEST(a_report_to_a_closed_pipe_sends_no_signal)
{
	int before = dup(STDERR_FILENO), ends[2];
	struct timespec now = { 0, 0 };
	bool added, kept;
	sigset_t pipe_signal, mask;

	CHECK(before >= 0);
	CHECK(!pipe(ends));
	close(ends[0]);
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	CHECK(!pthread_sigmask(SIG_BLOCK, &pipe_signal, &mask));
	CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
	weir_print_(STDERR_FILENO, "report\n", 7);
	added = is_pending(SIGPIPE);
	CHECK(!pthread_kill(pthread_self(), SIGPIPE));
	weir_print_(STDERR_FILENO, "report\n", 7);
	kept = is_pending(SIGPIPE);
	(void)sigtimedwait(&pipe_signal, NULL, &now);
	CHECK(!pthread_sigmask(SIG_SETMASK, &mask, NULL));
	/* Not blocked: the signal would end the process. */
	weir_print_(STDERR_FILENO, "report\n", 7);
	CHECK(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	close(ends[1]);
	CHECK(!added);
	CHECK(kept);
}
