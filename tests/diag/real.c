/* SPDX-License-Identifier: MIT */
/*
 * A process whose threads are deadlocked on two watched semaphores.  It prints
 * "ready" when both wait, and ends when its standard input does.  With an
 * argument it has a semaphore with that name, and its first thread ends instead;
 * the process goes on without it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sched.h>
#include <unistd.h>

#include "weir/sem.h"

static weir_sem orders, mails, other;

__attribute__((noinline)) static void take(weir_sem *sem)
{
	if (weir_sem_acquire(sem, 1, NULL))
		_exit(1);
}

static void *take_both(void *arg)
{
	weir_sem *first = arg, *second = first == &orders ? &mails : &orders;

	take(first);
	while (weir_sem_available(second))
		sched_yield();
	take(second);
	return NULL;
}

static uint32_t waiters(weir_sem *sem)
{
	weir_sem_info info;

	if (weir_sem_stat(sem, &info))
		_exit(1);
	return info.waiters;
}

int main(int argc, char **argv)
{
	const weir_sem_opts first = { .permits = 1, .name = "orders" };
	const weir_sem_opts second = { .permits = 1, .name = "mails" };
	const weir_sem_opts third = { .permits = 1, .name = argv[argc - 1] };
	pthread_t threads[2];
	char word[16];

	if (argc > 1 && weir_sem_init_opts(&other, &third))
		return 1;
	if (weir_sem_init_opts(&orders, &first) ||
	    weir_sem_init_opts(&mails, &second) ||
	    pthread_create(&threads[0], NULL, take_both, &orders) ||
	    pthread_create(&threads[1], NULL, take_both, &mails))
		return 1;
	while (!waiters(&orders) || !waiters(&mails))
		sched_yield();
	puts("ready");
	fflush(stdout);
	if (argc > 1)
		pthread_exit(NULL);
	(void)!read(0, word, sizeof(word));
	_exit(0);
}
