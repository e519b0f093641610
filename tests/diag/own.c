/* SPDX-License-Identifier: MIT */
/*
 * weir_report, weir_explain and timeout reports, with the real recorder in this
 * process; and what the recorder writes, as the reader sees it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "check.h"
#include "diag/maps.h"
#include "weir/async.h"
#include "weir/ctx.h"
#include "weir/diag.h"
#include "weir/multi.h"
#include "weir/permit.h"
#include "weir/rwlock.h"

static char text[65536];

/* As SITES_ARE_EXACT in look.h. */
#ifdef LIBRARY_HAS_TAIL_CALLS
#define EXACT true
#else
#define EXACT false
#endif

#define CHECK_TEXT(whole, part)                                                \
	do {                                                                   \
		if (!strstr(whole, part))                                      \
			check_fail(__FILE__, __LINE__,                         \
				   "\"%s\" is not in:\n%s", part, whole);      \
	} while (0)

static bool is_in(uint64_t site, void (*function)(void))
{
	/* More than the size of a function below. */
	return site - (uintptr_t)function < 1024;
}

static void init(weir_sem *sem, const char *name, int64_t permits)
{
	weir_sem_opts opts = { .permits = permits, .name = name };

	CHECK_OK(weir_sem_init_opts(sem, &opts));
}

static weir_diag_verdict explain(void)
{
	weir_diag_verdict verdict = WEIR_DIAG_FINE;

	CHECK_OK(weir_explain(text, sizeof(text), &verdict));
	return verdict;
}

struct pair {
	weir_sem first, second;
	weir_ctx *end;
};

static void *take_forward(void *arg)
{
	struct pair *pair = arg;

	CHECK_OK(weir_sem_acquire(&pair->first, 1, NULL));
	while (weir_sem_available(&pair->second))
		check_pause(__FILE__, __LINE__, "the other thread",
			    &(int64_t){ 0 });
	CHECK_ERR(weir_sem_acquire(&pair->second, 1, pair->end),
		  WEIR_ECANCELED);
	weir_sem_release(&pair->first, 1);
	return NULL;
}

static void *take_backward(void *arg)
{
	struct pair *pair = arg;

	CHECK_OK(weir_sem_acquire(&pair->second, 1, NULL));
	while (weir_sem_available(&pair->first))
		check_pause(__FILE__, __LINE__, "the other thread",
			    &(int64_t){ 0 });
	CHECK_OK(weir_sem_acquire(&pair->first, 1, NULL));
	weir_sem_release(&pair->first, 1);
	weir_sem_release(&pair->second, 1);
	return NULL;
}

TEST(c50_deadlock_of_two_threads)
{
	struct pair pair;
	check_thread one, two;
	weir_ctx ctx;

	init(&pair.first, "first", 1);
	init(&pair.second, "second", 1);
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	pair.end = &ctx;
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	one = start(take_forward, &pair);
	two = start(take_backward, &pair);
	AWAIT(waiters_of(&pair.first) && waiters_of(&pair.second));
	CHECK_EQ(explain(), WEIR_DIAG_DEADLOCK);
	CHECK_TEXT(text, "weir: DEADLOCK  2 contexts can never proceed");
	CHECK_TEXT(text, "raise first by 1 | raise second by 1");
	CHECK_TEXT(text, "can be cancelled");
	weir_ctx_cancel(&ctx);
	finish(one);
	finish(two);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&pair.first));
	CHECK_OK(weir_sem_destroy(&pair.second));
}

static void *take_five_and_six(void *arg)
{
	struct pair *pair = arg;

	CHECK_OK(weir_sem_acquire(&pair->first, 5, NULL));
	weir_sem_release(&pair->second, 1);
	CHECK_ERR(weir_sem_acquire(&pair->first, 6, pair->end), WEIR_ECANCELED);
	weir_sem_release(&pair->first, 5);
	return NULL;
}

static void *take_one(void *arg)
{
	CHECK_OK(weir_sem_acquire(arg, 1, NULL));
	weir_sem_release(arg, 1);
	return NULL;
}

/*
 * The head of a BARGING queue can be passed only by requests that are not queued.
 * So a waiter behind a head that cannot proceed cannot proceed either, although
 * the permits that it wants are free, and although the head is not overdue.
 */
