/* SPDX-License-Identifier: MIT */
/*
 * Three ways to synchronise threads, each with one or two semaphores:
 *
 *     rendezvous   two threads wait for each other and continue together
 *     turnstile    at most N threads are inside a section
 *     barrier      no thread begins a phase before all have ended the last
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include <weir/sem.h>

#define THREADS 6
#define PHASES 200

/* Rendezvous: each thread signals its arrival and waits for the other. */
static weir_sem here[2] = { WEIR_SEM_INIT_UNBOUNDED(0),
			    WEIR_SEM_INIT_UNBOUNDED(0) };

static bool meet(int me)
{
	weir_sem_release(&here[me], 1);
	return weir_sem_acquire(&here[!me], 1, NULL) == WEIR_OK;
}

/*
 * Barrier: the last thread to arrive releases a permit for each thread.  A fast
 * thread might reach the barrier again and take the permit of a slow one.  So
 * there are two semaphores, used in turn: all threads have left one before any
 * thread can reach it again.
 */
static weir_sem doors[2] = { WEIR_SEM_INIT_UNBOUNDED(0),
			     WEIR_SEM_INIT_UNBOUNDED(0) };
static atomic_int arrived;

static bool barrier(int phase)
{
	weir_sem *door = &doors[phase % 2];

	if (atomic_fetch_add(&arrived, 1) + 1 == THREADS) {
		atomic_store(&arrived, 0);
		weir_sem_release(door, THREADS);
	}
	return weir_sem_acquire(door, 1, NULL) == WEIR_OK;
}

static weir_sem turnstile = WEIR_SEM_INIT(3);
static atomic_int inside, most, wrong, met;
static int phases[THREADS];	/* not atomic: the barrier orders accesses */

static void work(int me, int phase)
{
	int now, before;

	if (weir_sem_acquire(&turnstile, 1, NULL) != WEIR_OK)
		return;
	now = atomic_fetch_add(&inside, 1) + 1;
	before = most;
	while (now > before &&
	       !atomic_compare_exchange_weak(&most, &before, now))
		;
	phases[me] = phase;
	atomic_fetch_sub(&inside, 1);
	weir_sem_release(&turnstile, 1);
}

static void *run(void *arg)
{
	int me = (int)((int *)arg - phases);

	if (me < 2)
		met += meet(me);
	for (int phase = 0; phase < PHASES; phase++) {
		work(me, 2 * phase);
		wrong += !barrier(2 * phase);
		for (int i = 0; i < THREADS; i++)
			wrong += phases[i] != 2 * phase;
		wrong += !barrier(2 * phase + 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, &phases[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d met; %s inside at once; %d were in another phase\n",
	       atomic_load(&met), most <= 3 ? "at most 3" : "TOO MANY",
	       atomic_load(&wrong));
	return met != 2 || most > 3 || wrong;
}
