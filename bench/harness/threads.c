/* SPDX-License-Identifier: MIT */
/* Implements support.h: threads. */
#include <sched.h>
#include <unistd.h>

#include "support.h"

#define CROWD 64

static struct {
	bench_thread_fn *fn;
	void *arg;
	bool pin;
	int count;
	pthread_t ids[BENCH_THREADS_MAX];
	uint64_t there;		/* threads that have begun */
} crew;

/* Pin the calling thread to the number-th CPU that this process may use. */
void bench_pin(int number)
{
	static cpu_set_t all;
	static bool known;
	cpu_set_t one;
	int left;

	/* No race: the main thread pins itself first and sets both. */
	if (!known) {
		must(sched_getaffinity(0, sizeof(all), &all) == 0, "affinity");
		known = true;
	}
	left = number % CPU_COUNT(&all);
	CPU_ZERO(&one);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || left-- > 0)
			continue;
		CPU_SET(cpu, &one);
		break;
	}
	must(pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0,
	     "affinity");
}

static void meet(void)
{
	while (__atomic_load_n(&crew.there, __ATOMIC_ACQUIRE) <
	       (uint64_t)crew.count)
		sched_yield();
}

static void *begin(void *arg)
{
	int number = (int)(intptr_t)arg;

	if (crew.pin)
		bench_pin(number);
	__atomic_add_fetch(&crew.there, 1, __ATOMIC_ACQ_REL);
	/* Very many threads that poll for the last one would delay it. */
	if (crew.count <= CROWD)
		meet();
	crew.fn(crew.arg, number);
	return NULL;
}

void bench_start(const struct bench_args *args, int threads,
		 bench_thread_fn *fn, void *arg)
{
	pthread_attr_t attr;

	crew.fn = fn;
	crew.arg = arg;
	crew.pin = args->pin;
	crew.count = threads;
	at_set(&crew.there, 0);
	must(pthread_attr_init(&attr) == 0, "attributes");
	/* Sufficient, and small enough for very many threads. */
	must(pthread_attr_setstacksize(&attr, 256 * 1024) == 0, "stack");
	if (args->pin)
		bench_pin(threads);
	for (int i = 0; i < threads; i++)
		must(pthread_create(&crew.ids[i], &attr, begin,
				    (void *)(intptr_t)i) == 0,
		     "pthread_create");
	must(pthread_attr_destroy(&attr) == 0, "attributes");
	meet();
}

void bench_join(void)
{
	for (int i = 0; i < crew.count; i++)
		must(pthread_join(crew.ids[i], NULL) == 0, "pthread_join");
}

static void *sleep_forever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

void bench_second_thread(void)
{
	pthread_t id;

	must(pthread_create(&id, NULL, sleep_forever, NULL) == 0,
	     "pthread_create");
	must(pthread_detach(id) == 0, "pthread_detach");
}
