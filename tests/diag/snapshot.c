/* SPDX-License-Identifier: MIT */
/* Snapshots of registries that are filled in by hand, and their reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "diag/own.h"
#include "diag/text.h"
#include "fake.h"
#include "record/lockgraph.h"

static struct dg_model model;
static void *memory;
static char report[16384];
/* Called by the reader between its two passes. */
static void (*meanwhile)(char *base);
/* Called by the reader to ask whether a thread has gone. */
static bool (*has_gone)(void *base, uint32_t tid, int64_t age_ns);

static bool read_bytes(void *user, uint64_t at, void *to, size_t size)
{
	if (at > RG_SIZE || size > RG_SIZE - at)
		return false;
	memcpy(to, (const char *)user + at, size);
	return true;
}

static void again(void *user)
{
	if (meanwhile)
		meanwhile(user);
}

static const char *look(char *base, const char *only)
{
	struct dg_source source = { read_bytes, base,
				    fake_header(base)->start_ns, again,
				    has_gone };
	struct dg_text text = { .to = report, .size = sizeof(report) };
	struct dg_limits limits;
	struct rg_header header;

	CHECK_EQ(weir_diag_header_(&source, &header), DG_OK);
	weir_diag_limits_(&header, &limits);
	free(memory);
	memory = malloc(weir_diag_model_size_(&limits));
	CHECK(memory);
	weir_diag_model_init_(&model, &limits, memory);
	CHECK_EQ(weir_diag_snapshot_(&source, &header, &model), DG_OK);
	weir_diag_judge_(&model);
	(void)weir_diag_report_(&text, &model, only);
	return report;
}

static enum dg_verdict verdict_of(const char *scenario)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, scenario));
	look(base, NULL);
	fake_free(base);
	return weir_diag_gravest_(&model, NULL);
}

#define CHECK_TEXT(text, part)                                                 \
	do {                                                                   \
		if (!strstr(text, part))                                       \
			check_fail(__FILE__, __LINE__,                         \
				   "\"%s\" is not in:\n%s", part, text);       \
	} while (0)

TEST(c50_verdicts)
{
	CHECK_EQ(verdict_of("deadlock"), DG_DEADLOCK);
	CHECK_EQ(verdict_of("nested"), DG_SELF_NESTED);
	CHECK_EQ(verdict_of("leaked"), DG_LEAKED);
	CHECK_EQ(verdict_of("unsatisfiable"), DG_UNSATISFIABLE);
	CHECK_EQ(verdict_of("signal"), DG_NO_RELEASER);
	CHECK_EQ(verdict_of("handed"), DG_NO_RELEASER);
	CHECK_EQ(verdict_of("slow"), DG_SLOW);
	CHECK_EQ(verdict_of("empty"), DG_FINE);
}

TEST(c50_deadlock_report)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "deadlock"));
	look(base, NULL);
	CHECK_TEXT(report, "weir: DEADLOCK  5 contexts can never proceed "
			   "(exact; no outside releaser known)\n"
			   "  tid 8131 worker-1  holds db_pool 10 (0x77, "
			   "40.0 s)  waits for smtp_conn 1 (0x40, 39.0 s); "
			   "0 of 2 free\n"
			   "  tid 8140 worker-7  holds smtp_conn 2 (0x12, "
			   "41.0 s)  waits for db_pool 11 (0x18, 40.0 s); 10 "
			   "of 20 free\n"
			   "  behind them: tid 8151 late (db_pool 1), tid 8152 "
			   "late (db_pool 1), tid 8153 late (db_pool 1); "
			   "enough is free, the order of the queue blocks "
			   "them\n"
			   "  order   db_pool -> smtp_conn at 0x40;  smtp_conn "
			   "-> db_pool at 0x18\n"
			   "  ways out  any of: end the wait of tid 8131 "
			   "worker-1 | end the wait of tid 8140 worker-7 | "
			   "raise db_pool by 1 | raise smtp_conn by 1\n");
	fake_free(base);
}