TEST(c50_barging_waiters_are_deadlocked_at_once)
{
	weir_sem_opts opts = { .permits = 10, .name = "barging",
			       .policy = WEIR_BARGING,
			       .barge_us = WEIR_BARGE_US_MAX };
	struct pair pair;
	check_thread head, behind;
	weir_ctx ctx;

	CHECK_OK(weir_sem_init_opts(&pair.first, &opts));
	CHECK_OK(weir_sem_init_opts(&pair.second, &(weir_sem_opts){
		.flags = WEIR_SEM_UNBOUNDED }));
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	pair.end = &ctx;
	CHECK_OK(weir_sem_acquire(&pair.first, 5, NULL));
	head = start(take_five_and_six, &pair);
	CHECK_OK(weir_sem_acquire(&pair.second, 1, NULL));
	AWAIT(waiters_of(&pair.first) == 1);
	behind = start(take_one, &pair.first);
	AWAIT(waiters_of(&pair.first) == 2);
	weir_sem_release(&pair.first, 5);
	CHECK_EQ(waiters_of(&pair.first), 2);
	CHECK_EQ(explain(), WEIR_DIAG_DEADLOCK);
	CHECK_TEXT(text, "\n  behind them: tid ");
	/* The permits of a request that is not queued come back. */
	if (!weir_sem_try_acquire(&pair.first, 1))
		weir_sem_release(&pair.first, 1);
	CHECK_EQ(waiters_of(&pair.first), 2);
	CHECK_EQ(explain(), WEIR_DIAG_DEADLOCK);
	weir_ctx_cancel(&ctx);
	finish(head);
	finish(behind);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&pair.first));
	CHECK_OK(weir_sem_destroy(&pair.second));
}

/*
 * A waiter that a shrink makes oversized blocks no other, and one that joins the
 * queue again after a growth can proceed.
 */
TEST(c50_a_resize_moves_waits_to_the_other_list)
{
	weir_op big, small;
	weir_ctx ctx;
	weir_sem sem;
	int64_t debt;

	init(&sem, "sem", 4);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	weir_op_init(&big, NULL, NULL, NULL);
	weir_op_init(&small, NULL, NULL, NULL);
	CHECK_ERR(weir_op_submit(&big, &sem, 4, &ctx), WEIR_EQUEUED);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	CHECK_OK(weir_sem_resize(&sem, 1, &debt));
	CHECK_ERR(weir_op_submit(&small, &sem, 1, NULL), WEIR_EQUEUED);
	CHECK_EQ(explain(), WEIR_DIAG_UNSATISFIABLE);
	CHECK_TEXT(text, "weir: UNSATISFIABLE  1 context can never proceed");
	CHECK_OK(weir_sem_resize(&sem, 4, &debt));
	CHECK_OK(weir_op_poll(&small));
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_op_poll(&big));
	weir_sem_release(&sem, 4);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&sem));
}

static void *hold_and_ask_for_any(void *arg)
{
	struct pair *pair = arg;
	const weir_req reqs[] = { { &pair->first, 2 }, { &pair->second, 1 } };
	size_t which;

	CHECK_OK(weir_sem_acquire(&pair->second, 1, NULL));
	CHECK_ERR(weir_acquire_any(reqs, 2, pair->end, &which),
		  WEIR_ECANCELED);
	weir_sem_release(&pair->second, 1);
	return NULL;
}

static void expect_no_waiter(const weir_diag_object *object, void *name)
{
	if (object->name && !strcmp(object->name, name))
		CHECK_EQ(object->waiters, 0);
}

/* A member that a shrink refuses does not wait any more, though the others do. */
TEST(c50_a_refused_member_of_a_request)
{
	check_thread asker;
	struct pair pair;
	weir_ctx ctx;
	int64_t debt;

	init(&pair.first, "first", 2);
	init(&pair.second, "second", 1);
	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	pair.end = &ctx;
	CHECK_OK(weir_sem_acquire(&pair.first, 1, NULL));
	asker = start(hold_and_ask_for_any, &pair);
	AWAIT(waiters_of(&pair.first) && waiters_of(&pair.second));
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	CHECK_OK(weir_sem_resize(&pair.first, 1, &debt));
	CHECK_EQ(explain(), WEIR_DIAG_SELF_NESTED);
	CHECK_OK(weir_diag_each(expect_no_waiter, (void *)(uintptr_t)"first"));
	weir_ctx_cancel(&ctx);
	finish(asker);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	weir_sem_release(&pair.first, 1);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_sem_destroy(&pair.first));
	CHECK_OK(weir_sem_destroy(&pair.second));
}

