/* SPDX-License-Identifier: MIT */
/*
 * Hand-off between processes: the time from a release, or from the death of the
 * holder, until a waiting process has the permit.
 *
 * The waiter is a child that acquires, records the time, and waits again.  The
 * clock starts when the child is known to sleep.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "processes.h"

#define TIMES_MAX 20000

struct board {
	const struct kind *kind;
	bool pin;		/* each process has its own CPU */
	uint64_t allowed;		/* round that the waiter may begin */
	uint64_t begun;		/* round that the waiter has begun */
	uint64_t ended;		/* round that the waiter has ended */
	uint64_t got_ns;	/* time of the acquire */
	uint64_t ready;		/* the holder has its permit and memory */
	int64_t eat;		/* bytes that the holder allocates */
	uint64_t over;
};

static struct board *board;

static void make_board(const struct kind *kind)
{
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(board != MAP_FAILED, "mmap");
	board->kind = kind;
}

/* Wait until a word has this value.  Never called while the clock runs. */
static void await(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		nap_us(20);
}

static void set(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void wait_and_record(void *arg)
{
	const struct kind *kind = board->kind;

	(void)arg;
	if (board->pin)
		bench_pin(1);
	kind->attach();
	for (uint64_t round = 1;; round++) {
		while (__atomic_load_n(&board->allowed, __ATOMIC_ACQUIRE) !=
		       round) {
			if (__atomic_load_n(&board->over, __ATOMIC_ACQUIRE))
				return;
			nap_us(20);
		}
		set(&board->begun, round);
		kind->acquire();
		board->got_ns = (uint64_t)now_ns();
		kind->release();
		set(&board->ended, round);
	}
}

/* Let the waiter begin the round, and wait until it sleeps in its acquire. */
static void send_to_sleep(pid_t waiter, uint64_t round)
{
	set(&board->allowed, round);
	await(&board->begun, round);
	while (!child_sleeps(waiter))
		nap_us(20);
	/* It may have been napping before its acquire: check again later. */
	nap_us(200);
	while (!child_sleeps(waiter))
		nap_us(20);
}

static void print(double *times, size_t count)
{
	double median = median_of(times, count);

	printf("{\"ns\": %.0f, \"p90\": %.0f, \"max\": %.0f, \"count\": %zu}\n",
	       median, times[count * 9 / 10], times[count - 1], count);
}

void measure_handoff(const struct bench_args *args, const struct kind *kind)
{
	static double times[TIMES_MAX];
	int64_t end;
	uint64_t round = 0;
	pid_t waiter;

	make_board(kind);
	board->pin = args->pin;
	if (board->pin)
		bench_pin(0);
	kind->make();
	waiter = child_start(wait_and_record, NULL);
	end = now_ns() + args->ms * 1000000;
	while (round < 5 || (now_ns() < end && round < TIMES_MAX)) {
		int64_t start;

		kind->acquire();
		send_to_sleep(waiter, round + 1);
		start = now_ns();
		kind->release();
		await(&board->ended, round + 1);
		times[round++] = (double)((int64_t)board->got_ns - start);
	}
	set(&board->over, 1);
	child_end(waiter);
	print(times, round);
}

static void hold(void *arg)
{
	char *memory;

	(void)arg;
	board->kind->attach();
	board->kind->acquire();
	if (board->eat) {
		memory = mmap(NULL, (size_t)board->eat, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
			      0);
		must(memory != MAP_FAILED, "no memory");
	}
	set(&board->ready, 1);
	for (;;)
		pause();
}

/* count is the holder's size in MB. */
void measure_death(const struct bench_args *args, const struct kind *kind)
{
	static double times[TIMES_MAX];
	int64_t end;
	uint64_t round = 0;
	pid_t waiter;

	if (!kind->survives)
		bench_cannot("a holder's death");
	make_board(kind);
	board->eat = args->count << 20;
	kind->make();
	waiter = child_start(wait_and_record, NULL);
	end = now_ns() + args->ms * 1000000;
	while (round < 3 || (now_ns() < end && round < TIMES_MAX)) {
		pid_t holder = child_start(hold, NULL);
		int64_t start;
		int fd;

		await(&board->ready, 1);
		set(&board->ready, 0);
		send_to_sleep(waiter, round + 1);
		must(holder > 1, "a child");
		fd = (int)syscall(SYS_pidfd_open, holder, 0);
		must(fd >= 0, "pidfd_open");
		start = now_ns();
		must(syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0,
		     "pidfd_send_signal");
		await(&board->ended, round + 1);
		times[round++] = (double)((int64_t)board->got_ns - start);
		close(fd);
		child_end(holder);
	}
	set(&board->over, 1);
	child_end(waiter);
	print(times, round);
}
