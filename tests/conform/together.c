/* SPDX-License-Identifier: MIT */
/*
 * Concurrent threads, allocations during a wait, and fork: C6, C13, C16, C24,
 * C26, C29.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kind.h"

/* C26: count heap allocations; the linker wraps the functions. */
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

/* C26: a wait allocates nothing, however it ends. */
__attribute__((unused)) static void scenario_waits(const struct kind *k)
{
	void *sem = k->make(2);
	weir_ctx ctx = WEIR_CTX_INIT;
	struct job granted, cancelled, idle;
	int before;

	/* Counting works: k->make has allocated a thread semaphore. */
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

#ifndef CONFORM_CLUSTER
/* Not for `apart` and `strict`: there each job opens a handle on the heap. */
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
#endif

#define WORKERS 4
#ifdef CONFORM_CLUSTER
#define ROUNDS 40
#else
#define ROUNDS 500
#endif

struct worker {
	const struct kind *k;
	void *sem;
	uint64_t random;
	check_thread thread;
};

/*
 * C24: a plain variable, accessed only with the one permit.  ThreadSanitizer
 * does not know that the mappings of two handles are the same file, and would
 * report a race.  So these kinds use atomic accesses, although no other thread
 * adds meanwhile.
 */
static int64_t counter;

static void add_one(const struct kind *k)
{
	int64_t now;

#ifndef CONFORM_CLUSTER
	if (k != &kind_apart && k != &kind_strict) {
		counter++;
		return;
	}
#else
	(void)k;
#endif
	now = __atomic_load_n(&counter, __ATOMIC_RELAXED);
	__atomic_store_n(&counter, now + 1, __ATOMIC_RELAXED);
}

static void *count_up(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < ROUNDS; i++) {
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

EVERY(c24_writes_before_a_release_are_visible)
{
	void *sem = k->make(1);

	counter = 0;
	run_workers(k, sem, count_up);
	CHECK_EQ(counter, WORKERS * ROUNDS);
	drop(k, sem);
}

/* The sum of held permits, counted by the test. */
static int64_t out;

static void *mix(void *arg)
{
	struct worker *worker = arg;
	const struct kind *k = worker->k;

	for (int i = 0; i < ROUNDS * 2 / 5; i++) {
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

EVERY(c6_c16_never_more_held_than_the_capacity)
{
	void *sem = k->make(5);

	out = 0;
	run_workers(k, sem, mix);
	CHECK_EQ(out, 0);
	drop(k, sem);
}

/* C29: the child holds nothing, and its end releases nothing. */
LOCAL(c29_a_child_holds_nothing)
{
	void *sem = k->make(2);
	int status;
	pid_t pid;

	CHECK_OK(k->acquire(sem, 1, NULL));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		/* The parent's permit is held in the child's view too. */
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
