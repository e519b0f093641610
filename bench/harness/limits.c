/* SPDX-License-Identifier: MIT */
/*
 * The limits of the machine: the cost of the parts of every semaphore.
 *
 *     limits NAME [ms=N] [pin=1]     prints {"ns": per operation}
 *
 * Compiled for this machine (-march=native): it measures the capability of the
 * machine, not the defaults of the compiler.
 */
#include <linux/futex.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static struct {
	uint64_t word __attribute__((aligned(BENCH_LINE)));
	uint64_t ping __attribute__((aligned(BENCH_LINE)));
	uint64_t pong __attribute__((aligned(BENCH_LINE)));
	uint64_t stop __attribute__((aligned(BENCH_LINE)));
	uint64_t over;		/* the last turn has been played */
	uint64_t done[4][BENCH_LINE / 8] __attribute__((aligned(BENCH_LINE)));
	int fd[2], epoll[2];
} it;

static inline void add(int64_t n)
{
	__atomic_fetch_add(&it.word, (uint64_t)n, __ATOMIC_ACQ_REL);
}

static inline void cas(int64_t n)
{
	uint64_t old = at_get(&it.word);

	while (!__atomic_compare_exchange_n(&it.word, &old, old + (uint64_t)n,
					    true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

#ifdef __aarch64__
static inline uint64_t counter(void)
{
	uint64_t value;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
	return value;
}
#elif defined(__x86_64__)
static inline uint64_t counter(void)
{
	return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t counter(void)
{
	return (uint64_t)clock();
}
#endif

static long futex(uint64_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, (uint32_t *)(void *)word, op, value, NULL,
		       NULL, 0);
}

#define REPEAT(name, statement)                                                \
	static void name(void *arg, int64_t times)                             \
	{                                                                      \
		(void)arg;                                                     \
		for (int64_t i = 0; i < times; i++)                            \
			statement;                                             \
	}
REPEAT(one_add, add(1))
REPEAT(one_cas, cas(1))
REPEAT(add_add, (add(-1), add(1)))
REPEAT(cas_add, (cas(-1), add(1)))
REPEAT(cas_cas, (cas(-1), cas(1)))
REPEAT(one_call, syscall(SYS_getppid))
REPEAT(one_wake, futex(&it.word, FUTEX_WAKE_PRIVATE, 1))
REPEAT(one_clock, now_ns())
REPEAT(one_counter, counter())

static const struct {
	const char *name;
	bench_repeat_fn *fn;
} alone[] = {
	{ "add", one_add }, { "cas", one_cas }, { "add+add", add_add },
	{ "cas+add", cas_add }, { "cas+cas", cas_cas }, { "call", one_call },
	{ "wake", one_wake }, { "clock", one_clock }, { "counter", one_counter },
};

static void share_add(void *arg, int number)
{
	uint64_t done = 0;

	(void)arg;
	while (!at_get(&it.stop)) {
		for (int i = 0; i < 64; i++)
			add(1);
		at_set(it.done[number], done += 64);
	}
}

static void share_cas(void *arg, int number)
{
	uint64_t done = 0;

	(void)arg;
	while (!at_get(&it.stop)) {
		for (int i = 0; i < 64; i++)
			cas(1);
		at_set(it.done[number], done += 64);
	}
}

/* The ways to pass a turn; both sides do the same, each on its own word. */
static void spin_send(uint64_t *word, int number)
{
	(void)number;
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

static void spin_receive(uint64_t *word, int number)
{
	(void)number;
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		;
	at_set(word, 0);
}

static void futex_send(uint64_t *word, int number)
{
	(void)number;
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	must(futex(word, FUTEX_WAKE_PRIVATE, 1) >= 0, "wake");
}

static void futex_receive(uint64_t *word, int number)
{
	(void)number;
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		futex(word, FUTEX_WAIT_PRIVATE, 0);
	at_set(word, 0);
}

static void event_send(uint64_t *word, int number)
{
	uint64_t one = 1;

	(void)word;
	must(write(it.fd[!number], &one, sizeof(one)) == sizeof(one), "write");
}

static void event_receive(uint64_t *word, int number)
{
	struct epoll_event event;
	uint64_t count;

	(void)word;
	must(epoll_wait(it.epoll[number], &event, 1, -1) == 1, "epoll_wait");
	must(read(it.fd[number], &count, sizeof(count)) == sizeof(count),
	     "read");
}

static const struct turn {
	const char *name;
	void (*send)(uint64_t *word, int number);
	void (*receive)(uint64_t *word, int number);
} turns[] = {
	{ "line", spin_send, spin_receive },
	{ "futex", futex_send, futex_receive },
	{ "eventfd", event_send, event_receive },
};

static void play(void *arg, int number)
{
	const struct turn *turn = (const struct turn *)arg;
	uint64_t done = 0;

	for (;;) {
		if (number) {
			turn->receive(&it.ping, 1);
			if (at_get(&it.over))
				return;
			turn->send(&it.pong, 1);
		} else {
			bool last = at_get(&it.stop);

			at_set(&it.over, last);
			turn->send(&it.ping, 0);
			if (last)
				return;
			turn->receive(&it.pong, 0);
			at_set(it.done[0], ++done);
		}
	}
}

static void between(const struct bench_args *args, bench_thread_fn *fn,
		    const void *arg)
{
	uint64_t before, after;
	int64_t took;

	for (int i = 0; i < 2; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		it.fd[i] = eventfd(0, 0);
		it.epoll[i] = epoll_create1(0);
		must(epoll_ctl(it.epoll[i], EPOLL_CTL_ADD, it.fd[i], &event) ==
		     0, "epoll_ctl");
	}
	bench_start(args, 2, fn, (void *)(uintptr_t)arg);
	sleep_ms(args->ms / 4);
	before = at_get(it.done[0]) + at_get(it.done[1]);
	took = now_ns();
	sleep_ms(args->ms);
	after = at_get(it.done[0]) + at_get(it.done[1]);
	took = now_ns() - took;
	at_set(&it.stop, 1);
	bench_join();
	must(after > before, "no thread made progress");
	printf("{\"ns\": %.3f}\n", (double)took / (double)(after - before));
}

int main(int argc, char **argv)
{
	struct bench_args args = bench_args(argc, argv);

	for (size_t i = 0; i < sizeof(alone) / sizeof(*alone); i++) {
		if (strcmp(alone[i].name, args.workload) != 0)
			continue;
		bench_second_thread();
		printf("{\"ns\": %.3f}\n",
		       bench_repeat(&args, alone[i].fn, NULL));
		return 0;
	}
	for (size_t i = 0; i < sizeof(turns) / sizeof(*turns); i++) {
		if (strcmp(turns[i].name, args.workload) != 0)
			continue;
		between(&args, play, &turns[i]);
		return 0;
	}
	if (!strcmp(args.workload, "two-add"))
		between(&args, share_add, NULL);
	else if (!strcmp(args.workload, "two-cas"))
		between(&args, share_cas, NULL);
	else
		bench_cannot(args.workload);
	return 0;
}
