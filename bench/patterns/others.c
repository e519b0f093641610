/* SPDX-License-Identifier: MIT */
/*
 * Empty tasks, threads= at a time: nanoseconds for each, from the first spawn
 * until all have run.  And tokens of a rate limit that is never reached.
 */
#include "patterns.h"

#include "weir/group.h"
#include "weir/rate.h"

/* Tasks spawned between two readings of the clock. */
#define CHUNK 256

static weir_err nothing(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return WEIR_OK;
}

void measure_group(const struct bench_args *args)
{
	const weir_group_opts opts = { .workers = args->threads,
				       .backlog = CHUNK };
	int64_t from, tasks = 0;
	weir_group group;

	must(!weir_group_init(&group, &opts), "init");
	from = now_ns();
	do {
		for (int i = 0; i < CHUNK; i++)
			must(!weir_group_spawn(&group, nothing, NULL, 1, NULL),
			     "spawn");
		tasks += CHUNK;
	} while (now_ns() - from < args->ms * 1000000);
	must(!weir_group_wait(&group, NULL, NULL), "wait");
	printf("{\"ns\": %.3f}\n", (double)(now_ns() - from) / (double)tasks);
	must(!weir_group_destroy(&group), "destroy");
}

static void tokens(void *arg, int64_t times)
{
	weir_rate *limit = arg;

	for (int64_t i = 0; i < times; i++)
		must(!weir_rate_acquire(limit, 1, NULL), "acquire");
}

void measure_limit(const struct bench_args *args)
{
	const weir_rate_opts opts = { .rate = WEIR_RATE_MAX,
				       .burst = WEIR_RATE_MAX };
	weir_rate limit;

	must(!weir_rate_init(&limit, &opts), "init");
	bench_second_thread();
	printf("{\"ns\": %.3f}\n", bench_repeat(args, tokens, &limit));
	must(!weir_rate_destroy(&limit), "destroy");
}