/* A context may hold permits of several call sites. */
TEST(c48_contexts_are_counted_once)
{
	char *base = fake_registry(0);
	uint64_t db = fake_add_object(base, "db_pool", 4);
	uint64_t one = fake_add_thread(base, 1, "one");

	fake_hold(base, one, db, 1, 0x10, FAKE_SECOND);
	fake_hold(base, one, db, 2, 0x11, FAKE_SECOND);
	CHECK_TEXT(look(base, NULL), "  held  3 permits by 1 context:\n"
				     "     1  tid 1 one  1.0 s  0x10  ");
	fake_hold(base, fake_add_thread(base, 2, "two"), db, 1, 0x10,
		  FAKE_SECOND);
	CHECK_TEXT(look(base, NULL), "  held  4 permits by 2 contexts:\n");
	fake_free(base);
}

/* A wait behind a deadlock may end without a permit. */
TEST(c50_a_wait_behind_a_deadlock_has_a_deadline)
{
	char *base = fake_registry(0);
	struct rg_wait *wait;

	CHECK(fake_scenario(base, "deadlock"));
	wait = fake_wait(base, fake_header(base)->waits_high - 1);
	wait->deadline_ns = fake_header(base)->start_ns + 20 * FAKE_SECOND;
	wait->flags = RG_HAS_CTX;
	CHECK_TEXT(look(base, NULL), "tid 8152 late (db_pool 1), tid 8153 late "
				     "(db_pool 1, times out in 20.0 s, can be "
				     "cancelled); enough is free");
	fake_free(base);
}

/* A context behind a deadlock may wait for one of several. */
TEST(c50_a_context_behind_a_deadlock_waits_for_one_of_two)
{
	char *base = fake_registry(0);
	uint64_t any;

	CHECK(fake_scenario(base, "deadlock"));
	any = fake_add_thread(base, 8154, "any");
	for (uint32_t i = 0; i < 2; i++)
		fake_add_wait(base, any, fake_object(base, i)->id, 1, 0x20,
			      FAKE_SECOND)->flags = RG_ANY_OF;
	CHECK_TEXT(look(base, NULL), "tid 8153 late (db_pool 1), tid 8154 any (one "
				     "of smtp_conn 1 or db_pool 1)\n");
	fake_hold(base, any, fake_add_object(base, "cache", 2), 1, 0x30,
		  FAKE_SECOND);
	CHECK_TEXT(look(base, NULL), "     1  tid 8154 any  1.0 s  0x30  waits for "
				     "one of smtp_conn (0 of 2 free) or db_pool "
				     "(10 of 20 free)\n");
	fake_free(base);
}

/* The end of the line of orders. */
static const char *orders_end(char *base)
{
	char *at = strstr(look(base, NULL), "  order ");

	CHECK(at);
	at[strcspn(at, "\n")] = '\0';
	at = strstr(at, "0x18");
	CHECK(at);
	return at + 4;
}

/* With WEIR_DIAG=order, the orders of a deadlock may have been seen before. */
TEST(c50_deadlock_report_says_when_its_orders_were_seen)
{
	const int64_t hour = 3600 * FAKE_SECOND;
	char *base = fake_registry(0);
	uint64_t cycle;

	/* The clock begins at the start of the machine. */
	fake_header(base)->start_ns += 10 * hour;
	fake_header(base)->start_ticks += 10 * (uint64_t)hour;
	CHECK(fake_scenario(base, "deadlock"));
	fake_object(base, 0)->class_key = 11;
	fake_object(base, 1)->class_key = 22;
	cycle = weir_graph_part_(11, 22) + weir_graph_part_(22, 11);
	CHECK(!strcmp(orders_end(base), ""));
	fake_add_order(base, 11, 22, 7 * hour);
	/* The other order is that of the deadlock itself. */
	CHECK(!strcmp(orders_end(base), ""));
	fake_add_order(base, 22, 11, 6 * hour);
	CHECK(!strcmp(orders_end(base), "  (first seen 6h00m ago)"));
	/* Another cycle. */
	fake_add_order(base, cycle + 1, 0, 6 * hour);
	CHECK(!strcmp(orders_end(base), "  (first seen 6h00m ago)"));
	fake_add_order(base, cycle, 0, 2 * FAKE_SECOND);
	CHECK(!strcmp(orders_end(base),
		      "  (first seen 6h00m ago, predicted 2.0 s ago)"));
	fake_header(base)->orders_high--;
	fake_add_order(base, cycle, 0, 6 * hour);
	CHECK(!strcmp(orders_end(base),
		      "  (first seen 6h00m ago, predicted then)"));
	fake_free(base);
}

