/* SPDX-License-Identifier: MIT */
/*
 * A permit that passes through a queue of waiting processes: the time of one
 * hand-off.  Each waiter acquires, releases, and sleeps until the end.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "processes.h"

#define CROWD_MAX 1000
#define TIMES_MAX 1000

struct square {
	const struct kind *kind;
	uint32_t rounds;	/* rounds that may begin; a futex */
	uint32_t over;
	int64_t left;		/* waiters that have not released yet */
};

static struct square *square;

static void stand_in_queue(void *arg)
{
	uint32_t round = 0;

	(void)arg;
	square->kind->attach();
	for (;; round++) {
		while (__atomic_load_n(&square->rounds, __ATOMIC_ACQUIRE) == round)
			(void)syscall(SYS_futex, &square->rounds, FUTEX_WAIT,
				      round, NULL, NULL, 0);
		if (__atomic_load_n(&square->over, __ATOMIC_ACQUIRE))
			return;
		square->kind->acquire();
		square->kind->release();
		(void)__atomic_sub_fetch(&square->left, 1, __ATOMIC_ACQ_REL);
	}
}

static void begin_round(void)
{
	(void)__atomic_add_fetch(&square->rounds, 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &square->rounds, FUTEX_WAKE, INT_MAX, NULL,
		      NULL, 0);
}

/* Wait until every child sleeps in its acquire: found asleep three times. */
static void await_queue(const pid_t *pids, int64_t count)
{
	for (int looks = 0; looks < 3; looks++) {
		sleep_ms(10);
		for (int64_t i = 0; i < count; i++)
			while (!child_sleeps(pids[i])) {
				nap_us(100);
				looks = -1;
			}
	}
}

/* count is the number of waiters. */
void measure_crowd(const struct bench_args *args, const struct kind *kind)
{
	static double times[TIMES_MAX];
	static pid_t pids[CROWD_MAX];
	int64_t end = now_ns() + args->ms * 1000000;
	size_t rounds = 0;

	must(args->count > 0 && args->count <= CROWD_MAX, "too many waiters");
	square = mmap(NULL, sizeof(*square), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(square != MAP_FAILED, "mmap");
	square->kind = kind;
	kind->make();
	for (int64_t i = 0; i < args->count; i++)
		pids[i] = child_start(stand_in_queue, NULL);
	while (rounds < 3 || (now_ns() < end && rounds < TIMES_MAX)) {
		int64_t start;

		kind->acquire();
		square->left = args->count;
		begin_round();
		await_queue(pids, args->count);
		start = now_ns();
		kind->release();
		while (__atomic_load_n(&square->left, __ATOMIC_ACQUIRE))
			nap_us(20);
		times[rounds++] = (double)(now_ns() - start) /
				  (double)args->count;
	}
	__atomic_store_n(&square->over, 1, __ATOMIC_RELEASE);
	begin_round();
	for (int64_t i = 0; i < args->count; i++)
		child_end(pids[i]);
	printf("{\"ns\": %.0f, \"count\": %zu}\n", median_of(times, rounds),
	       rounds);
}
