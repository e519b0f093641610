/* SPDX-License-Identifier: MIT */
/* The recorder: record.h.  Its threads: worker.c. */
#include "record.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "check.h"
#include "worker.h"

/* This program is linked with --wrap for the allocator (C26). */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

static int64_t allocations;

void *__wrap_malloc(size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_posix_memalign(memory, alignment, size);
}

int64_t record_allocations(void)
{
	return __atomic_load_n(&allocations, __ATOMIC_RELAXED);
}

static run the_run;
static op merged[HISTORY_THREADS * CALLS_MAX];
static check_thread threads[WORKERS_MAX];
static pthread_barrier_t barrier;
static bool over;

static void *live(void *arg)
{
	worker *w = arg;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (over)
			return NULL;
		if (w->number < w->run->shape.workers)
			worker_run(w);
		pthread_barrier_wait(&barrier);
	}
}

void record_start(void)
{
	over = false;
	/* Do not round deadlines of microseconds up to 50 us. */
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, 1), 0);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, WORKERS_MAX + 1), 0);
	/* Touch all memory now, so that it does not count as growth later. */
	memset(merged, 1, sizeof(merged));
	memset(workers, 1, sizeof(workers));
	for (int i = 0; i < HISTORY_THREADS; i++) {
		workers[i].run = &the_run;
		workers[i].number = i;
	}
	for (int i = 0; i < WORKERS_MAX; i++)
		threads[i] = start(live, &workers[i]);
	worker_listen();
}

void record_stop(void)
{
	over = true;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < WORKERS_MAX; i++)
		finish(threads[i]);
	worker_stop_listening();
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

static void prepare(const struct shape *shape)
{
	weir_sem_opts opts = { .permits = shape->permits,
			       .policy = shape->policy,
			       .barge_us = shape->barge_us,
			       .name = "history" };
	uint64_t random = shape->seed;

	CHECK(shape->calls <= CALLS_MAX && shape->workers <= WORKERS_MAX);
	the_run.shape = *shape;
	the_run.stamp = 1;
	the_run.finished = the_run.endless = 0;
	CHECK_OK(weir_sem_init_opts(&the_run.sem, &opts));
	for (int i = 0; i < HISTORY_GROUPS; i++)
		CHECK_OK(weir_ctx_init(&the_run.group[i], NULL, WEIR_FOREVER));
	for (int i = 0; i < HISTORY_THREADS; i++) {
		workers[i].calls = workers[i].contexts = 0;
		workers[i].random = next_random(&random);
	}
}

static uint64_t stamps(void)
{
	return __atomic_load_n(&the_run.stamp, __ATOMIC_ACQUIRE);
}

static int finished(void)
{
	return (int)__atomic_load_n(&the_run.finished, __ATOMIC_ACQUIRE);
}

/* Returns true if half of the threads have finished or wait for a cancel. */
static bool is_late(void)
{
	int endless = (int)__atomic_load_n(&the_run.endless, __ATOMIC_RELAXED);

	return 2 * (finished() + endless) >= the_run.shape.workers;
}

/* C6, C7, C19: a thread does not return.  Report its call. */
__attribute__((noreturn)) static void stalled(void)
{
	weir_sem_info info = stat_of(&the_run.sem);
	char text[300];

	for (int i = 0; i < the_run.shape.workers; i++) {
		const worker *w = &workers[i];

		if (!w->calls || w->log[w->calls - 1].ended)
			continue;
		op_show(&w->log[w->calls - 1], text, sizeof(text));
		printf("  %s\n", text);
	}
	check_fail(__FILE__, __LINE__, "no progress: %d of %d have finished, "
		   "%d free, %d held, %d granted, %u wait, %u oversized",
		   finished(), the_run.shape.workers, (int)info.free,
		   (int)info.held, (int)info.granted, info.waiters, info.oversized);
}

/*
 * Wait until all threads have finished, or `late` and is_late().  Fails if no
 * stamp is drawn for a long time.
 */
static void await(bool late, uint64_t target)
{
	struct timespec nap = { 0, 100000 };
	uint64_t seen = 0;
	int still = 0;

	while (finished() < the_run.shape.workers && stamps() < target &&
	       !(late && is_late())) {
		nanosleep(&nap, NULL);
		still = stamps() == seen ? still + 1 : 0;
		seen = stamps();
		/*
		 * Count polls, not time: the machine may have been suspended.
		 */
		if (still == 100000)
			stalled();
	}
}

/* The recorder's own calls: close, and cancel the groups. */
static void preside(const struct shape *shape)
{
	worker *w = &workers[shape->workers];
	uint64_t calls = (uint64_t)(shape->workers * shape->calls);
	uint64_t target = calls + (uint64_t)random_below(&w->random,
							 (int64_t)calls);

	if (shape->closes) {
		await(true, target);
		worker_close(w, shape->how);
	}
	await(true, UINT64_MAX);
	for (int i = 0; i < HISTORY_GROUPS; i++)
		worker_cancel_group(w, i);
	if (shape->closes && shape->how == WEIR_CLOSE_DRAIN)
		worker_close(w, WEIR_CLOSE_NOW);
	await(false, UINT64_MAX);
}

/* C16, C22: all permits are free, no call waits, destroy succeeds. */
static void clear_up(const struct shape *shape)
{
	weir_sem_info info = stat_of(&the_run.sem);

	CHECK_EQ(info.free, info.capacity);
	CHECK_EQ(info.held, 0);
	CHECK_EQ(info.granted, 0);
	CHECK_EQ(info.debt, 0);
	CHECK_EQ(info.waiters, 0);
	CHECK_EQ(info.oversized, 0);
	CHECK_OK(weir_sem_destroy(&the_run.sem));
	for (int i = 0; i < shape->workers; i++)
		for (int k = 0; k < workers[i].contexts; k++)
			CHECK_OK(weir_ctx_destroy(&workers[i].ctx[k]));
	for (int i = 0; i < HISTORY_GROUPS; i++)
		CHECK_OK(weir_ctx_destroy(&the_run.group[i]));
}

history record_run(const struct shape *shape)
{
	history h = { .ops = merged, .permits = shape->permits,
		      .policy = shape->policy, .overdue = shape->overdue };
	int64_t before, began = weir_now_ns();

	prepare(shape);
	before = record_allocations();
	pthread_barrier_wait(&barrier);
	preside(shape);
	pthread_barrier_wait(&barrier);
	/* C26: no wait uses the heap. */
	CHECK_EQ(record_allocations(), before);
	/* If the machine was suspended, even a long bound may have passed. */
	if ((weir_now_ns() - began) / 1000 >= shape->barge_us)
		h.overdue = true;
	for (int i = 0; i <= shape->workers; i++) {
		memcpy(merged + h.count, workers[i].log,
		       (size_t)workers[i].calls * sizeof(op));
		h.count += workers[i].calls;
	}
	clear_up(shape);
	return h;
}
