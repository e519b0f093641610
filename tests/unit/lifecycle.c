/* SPDX-License-Identifier: MIT */
/*
 * Creation and destruction: C22, C23; the cost of a semaphore: C26, C28.
 *
 * This program is linked with --wrap for the allocator, so that it sees whether
 * the library uses the heap.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "job.h"

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

void __real_free(void *memory);
void __wrap_free(void *memory);

static int allocations, frees;

static void count_one(void)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t size)
{
	count_one();
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	count_one();
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	count_one();
	return __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	count_one();
	return __real_posix_memalign(memory, alignment, size);
}

void __wrap_free(void *memory)
{
	__atomic_add_fetch(&frees, memory != NULL, __ATOMIC_RELAXED);
	__real_free(memory);
}

/* C22: with waiters of any kind destroy is refused and changes nothing. */
TEST(c22_destroy_is_refused_with_waiters)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem_info before;
	job a, big, idle;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	before = stat_of(&sem);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	CHECK(same_stat(before, stat_of(&sem)));
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	wait_oversized(&big, &sem, 2, &ctx);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	weir_ctx_cancel(&ctx);
	CHECK_ERR(job_end(&big), WEIR_ECANCELED);
	wait_for_idle(&idle, &sem, NULL);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&idle));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C22: also while a granted call has not returned. */
TEST(c22_destroy_is_refused_with_a_pending_grant)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	job a;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	CHECK(job_freeze(&a));
	weir_sem_release(&sem, 1);
	CHECK_EQ(waiters_of(&sem), 0);
	CHECK_ERR(weir_sem_destroy(&sem), WEIR_EBUSY);
	jobs_thaw();
	CHECK_OK(job_end(&a));
	CHECK_OK(weir_sem_destroy(&sem));
}

/* C22: destroy is allowed while permits are held; init creates a new one. */
TEST(c22_destroy_and_init_again)
{
	weir_sem sem = WEIR_SEM_INIT(2);

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	CHECK_OK(weir_sem_destroy(&sem));
	CHECK_OK(weir_sem_init(&sem, 3));
	CHECK(!weir_sem_is_closed(&sem));
	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	CHECK_EQ(stat_of(&sem).held, 3);
}

static void *release_page(void *arg)
{
	weir_sem_release(arg, 1);
	return NULL;
}

/*
 * C22: the acquirer may destroy and unmap although the releaser is still inside
 * its release.  A late access would fault.
 */
TEST(c22_unmap_the_moment_acquire_returns)
{
	for (int round = 0; round < 1000; round++) {
		weir_sem_opts opts = { .flags = WEIR_SEM_UNBOUNDED };
		weir_sem *sem = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check_thread thread;

		CHECK(sem != MAP_FAILED);
		CHECK_OK(weir_sem_init_opts(sem, &opts));
		thread = start(release_page, sem);
		if (round % 2)
			while (weir_sem_try_acquire(sem, 1) != WEIR_OK)
				;
		else
			CHECK_OK(weir_sem_acquire(sem, 1, NULL));
		CHECK_OK(weir_sem_destroy(sem));
		CHECK_EQ(munmap(sem, 4096), 0);
		finish(thread);
	}
}

static weir_sem four = WEIR_SEM_INIT(4);
static weir_sem barging = WEIR_SEM_INIT_BARGING(4);
static weir_sem bell = WEIR_SEM_INIT_UNBOUNDED(4);
static weir_sem zeroed;

/* C23: static initialisers are equivalent to init. */
TEST(c23_static_initialisers)
{
	weir_sem_opts opts = { .permits = 4, .policy = WEIR_BARGING };
	weir_sem made;

	CHECK_OK(weir_sem_init(&made, 4));
	CHECK(same_stat(stat_of(&four), stat_of(&made)));
	CHECK(!memcmp(&four, &made, sizeof(made)));
	CHECK_OK(weir_sem_init_opts(&made, &opts));
	CHECK(!memcmp(&barging, &made, sizeof(made)));
	CHECK_EQ(stat_of(&barging).policy, WEIR_BARGING);
	opts = (weir_sem_opts){ .permits = 4, .flags = WEIR_SEM_UNBOUNDED };
	CHECK_OK(weir_sem_init_opts(&made, &opts));
	CHECK(same_stat(stat_of(&bell), stat_of(&made)));
	CHECK(stat_of(&bell).unbounded);
	CHECK_EQ(stat_of(&bell).capacity, WEIR_SEM_MAX);
	weir_sem_release(&bell, 1);
	CHECK_OK(weir_sem_acquire(&bell, 5, NULL));
	CHECK_OK(weir_sem_acquire(&four, 4, NULL));
	CHECK_OK(weir_sem_acquire(&barging, 4, NULL));
}

