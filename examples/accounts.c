/* SPDX-License-Identifier: MIT */
/*
 * A table with many readers and few writers: readers share the lock, a writer
 * holds it alone.  Each writer moves money between two accounts.  No reader
 * ever sees a partial transfer, and a writer waits only for the calls before
 * it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/rwlock.h>

#define READERS 4
#define WRITERS 2
#define ROUNDS 5000
#define TOTAL 1000

static weir_rwlock lock = WEIR_RWLOCK_INIT;
static int accounts[2] = { TOTAL, 0 };
static atomic_int torn, reads;

static void must(weir_err err)
{
	if (err != WEIR_OK) {
		fprintf(stderr, "accounts: %s\n", weir_err_text(err));
		exit(1);
	}
}

static void *reader(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		must(weir_rwlock_read(&lock, NULL));
		if (accounts[0] + accounts[1] != TOTAL)
			atomic_fetch_add(&torn, 1);
		weir_rwlock_read_done(&lock);
		atomic_fetch_add(&reads, 1);
	}
	return NULL;
}

static void *writer(void *arg)
{
	int amount = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		must(weir_rwlock_write(&lock, NULL));
		accounts[0] -= amount;
		accounts[1] += amount;
		weir_rwlock_write_done(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[READERS + WRITERS];
	int amounts[WRITERS] = { 1, -1 };

	for (int i = 0; i < READERS + WRITERS; i++) {
		int is_writer = i >= READERS;

		if (pthread_create(&threads[i], NULL,
				   is_writer ? writer : reader,
				   is_writer ? &amounts[i - READERS] : NULL)) {
			fputs("accounts: cannot make a thread\n", stderr);
			return 1;
		}
	}
	for (int i = 0; i < READERS + WRITERS; i++)
		pthread_join(threads[i], NULL);
	must(weir_rwlock_destroy(&lock));
	printf("%d reads, %d torn; %d and %d left\n", atomic_load(&reads),
	       atomic_load(&torn), accounts[0], accounts[1]);
	return atomic_load(&torn) || accounts[0] != TOTAL;
}
