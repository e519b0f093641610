/* SPDX-License-Identifier: MIT */
/*
 * The first use of a zeroed or copied sem_t by two calls at the same time.
 *
 * The defect: weir_posix_find_ read the words of a zeroed sem_t one by one
 * without the lock, while another call made its object.
 *
 *   call A: word 0 is 0, so the sem_t may be zeroed
 *   call B: takes the lock, writes words 1, 2, 3 and 0, returns
 *   call A: word 1 is not 0: "a semaphore of the C library", whose function then
 *           changes word 0, which is the magic
 *
 * The C library aborted, or call A never returned.
 */
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "weir/posix/semaphore.h"

/*
 * The interleaving without a second thread: word 0 is the last word of a page,
 * and the next page is protected.  Call A faults between the two reads; the
 * handler is call B.
 */
static char *next_page;
static size_t page;
static sem_t *split;
static int posted;

static void post_in_fault(int number)
{
	(void)number;
	CHECK_EQ(mprotect(next_page, page, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(sem_post(split), 0);
	posted++;
}

static void map_split(void)
{
	struct sigaction act = { .sa_handler = post_in_fault };
	char *map;

	page = (size_t)sysconf(_SC_PAGESIZE);
	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	next_page = map + page;
	split = (sem_t *)(void *)(next_page - sizeof(uintptr_t));
	CHECK_EQ(sigaction(SIGSEGV, &act, NULL), 0);
}

/* The next call that reads word 1 is interrupted by a sem_post. */
static void protect(void)
{
	posted = 0;
	CHECK_EQ(mprotect(next_page, page, PROT_NONE), 0);
}

static void unmap_split(int value)
{
	int now = -1;

	CHECK_EQ(posted, 1);
	CHECK_EQ(sem_getvalue(split, &now), 0);
	CHECK_EQ(now, value);
	/* It is weir's, and not the C library's. */
	CHECK(weir_posix_name(split));
	CHECK_EQ(sem_destroy(split), 0);
	CHECK_EQ(munmap(next_page - page, 2 * page), 0);
	CHECK(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
}

TEST(post_between_the_reads_of_a_wait)
{
	map_split();
	protect();
	CHECK_EQ(sem_wait(split), 0);
	unmap_split(0);
}

TEST(post_between_the_reads_of_a_timed_wait)
{
	struct timespec past = { 1, 0 };

	map_split();
	protect();
	CHECK_EQ(sem_timedwait(split, &past), 0);
	unmap_split(0);
}

TEST(post_between_the_reads_of_a_post)
{
	map_split();
	protect();
	CHECK_EQ(sem_post(split), 0);
	unmap_split(2);
}

TEST(post_between_the_reads_of_a_trywait)
{
	map_split();
	protect();
	CHECK_EQ(sem_trywait(split), 0);
	unmap_split(0);
}

TEST(post_between_the_reads_of_a_getvalue)
{
	int value = -1;

	map_split();
	protect();
	CHECK_EQ(sem_getvalue(split, &value), 0);
	CHECK_EQ(value, 1);
	unmap_split(1);
}

TEST(post_between_the_reads_of_a_copy)
{
	sem_t original;

	map_split();
	CHECK_EQ(sem_init(&original, 0, 4), 0);
	memcpy(split, &original, sizeof(original));
	protect();
	CHECK_EQ(sem_post(split), 0);
	unmap_split(6);
	CHECK_EQ(sem_destroy(&original), 0);
}

/*
 * A semaphore between processes is the C library's, also while its value is 0 and
 * its first word therefore 0.
 */
TEST(shared_of_value_0)
{
	int value = -1;
	sem_t s;

	for (int fill = 0; fill < 256; fill += 255) {
		memset(&s, fill, sizeof(s));
		CHECK_EQ(sem_init(&s, 1, 0), 0);
		CHECK(!weir_posix_name(&s));
		CHECK_EQ(sem_trywait(&s), -1);
		CHECK_EQ(errno, EAGAIN);
		CHECK_EQ(sem_post(&s), 0);
		CHECK_EQ(sem_wait(&s), 0);
		CHECK_EQ(sem_getvalue(&s, &value), 0);
		CHECK_EQ(value, 0);
		CHECK(!weir_posix_name(&s));
		CHECK_EQ(sem_destroy(&s), 0);
	}
}

/* Memory of a destroyed semaphore: only the first 16 bytes are zeroed. */
TEST(zeroed_again)
{
	int value = -1;
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 7), 0);
	CHECK_EQ(sem_destroy(&s), 0);
	memset(&s, 0, 16);
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(sem_getvalue(&s, &value), 0);
	CHECK_EQ(value, 1);
	CHECK_EQ(sem_destroy(&s), 0);
}

/*
 * Two threads post the same semaphore for the first time, as close together as
 * they can: they meet before each post, and one then spins for a short and
 * varying time.  On a slow machine they stop after some seconds.
 */
#define SEMS 10000
#define MEET_NS INT64_C(3000000000)

static sem_t many[SEMS];
static int arrived;
static int count;		/* semaphores that are posted */

struct poster {
	int late;		/* spin after the meeting */
};

static void *post_all(void *arg)
{
	const struct poster *p = arg;
	int64_t until_ns = weir_deadline_after(MEET_NS);

	for (int i = 0; i < SEMS; i++) {
		/* The other thread sees it at their next meeting. */
		if (!p->late && i >= 10 && weir_now_ns() >= until_ns)
			__atomic_store_n(&count, i, __ATOMIC_RELAXED);
		__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
		for (int n = 0; __atomic_load_n(&arrived, __ATOMIC_ACQUIRE) <
				2 * (i + 1); n++)
			if (n > 1000)
				sched_yield();
		if (i == __atomic_load_n(&count, __ATOMIC_RELAXED))
			break;
		for (volatile int n = 0; n < (i % 1024) * p->late; n++)
			;
		CHECK_EQ(sem_post(&many[i]), 0);
	}
	return NULL;
}

static void meet(const sem_t *initial, int value)
{
	struct poster p[2] = { { 0 }, { 1 } };
	check_thread threads[2];

	arrived = 0;
	count = SEMS;
	for (int i = 0; i < SEMS; i++)
		memcpy(&many[i], initial, sizeof(*initial));
	for (int i = 0; i < 2; i++)
		threads[i] = start(post_all, &p[i]);
	for (int i = 0; i < 2; i++)
		finish(threads[i]);
	for (int i = 0; i < count; i++) {
		int now = -1;

		CHECK_EQ(sem_getvalue(&many[i], &now), 0);
		CHECK_EQ(now, value + 2);
		CHECK_EQ(sem_destroy(&many[i]), 0);
	}
}

TEST(two_threads_use_zeroed_semaphores)
{
	static const sem_t zero;

	for (int round = 0; round < 3; round++)
		meet(&zero, 0);
}

TEST(two_threads_use_copies)
{
	sem_t original;

	CHECK_EQ(sem_init(&original, 0, 3), 0);
	meet(&original, 3);
	CHECK_EQ(sem_destroy(&original), 0);
}
