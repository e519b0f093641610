/* SPDX-License-Identifier: MIT */
/* A library whose constructor waits for a thread that uses semaphores (loading.c). */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t ready;

static void *serve(void *unused)
{
	sem_t s;

	if (sem_init(&s, 0, 1) || sem_wait(&s) || sem_destroy(&s) ||
	    sem_post(&ready))
		abort();
	return unused;
}

__attribute__((constructor)) static void start_server(void)
{
	pthread_t thread;

	if (sem_init(&ready, 0, 0) ||
	    pthread_create(&thread, NULL, serve, NULL) || sem_wait(&ready) ||
	    pthread_join(thread, NULL))
		abort();
}
