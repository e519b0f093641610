/* SPDX-License-Identifier: MIT */
/*
 * Producers and consumers around a small buffer, with two semaphores:
 *
 *     ready   unbounded, starts at 0: a signal.  Released once for each item,
 *             by threads that never acquire it.
 *     room    bounded, starts at the size of the buffer.  The producer acquires
 *             a place, the consumer that empties it releases it.
 *
 * The end needs no special item: after `ready` is closed in drain mode, the
 * consumers take the remaining items, and then each gets WEIR_ECLOSED.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/sem.h>

#define PRODUCERS 3
#define CONSUMERS 2
#define EACH 5000
#define ITEMS (PRODUCERS * EACH)
#define PLACES 8

static weir_sem ready = WEIR_SEM_INIT_UNBOUNDED(0);
static weir_sem room = WEIR_SEM_INIT(PLACES);

/* A semaphore counts; it does not protect.  The buffer has a mutex for that. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int buffer[PLACES], first, used, most_used;

static atomic_int times_seen[ITEMS];

static void must(weir_err err)
{
	if (err != WEIR_OK) {
		fprintf(stderr, "producer-consumer: %s\n", weir_err_text(err));
		exit(1);
	}
}

static void *producer(void *arg)
{
	int begin = *(int *)arg * EACH;

	for (int item = begin; item < begin + EACH; item++) {
		must(weir_sem_acquire(&room, 1, NULL));
		pthread_mutex_lock(&lock);
		buffer[(first + used++) % PLACES] = item;
		if (used > most_used)
			most_used = used;
		pthread_mutex_unlock(&lock);
		weir_sem_release(&ready, 1);
	}
	return NULL;
}

static void *consumer(void *arg)
{
	int *taken = arg;
	weir_err err;

	while ((err = weir_sem_acquire(&ready, 1, NULL)) == WEIR_OK) {
		pthread_mutex_lock(&lock);
		int item = buffer[first];
		first = (first + 1) % PLACES;
		used--;
		pthread_mutex_unlock(&lock);
		weir_sem_release(&room, 1);
		times_seen[item]++;
		++*taken;
	}
	if (err != WEIR_ECLOSED)
		must(err);
	return NULL;
}

static pthread_t spawn(void *(*run)(void *), int *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0) {
		fputs("producer-consumer: cannot make a thread\n", stderr);
		exit(1);
	}
	return thread;
}

int main(void)
{
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];
	int number[PRODUCERS], taken[CONSUMERS] = { 0 }, total = 0, once = 0;

	for (int i = 0; i < CONSUMERS; i++)
		consumers[i] = spawn(consumer, &taken[i]);
	for (int i = 0; i < PRODUCERS; i++) {
		number[i] = i;
		producers[i] = spawn(producer, &number[i]);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	weir_sem_close(&ready, WEIR_CLOSE_DRAIN);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], NULL);
		printf("consumer %d took %d items\n", i + 1, taken[i]);
		total += taken[i];
	}
	for (int i = 0; i < ITEMS; i++)
		once += times_seen[i] == 1;

	printf("%d producers made %d items; %d arrived exactly once\n",
	       PRODUCERS, ITEMS, once);
	printf("the buffer of %d held at most %d\n", PLACES, most_used);

	bool good = once == ITEMS && total == ITEMS && most_used <= PLACES &&
		    weir_sem_available(&room) == PLACES &&
		    weir_sem_available(&ready) == 0 &&
		    weir_sem_destroy(&ready) == WEIR_OK &&
		    weir_sem_destroy(&room) == WEIR_OK;
	puts(good ? "nothing lost, nothing twice" : "it went WRONG");
	return good ? 0 : 1;
}