/* A context of a damaged registry may have any number of holds and waits. */
TEST(c49_the_orders_of_a_report_are_bounded)
{
	char *base = fake_registry(0);
	uint64_t objects[RG_SLOTS];
	uint64_t one = fake_add_thread(base, 1, "one");
	uint64_t two = fake_add_thread(base, 2, "two");

	for (uint32_t i = 0; i < RG_SLOTS; i++) {
		objects[i] = fake_add_object(base, "o", 1);
		fake_hold(base, i % 2 ? one : two, objects[i], 1, 0, 0);
	}
	for (uint32_t i = 0; i < RG_SLOTS; i++)
		fake_add_wait(base, i % 2 ? two : one, objects[i], 1, 0x20 + i,
			      0);
	look(base, NULL);
	CHECK_TEXT(report, "weir: DEADLOCK  2 contexts ");
	CHECK_TEXT(report, ";  ...\n  ways out");
	fake_free(base);
}

/* A request above the capacity is no part of the deadlock of other waiters. */
TEST(c50_an_oversized_wait_has_a_group_of_its_own)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "limit", 2);
	uint64_t one = fake_add_thread(base, 1, "one");
	uint64_t two = fake_add_thread(base, 2, "two");
	uint64_t big = fake_add_thread(base, 3, "big");

	fake_hold(base, one, object, 1, 0, 0);
	fake_hold(base, two, object, 1, 0, 0);
	fake_add_wait(base, one, object, 1, 0, 0);
	fake_add_wait(base, two, object, 1, 0, 0);
	fake_add_wait(base, big, object, 3, 0, 0)->flags = RG_OVERSIZED;
	look(base, NULL);
	CHECK_TEXT(report, "weir: DEADLOCK  2 contexts can never proceed ");
	CHECK_TEXT(report, "  ways out  any of: end the wait of tid 1 one | end "
			   "the wait of tid 2 two | raise limit by 1\n");
	CHECK_TEXT(report, "weir: UNSATISFIABLE  1 context can never proceed ");
	fake_free(base);
}

static bool one_has_gone(void *base, uint32_t tid, int64_t age_ns)
{
	(void)base;
	CHECK_EQ(age_ns, 0);
	return tid == 1;
}

/* The destructor runs between the two readings, and the thread held nothing. */
static bool one_has_ended(void *base, uint32_t tid, int64_t age_ns)
{
	(void)age_ns;
	fake_context(base, 0)->state = RG_FREE;
	return tid == 1;
}

/* As above, and the record is that of another thread now. */
static bool one_has_followed(void *base, uint32_t tid, int64_t age_ns)
{
	(void)age_ns;
	if (tid != 1)
		return false;
	fake_context(base, 0)->id += 1 << 16;
	fake_context(base, 0)->tid = 3;
	return true;
}

/* The thread releases before it ends: its last state counts. */
static bool one_has_released(void *base, uint32_t tid, int64_t age_ns)
{
	(void)age_ns;
	if (tid == 1)
		fake_context(base, 0)->slots[0].given = 1;
	return tid == 1;
}

