/* SPDX-License-Identifier: MIT */
/* weir_sem_stat on a queue: its numbers, and which waiters it reads. */
#include <sys/mman.h>
#include <unistd.h>

#include "job.h"
#include "weir/async.h"

#define OPS 9

/* One operation in each page, so that a page can be taken away from the library. */
static weir_op *ops[OPS];

static void map_ops(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, OPS * page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	for (size_t i = 0; i < OPS; i++) {
		ops[i] = (weir_op *)(void *)(area + i * page);
		weir_op_init(ops[i], NULL, NULL, NULL);
	}
}

static void allow(weir_op *op, int protection)
{
	CHECK_EQ(mprotect(op, (size_t)sysconf(_SC_PAGESIZE), protection), 0);
}

static void submit(weir_op *op, weir_sem *sem, int64_t n)
{
	CHECK_EQ(weir_op_submit(op, sem, n, NULL), WEIR_EQUEUED);
}

static void cancel(weir_op *op)
{
	CHECK_OK(weir_op_cancel(op));
}

static void check_waiting(weir_sem *sem, int64_t waiters, int64_t permits)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_stat(sem, &info));
	CHECK_EQ(info.waiters, waiters);
	CHECK_EQ(info.waiting_permits, permits);
}

/*
 * Requests of one weight: stat reads the head alone, so its time does not depend on the
 * length of the queue.  A read of the others would end this program with SIGSEGV.
 */
TEST(stat_reads_only_the_head_if_all_weights_are_equal)
{
	weir_sem sem = WEIR_SEM_INIT(4);

	map_ops();
	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	for (int i = 0; i < OPS; i++)
		submit(ops[i], &sem, 3);
	for (int i = 1; i < OPS; i++)
		allow(ops[i], PROT_NONE);
	check_waiting(&sem, OPS, OPS * 3);
	for (int i = 1; i < OPS; i++)
		allow(ops[i], PROT_READ | PROT_WRITE);
	/* The next head is marked no more than the first one. */
	cancel(ops[0]);
	for (int i = 2; i < OPS; i++)
		allow(ops[i], PROT_NONE);
	check_waiting(&sem, OPS - 1, (OPS - 1) * 3);
	for (int i = 2; i < OPS; i++)
		allow(ops[i], PROT_READ | PROT_WRITE);
	for (int i = 1; i < OPS; i++)
		cancel(ops[i]);
	check_waiting(&sem, 0, 0);
}

/* Other weights: their sum is right, whichever waiter leaves. */
TEST(stat_adds_up_weights_that_differ)
{
	weir_sem sem = WEIR_SEM_INIT(4);

	map_ops();
	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	submit(ops[0], &sem, 2);
	submit(ops[1], &sem, 2);
	submit(ops[2], &sem, 3);
	submit(ops[3], &sem, 1);
	check_waiting(&sem, 4, 8);
	/* The head leaves: the next one has the mark. */
	cancel(ops[0]);
	check_waiting(&sem, 3, 6);
	cancel(ops[2]);
	check_waiting(&sem, 2, 3);
	submit(ops[2], &sem, 2);
	check_waiting(&sem, 3, 5);
	/* The head is granted and leaves, too. */
	weir_sem_release(&sem, 2);
	CHECK_OK(weir_op_poll(ops[1]));
	check_waiting(&sem, 2, 3);
	cancel(ops[3]);
	check_waiting(&sem, 1, 2);
	cancel(ops[2]);
	/* The mark ended with the queue. */
	submit(ops[0], &sem, 3);
	submit(ops[1], &sem, 3);
	allow(ops[1], PROT_NONE);
	check_waiting(&sem, 2, 6);
	allow(ops[1], PROT_READ | PROT_WRITE);
	cancel(ops[0]);
	cancel(ops[1]);
	CHECK_IDENTITY(&sem);
}

/* A request that exceeds the capacity is not queued: its weight does not matter. */
TEST(stat_does_not_mix_in_oversized_requests)
{
	weir_sem sem = WEIR_SEM_INIT(4);
	weir_ctx ctx = WEIR_CTX_INIT;

	map_ops();
	CHECK_OK(weir_sem_acquire(&sem, 4, NULL));
	submit(ops[0], &sem, 3);
	submit(ops[1], &sem, 3);
	CHECK_EQ(weir_op_submit(ops[2], &sem, 5, &ctx), WEIR_EQUEUED);
	allow(ops[1], PROT_NONE);
	check_waiting(&sem, 2, 6);
	allow(ops[1], PROT_READ | PROT_WRITE);
	for (int i = 0; i < 3; i++)
		cancel(ops[i]);
	CHECK_OK(weir_ctx_destroy(&ctx));
}

/* A sum beyond INT64_MAX is INT64_MAX, with the mark and without. */
TEST(stat_saturates)
{
	weir_sem sem = WEIR_SEM_INIT(WEIR_SEM_MAX);

	map_ops();
	CHECK_OK(weir_sem_acquire(&sem, WEIR_SEM_MAX, NULL));
	/* The largest sum of this number of requests, just below INT64_MAX. */
	for (int i = 0; i < OPS - 1; i++)
		submit(ops[i], &sem, WEIR_SEM_MAX - 1);
	check_waiting(&sem, OPS - 1, (OPS - 1) * (WEIR_SEM_MAX - 1));
	for (int i = 0; i < OPS - 1; i++)
		cancel(ops[i]);
	for (int i = 0; i < OPS - 1; i++)
		submit(ops[i], &sem, WEIR_SEM_MAX);
	check_waiting(&sem, OPS - 1, INT64_MAX);
	submit(ops[OPS - 1], &sem, 1);
	check_waiting(&sem, OPS, INT64_MAX);
	for (int i = 0; i < OPS; i++)
		cancel(ops[i]);
}
