/* SPDX-License-Identifier: MIT */
/*
 * A program with many watched semaphores: crowd COUNT [NAME]...
 *
 * It has COUNT semaphores s0, s1 ..., and one permit of each NAME is held.  It
 * prints "ready" and executes the lines of standard input, each with "ok" as its
 * answer: a number N acquires one permit of sN; "read" creates the lock "table" and
 * enters it as a reader; then "write" starts a thread that waits to be its writer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/rwlock.h"
#include "weir/sem.h"

static weir_rwlock table;

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

/* Execute a line.  Returns false if it fails. */
static bool execute(const char *line, weir_sem **many, long count)
{
	const weir_rwlock_opts opts = { .name = "table" };
	pthread_t writer;
	long i = atol(line);

	if (!strcmp(line, "read\n"))
		return !weir_rwlock_init(&table, &opts) &&
		       !weir_rwlock_read(&table, NULL);
	if (!strcmp(line, "write\n"))
		return !pthread_create(&writer, NULL, be_the_writer, NULL);
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