/* C48: a thread that has ended without its destructor has leaked its permits. */
TEST(c48_a_thread_that_has_gone)
{
	static const struct {
		bool (*has_gone)(void *base, uint32_t tid, int64_t age_ns);
		enum dg_verdict verdict;
		uint32_t holders;
	} cases[] = {
		{ NULL, DG_SLOW, 2 },
		{ one_has_gone, DG_LEAKED, 2 },
		{ one_has_ended, DG_SLOW, 1 },
		{ one_has_followed, DG_SLOW, 2 },
		{ one_has_released, DG_SLOW, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *base = fake_registry(0);
		uint64_t object = fake_add_object(base, "limit", 2);
		uint64_t one = fake_add_thread(base, 1, "one");
		uint64_t two = fake_add_thread(base, 2, "two");

		fake_hold(base, one, object, 1, 0, FAKE_SECOND);
		fake_hold(base, two, object, 1, 0, FAKE_SECOND);
		fake_add_wait(base, two, object, 1, 0, FAKE_SECOND);
		has_gone = cases[i].has_gone;
		look(base, NULL);
		CHECK_EQ(model.objects[0].holders, cases[i].holders);
		CHECK_EQ(weir_diag_gravest_(&model, NULL), cases[i].verdict);
		fake_free(base);
	}
	has_gone = NULL;
}

/* C50: the head of a leaked group names the roles of a reader-writer lock. */
TEST(c50_leaked_readers)
{
	char *base = fake_registry(0);
	uint64_t limit;

	CHECK(fake_scenario(base, "writer"));
	CHECK_TEXT(look(base, NULL), " waits for 1 writer whose thread has "
				     "ended\n");
	fake_context(base, 0)->slots[0].taken = 2;
	fake_wait(base, 0)->min = fake_wait(base, 0)->max = 1 << 30;
	CHECK_TEXT(look(base, NULL), " waits for 2 readers whose threads have "
				     "ended\n");
	/* With a semaphore as well, both are permits. */
	limit = fake_add_object(base, "limit", 1);
	fake_hold(base, fake_context(base, 0)->id, limit, 1, 0, FAKE_SECOND);
	fake_wait(base, 0)->flags |= RG_ANY_OF;
	fake_add_wait(base, fake_context(base, 1)->id, limit, 1, 0,
		      FAKE_SECOND)->flags = RG_ANY_OF;
	CHECK_TEXT(look(base, NULL), " waits for permits of threads that have "
				     "ended\n");
	fake_free(base);
}

/* C50: a process that cannot record everything gets no DEADLOCK. */
/* Before the first hand-over nothing tells that another thread releases. */
TEST(c50_self_nested_report_is_not_called_exact)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "nested"));
	look(base, NULL);
	CHECK_TEXT(report, "weir: SELF-NESTED  1 context can never proceed "
			   "(unless another thread releases what it holds)\n");
	CHECK(!strstr(report, "exact"));
	CHECK(!strstr(report, "  order "));
	fake_free(base);
}

/* C50: until its holder has posted a sem_t, another thread may post it. */
TEST(c50_sem_t_is_a_lock_after_a_post_of_its_holder)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "deadlock"));
	fake_object(base, 0)->type = RG_POSIX;
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_POSSIBLE_DEADLOCK);
	CHECK_TEXT(report, "weir: POSSIBLE DEADLOCK  5 contexts cannot proceed "
			   "unless another thread posts a sem_t that they hold"
			   "\n");
	fake_header(base)->lost = 1;
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_NO_RELEASER);
	fake_header(base)->lost = 0;
	fake_object(base, 0)->releases = 1;
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_DEADLOCK);
	fake_free(base);
}

/* A place of a ring that its producer has taken: the consumer posts it. */
TEST(c50_untried_sem_t_does_not_leak)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "leaked"));
	fake_object(base, 0)->type = RG_POSIX;
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_NO_RELEASER);
	fake_object(base, 0)->releases = 1;
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_LEAKED);
	fake_free(base);
}

TEST(c50_no_deadlock_if_records_were_lost)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "deadlock"));
	fake_header(base)->lost = 1;
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_NO_RELEASER);
	CHECK_TEXT(report, "incomplete");
	fake_free(base);
}

/* The wait of worker-7 ends while the registry is read. */
static void end_wait(char *base)
{
	fake_wait(base, 1)->seq += 2;
}

TEST(c50_no_deadlock_if_a_wait_ends_meanwhile)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "deadlock"));
	meanwhile = end_wait;
	look(base, NULL);
	meanwhile = NULL;
	CHECK(weir_diag_gravest_(&model, NULL) < DG_NO_RELEASER);
	look(base, NULL);
	CHECK_EQ(weir_diag_gravest_(&model, NULL), DG_DEADLOCK);
	fake_free(base);
}

