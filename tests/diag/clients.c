/* SPDX-License-Identifier: MIT */
/*
 * C50: the verdict on semaphores between machines, from snapshots that are made
 * up here.  A server does not know the threads of its clients, so the verdict is
 * never DEADLOCK.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cmd/diag/named.h"
#include "cmd/diag/source.h"
#include "diag/text.h"

#define NAMES 3
#define ENTRIES 8

static struct {
	struct named_all all;
	struct named_one names[NAMES];
	weir_named_entry entries[NAMES][ENTRIES];
	weir_cluster_entry leases[NAMES][ENTRIES];
} first, second;
static struct diag diag;
static char report[8192];

/* named_model calls it; source.c has that of the command. */
void *diag_room(struct diag *d, const struct dg_limits *limits)
{
	free(d->memory);
	d->memory = calloc(1, weir_diag_model_size_(limits));
	CHECK(d->memory);
	return d->memory;
}

static void begin(bool clients, int names)
{
	static const char *const name_of[NAMES] = { "a", "b", "c" };

	memset(&first, 0, sizeof(first));
	first.all = (struct named_all){ .list = first.names,
					.used = (uint32_t)names,
					.clients = clients };
	for (int i = 0; i < names; i++) {
		first.names[i].name = name_of[i];
		first.names[i].info.capacity = 1;
		first.names[i].entries = first.entries[i];
		first.names[i].leases = clients ? first.leases[i] : NULL;
	}
}

/* Add an entry to a semaphore; its id is that of the request. */
static void add(int name, weir_named_role role, const char *host, int pid,
		uint64_t id)
{
	static const weir_cluster_role roles[] = {
		[WEIR_NAMED_HOLDS] = WEIR_CLUSTER_HOLDS,
		[WEIR_NAMED_WAITS] = WEIR_CLUSTER_WAITS,
		[WEIR_NAMED_OVERSIZED] = WEIR_CLUSTER_OVERSIZED,
	};
	uint32_t i = first.names[name].info.entries++;
	weir_named_entry *entry = &first.entries[name][i];
	weir_cluster_entry *lease = &first.leases[name][i];

	first.all.entries++;
	entry->role = role;
	entry->pid = pid;
	entry->pid_namespace = 1;	/* that of no process */
	entry->id = id;
	entry->weight = lease->weight = role == WEIR_NAMED_OVERSIZED ? 2 : 1;
	entry->since_ns = weir_now_ns() - 1000000000;
	entry->place = role == WEIR_NAMED_WAITS ? i : 0;
	lease->role = roles[role];
	lease->pid = pid;
	lease->fence = role == WEIR_NAMED_HOLDS ? id : 0;
	lease->lease_ms = 7200;
	(void)snprintf(lease->host, sizeof(lease->host), "%s", host);
	(void)snprintf(lease->label, sizeof(lease->label), "job-%d", pid);
}

/* Both snapshots are the same, unless `changes` is set: a wait is a new one. */
static void judge(bool changes)
{
	struct dg_text text = { .to = report, .size = sizeof(report) };

	second = first;
	second.all.list = second.names;
	for (int i = 0; i < NAMES; i++) {
		second.names[i].entries = second.entries[i];
		second.names[i].leases = first.names[i].leases ?
						 second.leases[i] : NULL;
		for (int k = 0; changes && k < ENTRIES; k++)
			second.entries[i][k].id += 100;
	}
	named_model(&diag, &first.all, &second.all);
	weir_diag_judge_(&diag.model);
	(void)weir_diag_report_(&text, &diag.model, NULL);
}

#define CHECK_TEXT(text, part)                                                 \
	do {                                                                   \
		if (!strstr(text, part))                                       \
			check_fail(__FILE__, __LINE__, "no \"%s\" in:\n%s", part, \
				   text);                                      \
	} while (0)

static enum dg_verdict gravest(void)
{
	return weir_diag_gravest_(&diag.model, NULL);
}

/* Two clients that hold one semaphore each and wait for the other one. */
static void cross(const char *host, const char *other)
{
	add(0, WEIR_NAMED_HOLDS, host, 11, 1);
	add(0, WEIR_NAMED_WAITS, other, 12, 2);
	add(1, WEIR_NAMED_HOLDS, other, 12, 3);
	add(1, WEIR_NAMED_WAITS, host, 11, 4);
}

TEST(c50_two_clients_may_be_in_a_deadlock)
{
	begin(true, 2);
	cross("east", "west");
	judge(false);
	CHECK_EQ(gravest(), DG_POSSIBLE_DEADLOCK);
	CHECK_EQ(diag.model.used.contexts, 2);
	CHECK_TEXT(report, "weir: POSSIBLE DEADLOCK  2 contexts cannot proceed "
		   "unless another thread of these processes releases permits, "
		   "or a lease ends\n");
	CHECK_TEXT(report, "  east pid 11 job-11  holds a 1 (1.0 s)  waits for "
		   "b 1 (1.0 s); 0 of 1 free\n");
	CHECK_TEXT(report, "     1  west pid 12 job-12  1.0 s  token 3  lease "
		   "7.2 s  waits for a (0 of 1 free)\n");
	CHECK_TEXT(report, "     1  east pid 11 job-11  1.0 s  lease 7.2 s  "
		   "POSSIBLE DEADLOCK\n");
}

