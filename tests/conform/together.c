/* SPDX-License-Identifier: MIT */
/*
 * Many at once, what a wait costs, and forks: C6, C13, C16, C24, C26, C29.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kind.h"

/* C26: what the library asks of the heap, seen by the linker. */
static int allocations;

#define COUNTED __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED)
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
	COUNTED;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	COUNTED;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	COUNTED;
	return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	COUNTED;
	return __real_aligned_alloc(alignment, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
	COUNTED;
	return __real_posix_memalign(out, alignment, size);
}

/* C26: no heap in any wait, however it ends. */
static void scenario_waits(const struct kind *k)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job granted, cancelled, idle;
	int before;

	/* It is counted: making a thread's semaphore is one. */
	CHECK(allocations > 0);
	CHECK_OK(k->acquire(sem, 2, NULL));
	before = allocations;
	CHECK_ERR(k->acquire_for(sem, 1, 1000), WEIR_ETIMEDOUT);
	begin(&cancelled, k, sem, 2, &ctx);
	begin(&granted, k, sem, 1, NULL);
	begin_idle(&idle, k, sem, NULL);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(outcome(&cancelled), WEIR_ECANCELED);
	k->release(sem, 2);
	CHECK_OK(outcome(&granted));
	k->release(sem, 1);
	CHECK_OK(outcome(&idle));
	CHECK_EQ(allocations, before);
	CHECK_OK(weir_ctx_destroy(&ctx));
	drop(k, sem);
}

/* A place is made for each of the jobs where they stand apart: not there. */
TEST(c26_no_heap_in_a_wait_fifo)
{
	scenario_waits(&kind_fifo);
}
TEST(c26_no_heap_in_a_wait_barging)
{
	scenario_waits(&kind_barging);
}
#ifndef BETWEEN_THREADS_ALONE
TEST(c26_no_heap_in_a_wait_named)
{
	scenario_waits(&kind_named);
}
#endif

#define WORKERS 4

struct worker {
	const struct kind *k;
	void *sem;
	uint64_t random;
	check_thread thread;
};

/*
 * C24: plain, and only ever touched with the one permit.  ThreadSanitizer does not
 * know that the mappings of two handles are one file; what it would see there has
 * to be said to be atomic, though nobody else adds meanwhile.
 */
static int64_t counter;

static void add_one(const struct kind *k)
{
	int64_t now;

	if (k != &kind_apart && k != &kind_strict) {
		counter++;
		return;
	}
	now = __atomic_load_n(&counter, __ATOMIC_RELAXED);
	__atomic_store_n(&counter, now + 1, __ATOMIC_RELAXED);
}

static void *count_up(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < 500; i++) {
		CHECK_OK(worker->k->acquire(worker->sem, 1, NULL));
		add_one(worker->k);
		worker->k->release(worker->sem, 1);
	}
	return NULL;
}

static void run_workers(const struct kind *k, void *sem, void *(*fn)(void *))
{
	struct worker workers[WORKERS];

	for (uint64_t i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .k = k, .sem = k->another(sem),
					      .random = seed_of(i) };
		workers[i].thread = start(fn, &workers[i]);
	}
	for (int i = 0; i < WORKERS; i++) {
		finish(workers[i].thread);
		if (workers[i].sem != sem)
			CHECK_OK(k->destroy(workers[i].sem));
	}
}

EVERY(c24_what_was_done_before_a_release_is_seen)
{
	void *sem = k->make(1);

	counter = 0;
	run_workers(k, sem, count_up);
	CHECK_EQ(counter, WORKERS * 500);
	drop(k, sem);
}

/* What is out by our own count; never more than there are. */
static int64_t out;

static void *mix(void *arg)
{
	struct worker *worker = arg;
	const struct kind *k = worker->k;

	for (int i = 0; i < 200; i++) {
		int64_t n = 1 + random_below(&worker->random, 3), got = n;
		weir_err err;

		switch (random_below(&worker->random, 3)) {
		case 0:
			err = k->acquire_for(worker->sem, n,
					     random_below(&worker->random,
							  100000));
			CHECK(!err || err == WEIR_ETIMEDOUT);
			break;
		case 1:
			err = k->try_acquire(worker->sem, n);
			CHECK(!err || err == WEIR_EAGAIN);
			break;
		default:
			err = k->acquire_upto(worker->sem, n, 5, NULL, &got);
			CHECK_OK(err);
			CHECK(got >= n && got <= 5);
		}
		if (err)
			continue;
		CHECK(__atomic_add_fetch(&out, got, __ATOMIC_SEQ_CST) <= 5);
		__atomic_sub_fetch(&out, got, __ATOMIC_SEQ_CST);
		k->release(worker->sem, got);
	}
	return NULL;
}

EVERY(c6_c16_never_more_out_than_there_are)
{
	void *sem = k->make(5);

	out = 0;
	run_workers(k, sem, mix);
	CHECK_EQ(out, 0);
	drop(k, sem);
}

/* C29: the child holds nothing, and its end gives nothing back. */
EVERY(c29_a_child_holds_nothing)
{
	void *sem = k->make(2);
	int status;
	pid_t pid;

	CHECK_OK(k->acquire(sem, 1, NULL));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		/* What the parent holds is out, for the child as well. */
		bool good = k->available(sem) == 1 &&
			    k->try_acquire(sem, 2) == WEIR_EAGAIN &&
			    k->try_acquire(sem, 1) == WEIR_OK;

		_exit(good ? 0 : 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(CHECK_PICTURE(k, sem).held, 1);
	CHECK_EQ(k->available(sem), 1);
	k->release(sem, 1);
	drop(k, sem);
}