static void change_hold(char *base)
{
	fake_context(base, 0)->slots[0].given++;
}

/* C51: holders that are not of one instant are marked as approximate. */
TEST(c51_holders_of_different_instants_are_marked)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "deadlock"));
	look(base, NULL);
	CHECK(!model.objects[0].approximate);
	meanwhile = change_hold;
	look(base, NULL);
	meanwhile = NULL;
	CHECK(model.objects[0].approximate);
	CHECK(!model.objects[1].approximate);
	CHECK_TEXT(report, "(approximate: they change)");
	fake_free(base);
}

TEST(c50_deadline_ends_it)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "deadlock"));
	fake_wait(base, 1)->deadline_ns = fake_header(base)->start_ns +
					  12 * FAKE_SECOND;
	look(base, NULL);
	CHECK_TEXT(report, "weir: DEADLOCK until a timeout  5 contexts cannot "
			   "proceed before a wait times out (in 12.0 s)\n");
	CHECK_TEXT(report, "  ends by itself: the wait of tid 8140 worker-7 "
			   "times out in 12.0 s\n");
	fake_free(base);
}

/* C48: permits that other threads have released are subtracted. */
TEST(c48_handed_over)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "o", 10);
	uint64_t old = fake_add_thread(base, 1, "old");
	uint64_t young = fake_add_thread(base, 2, "young");

	fake_hold(base, young, object, 3, 0, FAKE_SECOND);
	fake_hold(base, old, object, 4, 0, 2 * FAKE_SECOND);
	fake_object(base, 0)->handed_over = 5;
	fake_object(base, 0)->flags = RG_HANDED_OVER;
	look(base, NULL);
	CHECK_EQ(model.objects[0].held, 2);
	CHECK_EQ(model.objects[0].free, 8);
	CHECK_EQ(model.objects[0].holders, 1);
	CHECK_TEXT(report, "     2  tid 2 young");
	fake_object(base, 0)->handed_over = -1;
	look(base, NULL);
	CHECK_EQ(model.objects[0].held, 7);
	CHECK_EQ(model.objects[0].free, 2);
	CHECK_TEXT(report, "     1  held by no known context");
	fake_free(base);
}

/*
 * C49: more permits are held than a number can count.  The debt and the deadline
 * are as large as possible, and their computation does not overflow.
 */
TEST(c49_counts_without_bound)
{
	const int64_t most = INT64_C(1) << 60;
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "o", 0);
	uint64_t one = fake_add_thread(base, 1, "one");

	for (int i = 0; i < 9; i++)
		fake_hold(base, one, object, most, (uint64_t)i, 0);
	fake_object(base, 0)->handed_over = -most;
	fake_add_wait(base, one, object, 1, 0, 0)->deadline_ns = 0;
	fake_header(base)->start_ns = INT64_MIN;
	look(base, NULL);
	CHECK_EQ(model.objects[0].free, -INT64_MAX);
	CHECK_EQ(model.waits[0].left_ns, DG_NO_DEADLINE);
	CHECK_TEXT(report, "o: semaphore, 0 of 0 free, debt "
			   "9223372036854775807;");
	fake_free(base);
}

TEST(c48_further_slots)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "o", 100);
	uint64_t one = fake_add_thread(base, 1, "one");
	uint64_t more = fake_add_thread(base, 1, "one");

	for (int i = 0; i < (int)RG_SLOTS; i++) {
		fake_hold(base, one, object, 1, (uint64_t)i, 0);
		fake_hold(base, more, object, 2, (uint64_t)i, 0);
	}
	fake_context(base, 0)->more = 2;
	fake_context(base, 1)->first = 1;
	look(base, NULL);
	CHECK_EQ(model.used.contexts, 1);
	CHECK_EQ(model.objects[0].held, 48);
	fake_free(base);
}