/* The same number on another host is another process. */
TEST(c50_a_process_is_known_by_host_and_number)
{
	begin(true, 2);
	add(0, WEIR_NAMED_HOLDS, "east", 11, 1);
	add(0, WEIR_NAMED_WAITS, "west", 12, 2);
	add(1, WEIR_NAMED_HOLDS, "west", 12, 3);
	add(1, WEIR_NAMED_WAITS, "north", 11, 4);
	judge(false);
	CHECK_EQ(diag.model.used.contexts, 3);
	CHECK_EQ(gravest(), DG_SLOW);
	CHECK_TEXT(report, "waits for no semaphore that was read\n");
}

/* A process that waits twice has several threads: one of them may release. */
TEST(c50_a_client_that_waits_twice_may_release)
{
	begin(true, 3);
	cross("east", "west");
	add(2, WEIR_NAMED_HOLDS, "west", 12, 5);
	add(2, WEIR_NAMED_WAITS, "east", 11, 6);
	judge(false);
	CHECK_EQ(gravest(), DG_SLOW);
	/* East has a context that holds, and one for each wait. */
	CHECK_EQ(diag.model.used.contexts, 4);
	CHECK_EQ(diag.model.objects[0].holders, 1);
	CHECK_EQ(diag.model.objects[2].waiters, 1);
}

/* Each of its waits becomes a context, also if these are more than the entries. */
TEST(c50_a_client_that_waits_often)
{
	begin(true, 1);
	add(0, WEIR_NAMED_HOLDS, "west", 12, 1);
	for (uint64_t id = 2; id < 5; id++)
		add(0, WEIR_NAMED_WAITS, "east", 11, id);
	judge(false);
	CHECK(!diag.model.incomplete);
	CHECK_EQ(diag.model.used.contexts, 5);
	CHECK_EQ(diag.model.objects[0].waiters, 3);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t context = diag.model.waits[i].context;

		CHECK_EQ(diag.model.contexts[context].first_wait, i);
	}
}

TEST(c50_a_wait_that_has_changed_is_not_judged)
{
	begin(true, 2);
	cross("east", "west");
	judge(true);
	CHECK_EQ(gravest(), DG_SLOW);
}

TEST(c50_a_paused_semaphore_is_shown_and_not_judged)
{
	begin(true, 2);
	cross("east", "west");
	first.names[0].info.paused = true;
	judge(false);
	CHECK_EQ(gravest(), DG_SLOW);
	CHECK_TEXT(report, "a: semaphore, 0 of 1 free; fifo; open; paused: no "
		   "permit is granted\n");
}

TEST(c50_a_list_that_was_cut_is_not_judged)
{
	begin(true, 2);
	cross("east", "west");
	first.names[0].info.inconsistent = true;
	judge(false);
	CHECK_EQ(gravest(), DG_SLOW);
	CHECK(diag.model.approximate);
}

TEST(c50_a_request_above_the_capacity)
{
	begin(true, 1);
	add(0, WEIR_NAMED_OVERSIZED, "east", 11, 1);
	judge(false);
	CHECK_EQ(gravest(), DG_UNSATISFIABLE);
}

/* An engine need not know how long a lease lasts. */
TEST(an_unknown_lease_is_not_shown)
{
	begin(true, 1);
	add(0, WEIR_NAMED_HOLDS, "east", 11, 1);
	first.leases[0][0].lease_ms = 0;
	judge(false);
	CHECK_EQ(gravest(), DG_FINE);
	CHECK_TEXT(report, "job-11  1.0 s  token 1  waits for no semaphore");
}

TEST(c49_a_server_may_lie)
{
	begin(true, 1);
	add(0, WEIR_NAMED_HOLDS, "ea\033[2Jst", -1, UINT64_MAX);
	add(0, WEIR_NAMED_WAITS, "", INT32_MIN, 1);
	first.leases[0][0].lease_ms = INT64_MAX;
	first.leases[0][1].lease_ms = INT64_MIN;
	first.entries[0][0].since_ns = INT64_MIN;
	first.entries[0][1].since_ns = INT64_MAX;
	memset(first.leases[0][0].label, 'x', sizeof(first.leases[0][0].label));
	judge(false);
	CHECK(!strchr(report, '\033'));
	CHECK_TEXT(report, "ea?[2Jst pid ");
}

/*
 * The same between the processes of a host: those in another PID namespace may
 * have threads that are not known.
 */
TEST(c50_processes_with_unknown_threads_may_be_in_a_deadlock)
{
	begin(false, 2);
	cross("", "");
	judge(false);
	CHECK_EQ(gravest(), DG_POSSIBLE_DEADLOCK);
	CHECK_TEXT(report, "unless another thread of these processes releases "
		   "permits\n");
}
