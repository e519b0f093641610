/* SPDX-License-Identifier: MIT */
/*
 * A process that causes every event of the slow paths, for the test of the
 * probes: a wait that times out, two waits that a release ends, a resize, a
 * close.  Its semaphore is not watched: the fast paths emit nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "weir/sem.h"

static weir_sem sem;

static void must(weir_err err)
{
	if (err) {
		fprintf(stderr, "target: %s\n", weir_err_text(err));
		exit(2);
	}
}

static void *wait_for(void *n)
{
	must(weir_sem_acquire(&sem, *(const int64_t *)n, NULL));
	return NULL;
}

int main(void)
{
	/* On the stack: a tracer in the kernel reads present pages only. */
	char name[] = "probe_pool";
	weir_sem_opts opts = { .permits = 3, .name = name,
			       .flags = WEIR_SEM_UNWATCHED };
	weir_sem_info info;
	static int64_t weights[2] = { 1, 2 };
	pthread_t threads[2];

	must(weir_sem_init_opts(&sem, &opts));
	must(weir_sem_acquire(&sem, 3, NULL));
	/* Long enough to be queued on a slow machine, under a debugger. */
	if (weir_sem_acquire_for(&sem, 1, 2000000000) != WEIR_ETIMEDOUT)
		return 1;
	/* Two of them: a single waiter may spin, and then a release is fast. */
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, wait_for, &weights[i]))
			return 2;
	do
		must(weir_sem_stat(&sem, &info));
	while (info.waiters < 2 && !usleep(1000));
	weir_sem_release(&sem, 3);
	for (int i = 0; i < 2; i++)
		if (pthread_join(threads[i], NULL))
			return 2;
	must(weir_sem_resize(&sem, 7, NULL));
	weir_sem_close(&sem, WEIR_CLOSE_NOW);
	printf("%p\n", (void *)&sem);
	return 0;
}
