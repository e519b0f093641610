/* SPDX-License-Identifier: MIT */
/*
 * A program with many watched semaphores: crowd COUNT [NAME]...
 *
 * It has COUNT semaphores s0, s1 ..., and one permit of each NAME is held.  It
 * prints "ready" and executes the lines of standard input, each with "ok" as its
 * answer: a number N acquires one permit of sN; "read" creates the lock "table" and
 * enters it as a reader; then "write" starts a thread that waits to be its writer.
 * "receive" starts a thread that waits for an item of the channel "jobs", in a
 * context; "pace" two threads that wait for tokens of the rate limit "mail"; "idle"
 * one that waits until the group "tasks", which has a task, is idle; "send" one that
 * waits for a slot of the channel "letters"; "spawn" one that waits for room in the
 * backlog of the group "queue".  "pass" releases a permit of "baton" on another
 * thread than acquired it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/chan.h"
#include "weir/ctx.h"
#include "weir/group.h"
#include "weir/rate.h"
#include "weir/rwlock.h"
#include "weir/sem.h"

static weir_rwlock table;
static weir_chan jobs, letters;
static weir_rate mail;
static weir_group tasks, queue;
static weir_sem never;

static weir_sem *set_up(const char *name, int64_t permits)
{
	weir_sem_opts opts = { .permits = permits, .name = name };
	weir_sem *sem = calloc(1, sizeof(*sem));

	if (!sem || weir_sem_init_opts(sem, &opts))
		exit(1);
	return sem;
}

static void *be_the_writer(void *unused)
{
	if (weir_rwlock_write(&table, NULL))
		exit(1);
	return unused;
}

static void *receive(void *ctx)
{
	int item;

	exit(weir_chan_recv(&jobs, &item, ctx));
}

static void *take_token(void *unused)
{
	(void)unused;
	exit(weir_rate_acquire(&mail, 1, NULL));
}

static weir_err wait_for_ever(void *unused, weir_ctx *ctx)
{
	(void)unused;
	(void)ctx;
	return weir_sem_acquire(&never, 1, NULL);
}

static void *wait_idle(void *unused)
{
	(void)unused;
	exit(weir_group_wait(&tasks, NULL, NULL));
}

static bool start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	return !pthread_create(&thread, NULL, run, arg);
}

static bool start_receiver(void)
{
	static uint64_t slots[WEIR_CHAN_BYTES(2, sizeof(int)) / 8];
	static weir_ctx ctx;
	const weir_chan_opts opts = {
		.capacity = 2, .item_size = sizeof(int), .slots = slots,
		.name = "jobs"
	};

	return !weir_ctx_init(&ctx, NULL, WEIR_FOREVER) &&
	       !weir_chan_init_opts(&jobs, &opts) &&
	       start(receive, &ctx);
}

static bool start_senders_of_mail(void)
{
	const weir_rate_opts opts = {
		.rate = 1, .period_ns = INT64_C(3600000000000), .name = "mail"
	};

	return !weir_rate_init(&mail, &opts) &&
	       !weir_rate_acquire(&mail, 1, NULL) && start(take_token, NULL) &&
	       start(take_token, NULL);
}

static bool start_group(void)
{
	const weir_group_opts opts = { .workers = 2, .name = "tasks" };

	return !weir_sem_init(&never, 1) && !weir_sem_acquire(&never, 1, NULL) &&
	       !weir_group_init(&tasks, &opts) &&
	       !weir_group_spawn(&tasks, wait_for_ever, NULL, 1, NULL) &&
	       start(wait_idle, NULL);
}

static void *send(void *item)
{
	exit(weir_chan_send(&letters, item, NULL));
}

static bool start_sender(void)
{
	static int item;
	const weir_chan_opts opts = {
		.capacity = 1, .item_size = sizeof(item), .name = "letters"
	};

	return !weir_chan_init_opts(&letters, &opts) &&
	       !weir_chan_send(&letters, &item, NULL) && start(send, &item);
}

static void *spawn(void *unused)
{
	while (!weir_group_spawn(&queue, wait_for_ever, unused, 1, NULL))
		continue;
	exit(1);
}

static bool start_spawner(void)
{
	const weir_group_opts opts = {
		.workers = 1, .backlog = 1, .name = "queue"
	};

	return !weir_sem_init(&never, 1) && !weir_sem_acquire(&never, 1, NULL) &&
	       !weir_group_init(&queue, &opts) && start(spawn, NULL);
}

static void *release(void *sem)
{
	weir_sem_release(sem, 1);
	return NULL;
}

static bool pass_on(void)
{
	weir_sem *sem = set_up("baton", 1);
	pthread_t thread;

	return !weir_sem_acquire(sem, 1, NULL) &&
	       !pthread_create(&thread, NULL, release, sem) &&
	       !pthread_join(thread, NULL);
}

/* Execute a line.  Returns false if it fails. */
static bool execute(const char *line, weir_sem **many, long count)
{
	const weir_rwlock_opts opts = { .name = "table" };
	const struct {
		const char *line;
		bool (*execute)(void);
	} commands[] = {
		{ "receive\n", start_receiver }, { "pace\n", start_senders_of_mail },
		{ "idle\n", start_group }, { "send\n", start_sender },
		{ "spawn\n", start_spawner }, { "pass\n", pass_on }
	};
	long i = atol(line);

	for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++)
		if (!strcmp(line, commands[k].line))
			return commands[k].execute();
	if (!strcmp(line, "read\n"))
		return !weir_rwlock_init(&table, &opts) &&
		       !weir_rwlock_read(&table, NULL);
	if (!strcmp(line, "write\n"))
		return start(be_the_writer, NULL);
	return i >= 0 && i < count && !weir_sem_acquire(many[i], 1, NULL);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	weir_sem **many = calloc((size_t)count + 1, sizeof(weir_sem *));
	char line[64];

	if (!many)
		return 1;
	for (long i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "s%ld", i);
		many[i] = set_up(name, 5);
	}
	for (int i = 2; i < argc; i++)
		if (weir_sem_acquire(set_up(argv[i], 2), 1, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!execute(line, many, count))
			return 1;
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
