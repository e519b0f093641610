/* SPDX-License-Identifier: MIT */
/*
 * A library whose constructor registers fork handlers that use a semaphore
 * (loading.c).  The constructor of a preloaded library runs later.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

sem_t early_lock;

static void lock(void)
{
	if (sem_wait(&early_lock))
		abort();
}

static void unlock(void)
{
	if (sem_post(&early_lock))
		abort();
}

__attribute__((constructor)) static void start_early(void)
{
	if (pthread_atfork(lock, unlock, unlock) || sem_init(&early_lock, 0, 1))
		abort();
}