/* A request that is queued passes no other, also under BARGING. */
TEST(c50_barging_waiters_keep_their_order)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "o", 10);
	uint64_t one = fake_add_thread(base, 1, "one");
	uint64_t two = fake_add_thread(base, 2, "two");

	fake_object(base, 0)->flags = RG_BARGING;
	fake_hold(base, one, object, 5, 0, 0);
	fake_add_wait(base, one, object, 6, 0, 0);
	fake_add_wait(base, two, object, 1, 0, 0);
	look(base, NULL);
	CHECK_EQ(model.contexts[0].verdict, DG_SELF_NESTED);
	CHECK_EQ(model.contexts[1].verdict, DG_DEADLOCK);
	fake_wait(base, 1)->ticket = 1;
	fake_wait(base, 0)->ticket = 2;
	look(base, NULL);
	CHECK_EQ(model.contexts[0].verdict, DG_SELF_NESTED);
	CHECK_EQ(model.contexts[1].verdict, DG_SLOW);
	fake_free(base);
}

static void grant(char *base, uint32_t wait)
{
	fake_wait(base, wait)->flags |= RG_GRANTED;
	fake_wait(base, wait)->granted =
		fake_header(base)->start_ticks - 2 * (uint64_t)FAKE_SECOND;
}

/* A request that was granted does not wait. */
TEST(granted_requests_are_not_counted_as_waiting)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "o", 4);
	uint64_t contexts[12];

	for (uint32_t i = 0; i < 12; i++) {
		contexts[i] = fake_add_thread(base, i + 1, "thread");
		fake_add_wait(base, contexts[i], object, 1, 0x20, 0);
	}
	grant(base, 0);
	grant(base, 1);
	CHECK_TEXT(look(base, NULL), "  queue 10 waiting for 10 permits, 2 "
				     "granted and not picked up yet:\n"
				     "     1  tid 1 thread");
	CHECK_TEXT(report, "  granted 2.0 s ago  STRANDED\n");
	CHECK_TEXT(report, "    and 2 more\n");
	for (uint32_t i = 2; i < 12; i++)
		fake_wait(base, i)->state = RG_FREE;
	CHECK_TEXT(look(base, NULL), "  queue empty, 2 granted and not picked up "
				     "yet:\n");
	CHECK(!strstr(report, " more\n"));
	fake_free(base);
}

/* The semaphore of a rate limit has one permit, which is no token. */
TEST(a_rate_limit_has_no_permits)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "mail", 1);
	uint64_t one = fake_add_thread(base, 1, "one");
	uint64_t two = fake_add_thread(base, 2, "two");
	struct dg_text text = { .to = report, .size = sizeof(report) };

	fake_object(base, 0)->type = RG_RATE;
	CHECK_TEXT(look(base, NULL), "\nmail: rate limit, no call waits for "
				     "tokens; fifo; open\n  verdict  FINE\n");
	fake_hold(base, one, object, 1, 0x10, FAKE_SECOND);
	fake_add_wait(base, two, object, 1, 0x20, FAKE_SECOND);
	CHECK_TEXT(look(base, NULL), "\nmail: rate limit, a call waits for tokens; "
				     "fifo; open\n"
				     "  next  1 context:\n"
				     "        tid 1 one  1.0 s  0x10  waits for "
				     "tokens of mail\n"
				     "  queue 1 waiting:\n"
				     "        tid 2 two  1.0 s  0x20  SLOW\n"
				     "  verdict  SLOW\n");
	text.used = 0;
	CHECK(weir_diag_report_timeout_(&text, &model, 0));
	CHECK_TEXT(report, "weir: acquire timed out: mail, waited 1.0 s\n"
			   "  by    tid 2 two  0x20\n"
			   "  queue 1 waiting, you were number 1\n");
	CHECK_TEXT(report, "\n  verdict  SLOW, not a deadlock\n");
	CHECK(!strstr(report, "permit"));
	fake_free(base);
}

