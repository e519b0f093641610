/* SPDX-License-Identifier: MIT */
/*
 * A wait that times out.
 *
 * An order needs two connections, and gives up after 300 ms.  A migration has two
 * of three, and an invoice the third, while it waits for another semaphore.  With
 * WEIR_DIAG=report the program prints who was in the way; it ends by itself.
 */
#include "hang.h"

static weir_sem db_pool, smtp_conn;
static pthread_barrier_t started;

static void *migrate(void *arg)
{
	hang_check(weir_sem_acquire(&db_pool, 2, NULL));
	(void)pthread_barrier_wait(&started);
	for (;;)
		(void)pause();
	return arg;
}

static void *send_invoice(void *arg)
{
	hang_check(weir_sem_acquire(&db_pool, 1, NULL));
	hang_check(weir_sem_acquire(&smtp_conn, 1, NULL));
	return arg;
}

/* Not inlined, so that the report has a line for each function. */
__attribute__((noinline)) static int handle_order(void)
{
	weir_err err = weir_sem_acquire_for(&db_pool, 2, 300000000);

	if (!err)
		weir_sem_release(&db_pool, 2);
	return err == WEIR_ETIMEDOUT;
}

__attribute__((noinline)) static int dispatch(void)
{
	return !handle_order();
}

static void *work(void *arg)
{
	return dispatch() ? NULL : arg;
}

int main(void)
{
	static int timed_out;
	void *result;

	hang_init(&db_pool, "db_pool", 3);
	hang_init(&smtp_conn, "smtp_conn", 1);
	hang_check(weir_sem_acquire(&smtp_conn, 1, NULL));
	(void)pthread_barrier_init(&started, NULL, 2);
	(void)hang_start("migrate", migrate, NULL);
	(void)pthread_barrier_wait(&started);
	(void)hang_start("invoice", send_invoice, NULL);
	hang_until_queued(&smtp_conn, 1);
	if (pthread_join(hang_start("worker-7", work, &timed_out), &result))
		return 1;
	return result != &timed_out;
}