static weir_permit passed;

static void *release_passed(void *arg)
{
	weir_permit_release(&passed);
	return arg;
}

struct turn {
	weir_sem *sem;
	uint32_t held, end;
};

static void *hold_both(void *arg)
{
	struct turn *turn = arg;

	CHECK_OK(weir_sem_acquire(turn->sem, 2, NULL));
	at_store_release(&turn->held, 1);
	AWAIT(at_load_acquire(&turn->end));
	weir_sem_release(turn->sem, 2);
	return NULL;
}

static void *want_both(void *arg)
{
	weir_permit p = WEIR_PERMIT_INIT, q = WEIR_PERMIT_INIT;
	struct turn *turn = arg;
	check_thread holder;

	/* Two call sites: two slots of this thread. */
	CHECK_OK(weir_permit_acquire(&p, turn->sem, 1, NULL));
	CHECK_OK(weir_permit_acquire(&q, turn->sem, 1, NULL));
	CHECK_OK(weir_permit_merge(&p, &q));
	passed = weir_permit_move(&p);
	finish(start(release_passed, NULL));
	holder = start(hold_both, turn);
	AWAIT(at_load_acquire(&turn->held));
	CHECK_OK(weir_sem_acquire(turn->sem, 2, NULL));
	weir_sem_release(turn->sem, 2);
	finish(holder);
	return NULL;
}