/* The counts of calls that have ended, and what the histograms tell of their times. */
TEST(the_calls_that_have_ended)
{
	char *base = fake_registry(0);
	struct rg_object *o;

	fake_add_object(base, "db", 3);
	fake_header(base)->clock = RG_CLOCK_COUNTER;
	o = fake_object(base, 0);
	/* Calls that have not released yet are the holders. */
	o->acquires[RG_IMMEDIATE] = 3;
	CHECK(!strstr(look(base, NULL), "calls"));
	o->acquires[RG_QUEUED] = 98;
	o->acquires[RG_TIMEOUT] = 2;
	o->acquires[RG_WOULD_BLOCK] = 1;
	o->releases = 101;
	o->waits[7] = 60;		/* below 3 ms */
	o->waits[10] = 39;		/* below 100 ms */
	o->waits[13] = 1;		/* below 3 s */
	o->wait_ticks = 100 * UINT64_C(7200000);
	o->holds[5] = 1;		/* below 300 us; the others below 10 us */
	o->hold_ticks = 101 * UINT64_C(4000);
	CHECK_TEXT(look(base, NULL), "; fifo; open\n"
		   "  calls 3 without a wait, 98 after a wait, 2 timed out, "
		   "1 would block\n"
		   "  waits half below 3 ms, 99 % below 100 ms, 7.2 ms on "
		   "average\n"
		   "  holds 99 % below 10 us, 4 us on average\n"
		   "  verdict  FINE\n");
	/* The other clock is inexact by some milliseconds when a hold begins. */
	fake_header(base)->clock = RG_CLOCK_NS;
	CHECK_TEXT(look(base, NULL), "  waits half below 3 ms, 99 % below 100 ms, "
		   "7.2 ms on average\n"
		   "  holds 99 % below 10 ms, 4 us on average\n");
	/* No time of a release by a thread that did not hold the permits is known. */
	o->holds[RG_UNMEASURED] = 100;
	CHECK_TEXT(look(base, NULL), "  holds all below 10 ms, 404 us on average\n");
	o->holds[5] = 0;
	o->holds[RG_UNMEASURED] = 101;
	CHECK(!strstr(look(base, NULL), "holds"));
	o->waits[7] = o->waits[10] = o->waits[13] = 0;
	o->waits[RG_BUCKETS - 1] = 1;
	o->wait_ticks = 200 * (uint64_t)FAKE_SECOND;
	CHECK_TEXT(look(base, NULL), "  waits some above 1m40s, 3m20s on average\n");
	/* Any count is possible in a registry. */
	memset(o->waits, 0xff, sizeof(o->waits));
	memset(o->holds, 0xff, sizeof(o->holds));
	o->releases = o->hold_ticks = o->wait_ticks = UINT64_MAX;
	CHECK_TEXT(look(base, NULL), "  waits half below ");
	fake_free(base);
}

/* A wait for idle, and one for room in the backlog, wants no permit. */
TEST(a_wait_without_a_permit)
{
	char *base = fake_registry(0);
	uint64_t object = fake_add_object(base, "tasks", 2);
	uint64_t one = fake_add_thread(base, 1, "one");

	fake_object(base, 0)->type = RG_GROUP;
	fake_hold(base, one, object, 1, 0x10, FAKE_SECOND);
	fake_add_wait(base, fake_add_thread(base, 2, "two"), object, 0, 0x20,
		      FAKE_SECOND)->flags = RG_IDLE;
	CHECK_TEXT(look(base, NULL), "\n  queue 1 waiting:\n"
				     "        tid 2 two  1.0 s  0x20  waits for "
				     "idle  SLOW\n");
	fake_wait(base, 0)->flags = RG_ROOM;
	CHECK_TEXT(look(base, NULL), "\n  queue 1 waiting:\n"
				     "        tid 2 two  1.0 s  0x20  waits for "
				     "room  SLOW\n");
	fake_free(base);
}

/* A report on a timeout says what does not come back. */
TEST(c51_a_timeout_report_says_what_is_lost)
{
	char *base = fake_registry(0);
	struct dg_text text = { .to = report, .size = sizeof(report) };

	CHECK(fake_scenario(base, "leaked"));
	look(base, NULL);
	text.used = 0;
	CHECK(weir_diag_report_timeout_(&text, &model, 0));
	CHECK_TEXT(report, "\n  verdict  LEAKED; 2 permits are lost for "
			   "good\n");
	fake_free(base);
}

