/* SPDX-License-Identifier: MIT */
/*
 * A server admits at most 64 requests at once.  The limit is a guard that is
 * rarely reached, and every request of every CPU passes it, so it is sharded.
 * A referee counts the requests inside.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/sharded.h>

#define THREADS 8
#define REQUESTS 20000
#define LIMIT 64

static weir_sharded admitted;
static int64_t inside, over;

static void *serve(void *unused)
{
	for (int i = 0; i < REQUESTS; i++) {
		if (weir_sharded_acquire(&admitted, 1, NULL))
			return NULL;
		if (__atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL) > LIMIT)
			__atomic_add_fetch(&over, 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&inside, 1, __ATOMIC_ACQ_REL);
		weir_sharded_release(&admitted, 1);
	}
	return unused;
}

int main(void)
{
	weir_sharded_opts opts = { .capacity = LIMIT, .name = "requests" };
	pthread_t threads[THREADS];
	weir_sharded_info info;
	int failed = 0;
	char done;

	if (weir_sharded_init(&admitted, &opts))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, &done))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		failed += !result;
	}
	if (failed || weir_sharded_stat(&admitted, &info))
		return 1;
	printf("%d requests, at most %d at once: %d were too many\n",
	       THREADS * REQUESTS, LIMIT, (int)over);
	printf("%d of %d permits are free\n", (int)info.free, LIMIT);
	return over || weir_sharded_destroy(&admitted) ? 1 : 0;
}