/* Permits of one object that were recorded in two slots come back from both. */
TEST(c50_moved_permits_of_two_call_sites)
{
	struct turn turn = { .held = 0 };
	check_thread waiter;
	weir_sem sem;

	init(&sem, "merged", 2);
	turn.sem = &sem;
	waiter = start(want_both, &turn);
	AWAIT(at_load_acquire(&turn.held) && waiters_of(&sem));
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	at_store_release(&turn.end, 1);
	finish(waiter);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void *hold_passed(void *arg)
{
	weir_permit mine = WEIR_PERMIT_INIT;
	struct turn *turn = arg;

	CHECK_OK(weir_permit_split(&passed, 1, &mine));
	at_store_release(&turn->held, 1);
	AWAIT(at_load_acquire(&turn->end));
	weir_permit_release(&mine);
	return NULL;
}

static void *want_after_reuse(void *arg)
{
	weir_permit p = WEIR_PERMIT_INIT;
	struct turn *turn = arg;
	check_thread holder;
	weir_sem other;

	init(&other, "other", 1);
	CHECK_OK(weir_sem_acquire(turn->sem, 1, NULL));
	CHECK_OK(weir_permit_acquire(&p, turn->sem, 1, NULL));
	/* It is taken from the newest slot, which is used again. */
	weir_sem_release(turn->sem, 1);
	CHECK_OK(weir_sem_acquire(&other, 1, NULL));
	passed = weir_permit_move(&p);
	holder = start(hold_passed, turn);
	AWAIT(at_load_acquire(&turn->held));
	CHECK_OK(weir_sem_acquire(turn->sem, 2, NULL));
	weir_sem_release(turn->sem, 2);
	finish(holder);
	weir_sem_release(&other, 1);
	CHECK_OK(weir_sem_destroy(&other));
	return NULL;
}

/* The slot of a moved object may have been emptied by a release of other permits. */
TEST(c50_a_moved_permit_whose_slot_is_used_again)
{
	struct turn turn = { .held = 0 };
	check_thread waiter;
	weir_sem sem;

	init(&sem, "reused", 2);
	turn.sem = &sem;
	waiter = start(want_after_reuse, &turn);
	AWAIT(at_load_acquire(&turn.held) && waiters_of(&sem));
	/* The record says that the waiter holds one, but that it may not. */
	CHECK(explain() <= WEIR_DIAG_NO_RELEASER);
	at_store_release(&turn.end, 1);
	finish(waiter);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void *leak(void *arg)
{
	CHECK_OK(weir_sem_acquire(arg, 1, NULL));
	return NULL;
}

TEST(c48_leak_of_a_thread_that_has_ended)
{
	weir_sem sem;

	init(&sem, "leaky", 2);
	finish(start(leak, &sem));
	CHECK_EQ(explain(), WEIR_DIAG_LEAKED);
	CHECK_TEXT(text, "THREAD EXITED");
	CHECK_TEXT(text, "1 permit is lost for good");
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* End without the destructors of the C library's keys. */
static void *leak_and_vanish(void *arg)
{
	CHECK_OK(weir_sem_acquire(arg, 1, NULL));
	syscall(SYS_exit, 0);
	return NULL;
}

/*
 * C48: a thread that calls exit(2) itself does not tell the recorder.  It is not
 * joined: not every C library could.
 */
TEST(c48_leak_of_a_thread_that_has_vanished)
{
	pthread_attr_t attr;
	pthread_t thread;
	weir_sem sem;

	init(&sem, "leaky", 2);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED),
		 0);
	CHECK_EQ(pthread_create(&thread, &attr, leak_and_vanish, &sem), 0);
	AWAIT(explain() == WEIR_DIAG_LEAKED);
	CHECK_TEXT(text, "THREAD EXITED: LEAKED\n");
	CHECK_TEXT(text, "1 permit is lost for good");
	weir_sem_release(&sem, 1);
	CHECK(explain() < WEIR_DIAG_NO_RELEASER);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	CHECK_OK(weir_sem_destroy(&sem));
}

static void *explain_and_exit(void *arg)
{
	weir_diag_verdict verdict = WEIR_DIAG_FINE;

	(void)arg;
	while (weir_explain(text, sizeof(text), &verdict) ||
	       verdict != WEIR_DIAG_LEAKED)
		sched_yield();
	_exit(strstr(text, "THREAD EXITED: LEAKED\n") ? 0 : 1);
}

/* If the verdict is never LEAKED, the test times out. */
static void vanish_in_child(void)
{
	pthread_t thread;
	weir_sem sem;

	init(&sem, "leaky", 2);
	if (weir_sem_acquire(&sem, 1, NULL) ||
	    pthread_create(&thread, NULL, explain_and_exit, NULL))
		_exit(2);
	syscall(SYS_exit, 0);
}

/* As above, for the initial thread, which becomes a zombie. */
TEST(c48_leak_of_an_initial_thread_that_has_vanished)
{
	pid_t child = fork();
	int status;

	if (!child)
		vanish_in_child();
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static char reported[16384];

static void keep_report(const char *report)
{
	snprintf(reported, sizeof(reported), "%s", report);
}

static weir_sem *nested;
static int reports;

static void time_out_in_report(const char *report)
{
	(void)report;
	/* A function that is called again and again would overflow the stack. */
	if (++reports < 100)
		CHECK_ERR(weir_sem_acquire_for(nested, 1, 20000000),
			  WEIR_ETIMEDOUT);
}

TEST(a_report_function_that_times_out_is_not_called_again)
{
	weir_sem sem;

	init(&sem, "limit", 1);
	nested = &sem;
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	CHECK(!weir_diag_set_report(time_out_in_report));
	for (int i = 1; i <= 2; i++) {
		CHECK_ERR(weir_sem_acquire_for(&sem, 1, 20000000),
			  WEIR_ETIMEDOUT);
		CHECK_EQ(reports, i);
	}
	CHECK(weir_diag_set_report(NULL) == time_out_in_report);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * Returns the limit of the wait in the report, in ns.  The time that was waited is
 * not less.
 */
static double limit_in_report(void)
{
	char waited[4], limit[4];
	double waited_ns, limit_ns;
	const char *at = strstr(reported, ", waited ");

	CHECK(at);
	CHECK_EQ(sscanf(at, ", waited %lf %3[mus] (limit %lf %3[mus])",
			&waited_ns, waited, &limit_ns, limit), 4);
	waited_ns *= *waited == 'u' ? 1e3 : *waited == 'm' ? 1e6 : 1e9;
	limit_ns *= *limit == 'u' ? 1e3 : *limit == 'm' ? 1e6 : 1e9;
	/* The last of the digits that are shown is rounded. */
	CHECK(waited_ns * 1.1 >= limit_ns);
	return limit_ns;
}

/* C51: the holders in the report are those of one instant. */
TEST(c51_timeout_report_names_the_holders)
{
	int64_t ns = 1000000;
	weir_sem sem;

	init(&sem, "limit", 3);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK(!weir_diag_set_report(keep_report));
	/* If the deadline passed before it could wait, retry with more time. */
	for (; !reported[0]; ns *= 2) {
		CHECK(ns < INT64_C(16000000000));
		CHECK_ERR(weir_sem_acquire_for(&sem, 2, ns), WEIR_ETIMEDOUT);
	}
	CHECK(weir_diag_set_report(NULL) == keep_report);
	CHECK_TEXT(reported, "weir: acquire timed out: limit wants 2 of 3, "
			     "waited ");
	CHECK(limit_in_report() <= (double)ns / 2 * 1.01);
	CHECK_TEXT(reported, "queue 1 waiting, you were number 1 (0 permits "
			     "before you)");
	CHECK_TEXT(reported, "held  2 permits by 1 context:\n");
	CHECK_TEXT(reported, "verdict  SELF-NESTED");
	CHECK_TEXT(reported, "more  weir explain ");
	reported[0] = '\0';
	CHECK_ERR(weir_sem_acquire_for(&sem, 2, 1000000), WEIR_ETIMEDOUT);
	CHECK_EQ(reported[0], 0);
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/*
 * The callers of a wait.  A function that ends with a call would jump to it.
 */
static weir_sem called;
static int64_t called_for;

__attribute__((noinline)) static void inner(void)
{
	CHECK_ERR(weir_sem_acquire_for(&called, 1, called_for), WEIR_ETIMEDOUT);
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	__asm__ volatile("");
}

/*
 * Parse "module+0x12" as this program names its addresses.  Returns the address
 * in the program.
 */
static uint64_t address_in(const char *site)
{
	char here[256];
	const char *offset = strrchr(site, '+');
	uint64_t base;

	CHECK(weir_diag_map_site_(NULL, (uintptr_t)outer, here, sizeof(here)));
	base = (uintptr_t)outer - strtoull(strrchr(here, '+') + 1, NULL, 16);
	CHECK(offset);
	return base + strtoull(offset + 1, NULL, 16);
}

TEST(c51_timeout_report_names_the_callers)
{
	char *line, *next;

	init(&called, "called", 1);
	reported[0] = '\0';
	CHECK_OK(weir_sem_acquire(&called, 1, NULL));
	CHECK(!weir_diag_set_report(keep_report));
	/* If the deadline passed before it could wait, retry with more time. */
	for (called_for = 1000000; !reported[0]; called_for *= 2) {
		CHECK(called_for < INT64_C(16000000000));
		outer();
	}
	CHECK(weir_diag_set_report(NULL) == keep_report);
	weir_sem_release(&called, 1);
	CHECK_OK(weir_sem_destroy(&called));
	line = strstr(reported, "\n  by    tid ");
	CHECK(line);
	line++;
	line[strcspn(line, "\n")] = '\0';
	next = strstr(line, " < ");
	if (!HAS_UNWINDER) {
		CHECK(!next);
		return;
	}
	CHECK_TEXT(line, " < ");
	*next = '\0';
	if (EXACT)
		CHECK(is_in(address_in(line), inner));
	line = next + 3;
	next = strstr(line, " < ");
	CHECK_TEXT(line, " < ");
	*next = '\0';
	if (EXACT)
		CHECK(is_in(address_in(line), outer));
	for (int n = 2; (next = strstr(next + 3, " < ")); n++)
		CHECK(n < 6);
}

/* An operation waits on no stack: the report has the call of its submit. */
TEST(c51_timeout_report_of_an_operation_has_no_callers)
{
	weir_sem sem;
	weir_op op;

	init(&sem, "limit", 1);
	reported[0] = '\0';
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_op_init(&op, NULL, NULL, NULL);
	CHECK(!weir_diag_set_report(keep_report));
	CHECK_ERR(weir_op_submit_until(&op, &sem, 1, weir_deadline_after(
		INT64_C(20000000))), WEIR_EQUEUED);
	AWAIT(weir_op_poll(&op) == WEIR_ETIMEDOUT);
	CHECK(weir_diag_set_report(NULL) == keep_report);
	CHECK_TEXT(reported, "\n  by    operation 0x");
	CHECK(!strstr(reported, " < "));
	CHECK(limit_in_report() > 0);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* A lock has readers and a writer: its permits are not in the report. */
TEST(c51_timeout_report_of_a_lock_names_the_roles)
{
	const weir_rwlock_opts opts = { .name = "table" };
	weir_rwlock rw;

	reported[0] = '\0';
	CHECK_OK(weir_rwlock_init(&rw, &opts));
	CHECK_OK(weir_rwlock_read(&rw, NULL));
	CHECK(!weir_diag_set_report(keep_report));
	/* If the deadline passed before it could wait, retry with more time. */
	for (int64_t ns = 1000000; !reported[0]; ns *= 2) {
		CHECK(ns < INT64_C(16000000000));
		CHECK_ERR(weir_rwlock_write_until(&rw, weir_deadline_after(ns)),
			  WEIR_ETIMEDOUT);
	}
	CHECK(weir_diag_set_report(NULL) == keep_report);
	CHECK_TEXT(reported, "weir: acquire timed out: table as the writer, "
			     "waited ");
	CHECK_TEXT(reported, "queue 1 waiting, you were number 1\n");
	CHECK_TEXT(reported, "table: reader-writer lock, 1 reader inside; ");
	CHECK_TEXT(reported, "  held  by 1 context:\nreader  tid ");
	CHECK_TEXT(reported, "verdict  SELF-NESTED");
	CHECK(!strstr(reported, "10737418"));
	CHECK(!strstr(reported, "raise table"));
	weir_rwlock_read_done(&rw);
	CHECK_OK(weir_rwlock_destroy(&rw));
}

/* A wait for idle is no acquire. */
TEST(c51_timeout_report_of_a_wait_for_idle)
{
	weir_sem sem;
	weir_ctx ctx;

	reported[0] = '\0';
	init(&sem, "limit", 3);
	CHECK_OK(weir_sem_acquire(&sem, 2, NULL));
	CHECK(!weir_diag_set_report(keep_report));
	/* If the deadline passed before it could wait, retry with more time. */
	for (int64_t ns = 1000000; !reported[0]; ns *= 2) {
		CHECK(ns < INT64_C(16000000000));
		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(ns)));
		CHECK_ERR(weir_sem_wait_idle(&sem, &ctx), WEIR_ETIMEDOUT);
		CHECK_OK(weir_ctx_destroy(&ctx));
	}
	CHECK(weir_diag_set_report(NULL) == keep_report);
	CHECK_TEXT(reported, "weir: wait for idle timed out: limit, waited ");
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_sem_destroy(&sem));
}

/* The default action of SIGPIPE would end the process. */
TEST(a_report_to_a_closed_pipe_is_lost)
{
	weir_sem sem;
	int ends[2];

	init(&sem, "piped", 1);
	CHECK(!pipe(ends));
	close(ends[0]);
	CHECK_OK(weir_report(ends[1]));
	close(ends[1]);
	CHECK_OK(weir_sem_destroy(&sem));
}

static int report_fd;
static volatile sig_atomic_t report_err;

static void on_signal(int sig)
{
	(void)sig;
	report_err = weir_report(report_fd);
}

TEST(report_in_a_signal_handler)
{
	weir_sem sem;
	ssize_t n;

	init(&sem, "signalled", 2);
	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	report_fd = memfd_create("report", MFD_CLOEXEC);
	CHECK(report_fd >= 0);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
	CHECK_OK((weir_err)report_err);
	n = pread(report_fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = '\0';
	CHECK_TEXT(text, "signalled: semaphore, 1 of 2 free; fifo; open\n");
	CHECK_TEXT(text, "held  1 permit by 1 context:\n");
	close(report_fd);
	weir_sem_release(&sem, 1);
	CHECK_OK(weir_sem_destroy(&sem));
}

TEST(explain_cuts_the_text)
{
	weir_sem sem;
	char small[24];

	init(&sem, "small", 2);
	memset(small, 'x', sizeof(small));
	CHECK_OK(weir_explain(small, 16, NULL));
	CHECK_EQ(strlen(small), 15);
	CHECK_EQ(small[16], 'x');
	CHECK_OK(weir_explain(NULL, 0, NULL));
	CHECK_OK(weir_sem_destroy(&sem));
}
