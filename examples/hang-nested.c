/* SPDX-License-Identifier: MIT */
/*
 * A nested acquire across a call chain.
 *
 * A worker takes a connection, and a function that it calls takes another one
 * from the same semaphore.  With few workers this goes unnoticed.  When there
 * are as many workers as connections, each holds one and waits for another.
 */
#include "hang.h"

#define WORKERS 3

static weir_sem database;
static pthread_barrier_t loaded;

/* The caller does not expect that this needs a connection as well. */
static void write_audit_log(void)
{
	hang_check(weir_sem_acquire(&database, 1, NULL));
	weir_sem_release(&database, 1);
}

static void *handle_order(void *arg)
{
	hang_check(weir_sem_acquire(&database, 1, NULL));
	/* The load rises: all workers are here at the same time. */
	(void)pthread_barrier_wait(&loaded);
	write_audit_log();
	weir_sem_release(&database, 1);
	return arg;
}

int main(void)
{
	hang_init(&database, "database", WORKERS);
	(void)pthread_barrier_init(&loaded, NULL, WORKERS);
	for (int i = 0; i < WORKERS; i++)
		(void)hang_start("worker", handle_order, NULL);
	hang_until_queued(&database, WORKERS);
	hang_here("hang-nested");
}