static void check_timeout(char *base, const char *verdict, const char *name)
{
	struct dg_text text = { .to = report, .size = sizeof(report) };
	char more[160];

	look(base, NULL);
	text.used = 0;
	CHECK(weir_diag_report_timeout_(&text, &model, 0));
	CHECK_TEXT(report, verdict);
	snprintf(more, sizeof(more), "\n  more  weir explain %u%s   weir dump %u "
		 "> hang.weir\n", fake_header(base)->pid, name,
		 fake_header(base)->pid);
	CHECK_TEXT(report, more);
}

/* A report on a timeout names a holder that alone does not wait, and the next command. */
TEST(c51_a_timeout_report_says_what_to_look_at)
{
	char *base = fake_registry(0);
	uint64_t db = fake_add_object(base, "db_pool", 4);
	uint64_t one = fake_add_thread(base, 1, "one");

	fake_hold(base, one, db, 1, 0x10, FAKE_SECOND);
	fake_hold(base, one, db, 2, 0x11, FAKE_SECOND);
	fake_add_wait(base, fake_add_thread(base, 2, "two"), db, 3, 0x20,
		      FAKE_SECOND);
	check_timeout(base, "  verdict  SLOW, not a deadlock: tid 1 one alone "
			    "could release 3\n", " db_pool");
	/* Another thread may release these permits. */
	fake_object(base, 0)->flags = RG_MOVED;
	check_timeout(base, "  verdict  SLOW, not a deadlock: tid 1 one holds "
			    "3\n", " db_pool");
	fake_object(base, 0)->flags = 0;
	fake_hold(base, fake_add_thread(base, 3, "three"), db, 1, 0x10,
		  FAKE_SECOND);
	check_timeout(base, "  verdict  SLOW, not a deadlock: contexts that do "
			    "not wait hold 4\n", " db_pool");
	/* A shell would take these names for something else. */
	strcpy(fake_object(base, 0)->name, "db;pool");
	check_timeout(base, "not a deadlock", "");
	strcpy(fake_object(base, 0)->name, "-db");
	check_timeout(base, "not a deadlock", "");
	fake_object(base, 0)->type = RG_RWLOCK;
	fake_object(base, 0)->capacity = 1 << 30;
	check_timeout(base, "contexts that do not wait are inside\n", "");
	fake_free(base);
}

/* A growth of the capacity is a way out for a request above it. */
TEST(c50_unsatisfiable_can_be_raised)
{
	char *base = fake_registry(0);

	CHECK(fake_scenario(base, "unsatisfiable"));
	look(base, NULL);
	CHECK_TEXT(report, "  ways out  any of: end the wait of tid 101 one | "
			   "raise limit by 1\n");
	fake_free(base);
}

/* The limit that the caller gave is recorded some microseconds later. */
TEST(limits_are_rounded)
{
	static const struct {
		int64_t ns;
		const char *text;
	} limits[] = {
		{ 30 * FAKE_SECOND - 20000, "30 s" },
		{ 2500000000 - 3000, "2.5 s" },
		{ 99999999, "100 ms" },
		{ 1234567, "1.23 ms" },
		{ 1050000000, "1.05 s" },
		{ 1000000 - 900, "999 us" },
		{ 999, "0.999 us" },
		{ 60 * FAKE_SECOND - 5, "60 s" },
		{ 600 * FAKE_SECOND - 30000, "10m00s" },
		{ INT64_MAX, "106751 days" },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct dg_text text = { .to = report, .size = sizeof(report) };

		weir_diag_put_limit_(&text, limits[i].ns);
		CHECK(!strcmp(report, limits[i].text));
	}
}

TEST(c49_text_is_clean)
{
	char *base = fake_registry(0);

	fake_add_object(base, "a\033[2Jb\xc2\x9b" "c\xe2\x80\xae" "d\xff"
			"\xe4\xb8\xad", 1);
	look(base, NULL);
	CHECK_TEXT(report, "a?[2Jb?c?d?\xe4\xb8\xad: semaphore");
	fake_free(base);
}
