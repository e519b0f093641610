/* SPDX-License-Identifier: MIT */
/*
 * What an operation of the other patterns costs: nanoseconds for each.
 *
 *     bench-others limit TIMES
 *     bench-others group WORKERS TIMES
 *     bench-others weir-rw|pthread-rw THREADS WRITES-IN-1000 TIMES
 *
 * A rate that is never reached; tasks that do nothing; locks around an addition.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/group.h"
#include "weir/limit.h"
#include "weir/rwlock.h"

#define THREADS_MAX 64

static void must(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "bench-others: %s\n", what);
		exit(1);
	}
}

static void limit(int64_t times)
{
	const weir_limit_opts opts = { .rate = WEIR_LIMIT_RATE_MAX,
				       .burst = WEIR_LIMIT_RATE_MAX };
	weir_limit l;

	must(!weir_limit_init(&l, &opts), "init");
	for (int64_t i = 0; i < times; i++)
		must(!weir_limit_acquire(&l, 1, NULL), "acquire");
}

static weir_err nothing(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return WEIR_OK;
}

static void group(int64_t workers, int64_t times)
{
	const weir_group_opts opts = { .workers = workers, .backlog = 256 };
	weir_group g;

	must(!weir_group_init(&g, &opts), "init");
	for (int64_t i = 0; i < times; i++)
		must(!weir_group_spawn(&g, nothing, NULL, 1, NULL), "spawn");
	must(!weir_group_wait(&g, NULL, NULL), "wait");
	must(!weir_group_destroy(&g), "destroy");
}

static weir_rwlock weir_lock = WEIR_RWLOCK_INIT;
static pthread_rwlock_t pthread_lock = PTHREAD_RWLOCK_INITIALIZER;
static int64_t each, writes, value;
static int is_weir;

static void *lock(void *arg)
{
	int64_t sum = 0;

	(void)arg;
	for (int64_t i = 0; i < each; i++) {
		int write = i % 1000 < writes;

		if (is_weir)
			must(!(write ? weir_rwlock_write(&weir_lock, NULL) :
				       weir_rwlock_read(&weir_lock, NULL)),
			     "lock");
		else if (write)
			pthread_rwlock_wrlock(&pthread_lock);
		else
			pthread_rwlock_rdlock(&pthread_lock);
		if (write)
			value++;
		else
			sum += value;
		if (!is_weir)
			pthread_rwlock_unlock(&pthread_lock);
		else if (write)
			weir_rwlock_write_done(&weir_lock);
		else
			weir_rwlock_read_done(&weir_lock);
	}
	return (void *)(intptr_t)sum;
}

static void locks(int threads, int64_t times)
{
	pthread_t ids[THREADS_MAX];

	must(threads > 0 && threads <= THREADS_MAX, "threads");
	each = times / threads;
	for (int i = 0; i < threads; i++)
		must(!pthread_create(&ids[i], NULL, lock, NULL), "thread");
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
}

int main(int argc, char **argv)
{
	int64_t times = argc > 2 ? atoll(argv[argc - 1]) : 0;
	int64_t begun = weir_now_ns();

	must(times > 0, "WHAT [...] TIMES");
	if (!strcmp(argv[1], "limit") && argc == 3) {
		limit(times);
	} else if (!strcmp(argv[1], "group") && argc == 4) {
		group(atoll(argv[2]), times);
	} else if (argc == 5) {
		is_weir = !strcmp(argv[1], "weir-rw");
		must(is_weir || !strcmp(argv[1], "pthread-rw"), "WHAT");
		writes = atoll(argv[3]);
		locks(atoi(argv[2]), times);
	} else {
		must(0, "WHAT [...] TIMES");
	}
	printf("%.1f\n", (double)(weir_now_ns() - begun) / (double)times);
	return 0;
}
