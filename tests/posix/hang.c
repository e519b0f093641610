/* SPDX-License-Identifier: MIT */
/*
 * A program that knows <semaphore.h> and not weir, for tests/posix/explain.py.
 * It hangs in the way that its argument names, prints a line when all its threads
 * have begun to wait, and exits when its standard input ends.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

sem_t left_fork, right_fork;	/* visible to dladdr(3), or not */
static sem_t begun, news;

static void check(int result)
{
	if (result)
		abort();
}

struct pair {
	sem_t *first, *second;
	pthread_barrier_t *both;
};

static void *eat(void *of)
{
	struct pair *pair = of;

	check(sem_wait(pair->first));
	pthread_barrier_wait(pair->both);
	check(sem_post(&begun));
	check(sem_wait(pair->second));
	return NULL;
}

static void start(void *(*run)(void *), void *with)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, run, with));
	check(pthread_detach(thread));
}

/*
 * Two threads take two locks in opposite orders.  `used`: their holders have posted
 * them before; without that they may be signals.
 */
static void deadlock(sem_t *a, sem_t *b, int used)
{
	static pthread_barrier_t both;
	static struct pair pairs[2];

	pairs[0] = (struct pair){ a, b, &both };
	pairs[1] = (struct pair){ b, a, &both };
	check(sem_init(a, 0, 1));
	check(sem_init(b, 0, 1));
	if (used)
		check(sem_wait(a) || sem_post(a) || sem_wait(b) || sem_post(b));
	check(pthread_barrier_init(&both, NULL, 2));
	start(eat, &pairs[0]);
	start(eat, &pairs[1]);
}

/* The producer has filled its ring; the consumer has not begun yet. */
static void *produce(void *of)
{
	sem_t *room = of;

	check(sem_wait(room));
	check(sem_post(&begun));
	check(sem_post(&begun));
	check(sem_wait(room));
	return NULL;
}

/* A thread waits for a signal that never comes. */
static void *listen(void *unused)
{
	check(sem_post(&begun));
	check(sem_post(&begun));
	check(sem_wait(&news));
	return unused;
}

/* A thread tries a new lock, and then waits for a signal that never comes. */
static void *try_and_listen(void *lock)
{
	check(sem_trywait(lock));
	return listen(NULL);
}

/* Each producer fills a place of a ring and ends. */
static void *fill(void *of)
{
	check(sem_wait(of));
	return NULL;
}

static void full_ring(sem_t *room, unsigned places)
{
	pthread_t thread;

	check(sem_init(room, 0, places));
	for (unsigned i = 0; i < places; i++) {
		check(pthread_create(&thread, NULL, fill, room));
		check(pthread_join(thread, NULL));
	}
	check(sem_post(&begun));
	check(sem_post(&begun));
}

int main(int argc, char **argv)
{
	static sem_t room;
	sem_t *on_heap = calloc(2, sizeof(*on_heap));
	char end;

	check(argc != 2 || !on_heap);
	check(sem_init(&begun, 0, 0));
	if (!strcmp(argv[1], "deadlock")) {
		deadlock(&left_fork, &right_fork, 1);
	} else if (!strcmp(argv[1], "first")) {
		deadlock(&left_fork, &right_fork, 0);
	} else if (!strcmp(argv[1], "heap")) {
		deadlock(&on_heap[0], &on_heap[1], 1);
	} else if (!strcmp(argv[1], "ring")) {
		check(sem_init(&room, 0, 1));
		start(produce, &room);
	} else if (!strcmp(argv[1], "ended")) {
		full_ring(&room, 2);
	} else if (!strcmp(argv[1], "ended-one")) {
		full_ring(&room, 1);
	} else if (!strcmp(argv[1], "signal")) {
		check(sem_init(&news, 0, 0));
		start(listen, NULL);
	} else if (!strcmp(argv[1], "try")) {
		check(sem_init(&news, 0, 0));
		check(sem_init(&left_fork, 0, 1));
		start(try_and_listen, &left_fork);
	} else {
		return 2;
	}
	check(sem_wait(&begun));
	check(sem_wait(&begun));
	puts("waits");
	fflush(stdout);
	while (read(STDIN_FILENO, &end, 1) > 0)
		continue;
	_exit(0);
}
