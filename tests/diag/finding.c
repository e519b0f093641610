/* SPDX-License-Identifier: MIT */
/* The findings of the watchdog, in registries that are filled in by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "diag/finding.h"
#include "fake.h"

static struct dg_watchdog dog;
static struct dg_model model;
static void *memory;
static char room[16384], last[16384];
static enum dg_verdict last_verdict;
static unsigned reports, allowed;

static bool read_bytes(void *user, uint64_t at, void *to, size_t size)
{
	if (at > RG_SIZE || size > RG_SIZE - at)
		return false;
	memcpy(to, (const char *)user + at, size);
	return true;
}

static bool may(void *user)
{
	(void)user;
	return allowed && allowed--;
}

static void keep(void *user, const struct dg_text *text,
		 const struct dg_object *object, enum dg_verdict verdict)
{
	(void)user;
	CHECK(object >= model.objects &&
	      object < model.objects + model.used.objects);
	reports++;
	last_verdict = verdict;
	snprintf(last, sizeof(last), "%s", text->to);
}

static char *begin(const char *scenario)
{
	char *base = fake_registry(0);

	memset(&dog, 0, sizeof(dog));
	dog.may = may;
	dog.report = keep;
	dog.text.to = room;
	dog.text.size = sizeof(room);
	allowed = 1000;
	reports = 0;
	last[0] = '\0';
	CHECK(fake_scenario(base, scenario));
	return base;
}

/* One round, with a snapshot `later` seconds after the start. */
static unsigned round_at(char *base, int64_t later)
{
	struct dg_source source = { read_bytes, base,
				    fake_header(base)->start_ns +
					    later * FAKE_SECOND, NULL, NULL };
	struct dg_limits limits;
	struct rg_header header;
	unsigned before = reports;

	CHECK_EQ(weir_diag_header_(&source, &header), DG_OK);
	weir_diag_limits_(&header, &limits);
	free(memory);
	memory = malloc(weir_diag_model_size_(&limits));
	CHECK(memory);
	weir_diag_model_init_(&model, &limits, memory);
	CHECK_EQ(weir_diag_snapshot_(&source, &header, &model), DG_OK);
	weir_diag_judge_(&model);
	weir_diag_examine_(&dog, &model);
	return reports - before;
}

TEST(a_deadlock_is_reported_by_the_second_round_and_once)
{
	char *base = begin("deadlock");

	CHECK_EQ(round_at(base, 0), 0);
	CHECK_EQ(round_at(base, 1), 1);
	CHECK_EQ(last_verdict, DG_DEADLOCK);
	CHECK(strstr(last, "weir: DEADLOCK  5 contexts can never proceed"));
	CHECK(strstr(last, "  more  weir explain "));
	for (int i = 2; i < 40; i++)
		CHECK_EQ(round_at(base, i), 0);
	/* One more waiter behind them is not another deadlock. */
	fake_add_wait(base, fake_add_thread(base, 8160, "later"),
		      fake_object(base, 0)->id, 1, 0x118, 0);
	CHECK_EQ(round_at(base, 40), 0);
	CHECK_EQ(round_at(base, 41), 0);
	/* One of the waits has ended, and its thread waits again. */
	fake_wait(base, 0)->seq += 4;
	CHECK_EQ(round_at(base, 42), 0);
	CHECK_EQ(round_at(base, 43), 1);
	fake_free(base);
}

TEST(a_state_that_changes_is_not_reported)
{
	char *base = begin("deadlock");

	for (int i = 0; i < 20; i++) {
		fake_wait(base, 1)->seq += 4;
		CHECK_EQ(round_at(base, i), 0);
	}
	/* Every other round. */
	for (int i = 20; i < 40; i++) {
		fake_wait(base, 0)->state = i % 2 ? RG_LIVE : RG_FREE;
		CHECK_EQ(round_at(base, i), 0);
	}
	fake_free(base);
}

TEST(a_finding_that_was_missed_once_is_not_reported_again)
{
	char *base = begin("deadlock");

	(void)round_at(base, 0);
	CHECK_EQ(round_at(base, 1), 1);
	fake_wait(base, 0)->state = RG_FREE;
	CHECK_EQ(round_at(base, 2), 0);
	fake_wait(base, 0)->state = RG_LIVE;
	CHECK_EQ(round_at(base, 3), 0);
	CHECK_EQ(round_at(base, 4), 0);
	fake_free(base);
}

TEST(a_finding_above_the_rate_is_reported_later)
{
	char *base = begin("deadlock");

	allowed = 0;
	for (int i = 0; i < 5; i++)
		CHECK_EQ(round_at(base, i), 0);
	allowed = 1;
	CHECK_EQ(round_at(base, 5), 1);
	fake_free(base);
}