/* C23: zeroed memory is a bounded FIFO semaphore of capacity 0. */
TEST(c23_zeroed_memory)
{
	weir_sem_info info = stat_of(&zeroed);
	weir_ctx ctx = WEIR_CTX_INIT;
	job a;

	CHECK_EQ(info.capacity, 0);
	CHECK_EQ(info.free, 0);
	CHECK_EQ(info.policy, WEIR_FIFO);
	CHECK(!info.unbounded && !info.closed && !info.name);
	CHECK_ERR(weir_sem_try_acquire(&zeroed, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_sem_acquire(&zeroed, 1, NULL), WEIR_ETOOBIG);
	CHECK_ERR(weir_sem_try_release(&zeroed, 1), WEIR_EOVERFLOW);
	wait_oversized(&a, &zeroed, 2, &ctx);
	CHECK_OK(weir_sem_resize(&zeroed, 3, NULL));
	CHECK_OK(job_end(&a));
	CHECK_EQ(weir_sem_available(&zeroed), 1);
	weir_sem_release(&zeroed, 2);
	CHECK_OK(weir_sem_destroy(&zeroed));
}

/* Options: a capacity above the permits means that the rest is held. */
TEST(c23_options)
{
	weir_sem_opts opts = { .permits = 2, .capacity = 5, .name = "gate" };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_EQ(stat_of(&sem).capacity, 5);
	CHECK_EQ(stat_of(&sem).free, 2);
	CHECK_EQ(stat_of(&sem).held, 3);
	CHECK(stat_of(&sem).name == opts.name);
	weir_sem_release(&sem, 3);
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 5);
}

/* C26: a semaphore is at most 64 bytes (a waiter at most 128: src/core). */
TEST(c26_sizes)
{
	CHECK(sizeof(weir_sem) <= 64);
	CHECK(_Alignof(weir_sem) >= 8);
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	CHECK(dir != NULL);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Wait in every way, and end the waits in every way. */
static void wait_in_every_way(int *fds, int *threads)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	weir_ctx ctx = WEIR_CTX_INIT, late;
	job a, b, c, d, e;

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	queue_up(&a, &sem, 1, NULL);
	queue_up_until(&b, &sem, 1, WEIR_FOREVER);
	queue_up(&c, &sem, 1, &ctx);
	wait_oversized(&d, &sem, 2, &ctx);
	wait_for_idle(&e, &sem, NULL);
	if (fds) {
		*fds = entries("/proc/self/fd");
		*threads = entries("/proc/self/task");
	}
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 1000), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_init(&late, &ctx, weir_deadline_after(1000)));
	CHECK_ERR(weir_sem_acquire(&sem, 1, &late), WEIR_ETIMEDOUT);
	CHECK_OK(weir_ctx_destroy(&late));
	weir_ctx_cancel(&ctx);
	weir_sem_release(&sem, 1);
	CHECK_OK(job_end(&a));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	weir_sem_release(&sem, 1);
	CHECK_ERR(job_end(&b), WEIR_ECLOSED);
	CHECK_ERR(job_end(&c), WEIR_ECANCELED);
	CHECK_ERR(job_end(&d), WEIR_ECANCELED);
	CHECK_OK(job_end(&e));
}

/* C26: no wait uses the heap. */
TEST(c26_a_wait_does_not_allocate)
{
	int before = allocations;

	wait_in_every_way(NULL, NULL);
	CHECK_EQ(allocations, before);
	/* Check the counter. */
	weir_sem_unref(weir_sem_new(&(weir_sem_opts){ .permits = 1 }));
	CHECK(allocations > before);
}

/* C28: a semaphore and its waits need no thread and no file. */
TEST(c28_no_threads_and_no_files)
{
	int fds = entries("/proc/self/fd");
	int threads = entries("/proc/self/task");
	int fds_then = 0, threads_then = 0;

	wait_in_every_way(&fds_then, &threads_then);
	CHECK_EQ(fds_then, fds);
	CHECK_EQ(threads_then, threads + 5);
}

/* A semaphore on the heap lives until its last reference is released. */
TEST(c22_heap_semaphores_are_counted)
{
	weir_sem_opts bad = { .permits = -1 };
	weir_sem_opts opts = { .permits = 2, .name = "shared" };
	int in_use = allocations - frees;
	weir_sem *sem = weir_sem_new(&opts);

	CHECK(weir_sem_new(&bad) == NULL);
	CHECK(sem != NULL);
	CHECK(weir_sem_ref(sem) == sem);
	weir_sem_unref(sem);
	CHECK_OK(weir_sem_acquire(sem, 2, NULL));
	CHECK_EQ(stat_of(sem).held, 2);
	weir_sem_release(sem, 2);
	CHECK_EQ(allocations - frees, in_use + 1);
	weir_sem_unref(sem);
	CHECK_EQ(allocations - frees, in_use);
}
