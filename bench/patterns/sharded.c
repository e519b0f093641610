/* SPDX-License-Identifier: MIT */
/*
 * A limit that is not reached, with an empty section: nanoseconds for each
 * acquire and release, of the sharded semaphore and of a semaphore that lets
 * calls pass each other.
 */
#include "patterns.h"

#include "weir/sem.h"
#include "weir/sharded.h"

static weir_sharded sharded;
static weir_sem sem;

static void sharded_rounds(void *arg, int number)
{
	struct share *mine = &crowd.shares[number];

	(void)arg;
	while (!stopped()) {
		must(!weir_sharded_acquire(&sharded, 1, NULL), "acquire");
		weir_sharded_release(&sharded, 1);
		count(mine, 1);
	}
}

static void sem_rounds(void *arg, int number)
{
	struct share *mine = &crowd.shares[number];

	(void)arg;
	while (!stopped()) {
		must(!weir_sem_acquire(&sem, 1, NULL), "acquire");
		weir_sem_release(&sem, 1);
		count(mine, 1);
	}
}

void measure_sharded(const struct bench_args *args)
{
	const weir_sharded_opts opts = { .capacity = args->capacity };
	const weir_sem_opts barging = { .permits = args->capacity,
					.policy = WEIR_BARGING };
	weir_sharded_info info;

	if (!strcmp(args->kind, "weir")) {
		must(!weir_sharded_init(&sharded, &opts), "init");
		crowd_measure(args, (int)args->threads, sharded_rounds);
		must(!weir_sharded_stat(&sharded, &info) &&
		     info.free == args->capacity, "permits were lost");
		must(!weir_sharded_destroy(&sharded), "destroy");
	} else if (!strcmp(args->kind, "sem")) {
		must(!weir_sem_init_opts(&sem, &barging), "init");
		crowd_measure(args, (int)args->threads, sem_rounds);
		must(weir_sem_available(&sem) == args->capacity,
		     "permits were lost");
	} else {
		bench_cannot(args->kind);
	}
}