TEST(slow_and_signals_are_no_findings)
{
	char *base = begin("slow");

	CHECK_EQ(round_at(base, 0) + round_at(base, 1), 0);
	fake_free(base);
	base = begin("signal");
	CHECK_EQ(round_at(base, 0) + round_at(base, 1), 0);
	fake_free(base);
}

TEST(a_leak_is_reported)
{
	char *base = begin("leaked");

	(void)round_at(base, 0);
	/* The waiter that can never proceed, and the permits. */
	CHECK_EQ(round_at(base, 1), 2);
	CHECK_EQ(last_verdict, DG_LEAKED);
	CHECK(strstr(last, "weir: LEAKED  limit: threads that have ended hold "
			   "2 permits\n  limit: semaphore, 0 of 2 free"));
	CHECK(strstr(last, "THREAD EXITED"));
	CHECK_EQ(round_at(base, 2), 0);
	fake_free(base);
	base = begin("writer");
	CHECK_EQ(round_at(base, 0) + round_at(base, 1), 2);
	CHECK(strstr(last, "weir: LEAKED  table: threads that have ended hold "
			   "it as the writer\n  table: reader-writer lock"));
	fake_free(base);
	/* If permits are handed over, another thread may have them. */
	base = begin("leaked");
	fake_object(base, 0)->flags |= RG_MOVED;
	CHECK_EQ(round_at(base, 0) + round_at(base, 1), 0);
	fake_free(base);
	/* The holder has never posted this sem_t: it may be no lock. */
	base = begin("leaked");
	fake_object(base, 0)->type = RG_POSIX;
	CHECK_EQ(round_at(base, 0) + round_at(base, 1), 0);
	fake_object(base, 0)->releases = 1;
	CHECK_EQ(round_at(base, 2) + round_at(base, 3), 2);
	fake_free(base);
}

TEST(a_hold_above_the_limit_is_reported)
{
	char *base = begin("slow");

	dog.hold_ns = 10 * FAKE_SECOND;
	/* The hold is 5 seconds old. */
	CHECK_EQ(round_at(base, 4), 0);
	CHECK_EQ(round_at(base, 5), 0);
	CHECK_EQ(round_at(base, 6), 0);
	CHECK_EQ(round_at(base, 7), 1);
	CHECK_EQ(last_verdict, DG_FINE);
	CHECK(strstr(last, "weir: HELD TOO LONG  limit: since 12.0 s, limit "
			   "10.0 s\n  limit: semaphore"));
	CHECK_EQ(round_at(base, 8), 0);
	/* Another hold of the same call site. */
	fake_context(base, 0)->slots[0].since[0] += 7;
	CHECK_EQ(round_at(base, 14), 0);
	CHECK_EQ(round_at(base, 15), 1);
	/* Two new ones of one object are one report. */
	fake_hold(base, fake_context(base, 1)->id, fake_object(base, 0)->id, 1,
		  0x30, 0);
	fake_context(base, 0)->slots[0].since[0] += 1;
	CHECK_EQ(round_at(base, 20), 0);
	CHECK_EQ(round_at(base, 21), 1);
	CHECK_EQ(round_at(base, 22), 0);
	fake_free(base);
}

/* The time in which the process was stopped does not count. */
TEST(a_hold_of_a_process_that_was_stopped)
{
	char *base = begin("slow");

	dog.hold_ns = 10 * FAKE_SECOND;
	/* The hold is 5 seconds old.  The process is stopped at 1. */
	CHECK_EQ(round_at(base, 1), 0);
	dog.resumed_ns = fake_header(base)->start_ns + 100 * FAKE_SECOND;
	for (int64_t i = 100; i <= 111; i++)
		CHECK_EQ(round_at(base, i), 0);
	CHECK_EQ(round_at(base, 112), 1);
	CHECK_EQ(round_at(base, 113), 0);
	fake_free(base);
}

TEST(more_findings_than_fit)
{
	char *base = begin("empty");
	uint64_t object = fake_add_object(base, "pool", 1 << 20);
	unsigned n = 0;

	dog.hold_ns = FAKE_SECOND;
	for (unsigned i = 0; i < 2 * DG_FINDINGS; i++)
		fake_hold(base, fake_add_thread(base, i + 1, "user"), object,
			  1, i + 1, 2 * FAKE_SECOND);
	for (int i = 0; i < 10; i++)
		n += round_at(base, i);
	CHECK_EQ(n, 1);
	fake_free(base);
}
