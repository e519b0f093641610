/* SPDX-License-Identifier: MIT */
/*
 * A process for the test of gdb's printers.  It sets up objects in known states, prints
 * "ready" and sleeps until its standard input ends.
 *
 * Two threads wait for each other: `left` and `right`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "weir/ctx.h"
#include "weir/permit.h"
#include "weir/sem.h"

weir_sem watched, quiet, left, right, barging, debt, ended;
weir_sem unwatched = WEIR_SEM_INIT(3);
weir_sem ready = WEIR_SEM_INIT_UNBOUNDED(0), go = WEIR_SEM_INIT_UNBOUNDED(0);
weir_sem closed = WEIR_SEM_INIT(2);
weir_sem draining = WEIR_SEM_INIT(2);
weir_permit held = WEIR_PERMIT_INIT, empty = WEIR_PERMIT_INIT;
weir_ctx root = WEIR_CTX_INIT, child, cancelled = WEIR_CTX_INIT;

static void must(weir_err err)
{
	if (err) {
		fprintf(stderr, "target: %s\n", weir_err_text(err));
		exit(2);
	}
}

static void init(weir_sem *sem, int64_t permits, const char *name,
		 weir_policy policy)
{
	weir_sem_opts opts = { .permits = permits, .name = name,
			       .policy = policy };

	must(weir_sem_init_opts(sem, &opts));
}

/* Take one of the two semaphores, and wait for the other. */
static void *nest(void *sem)
{
	must(weir_sem_acquire(sem, 1, NULL));
	weir_sem_release(&ready, 1);
	must(weir_sem_acquire(&go, 1, NULL));
	must(weir_sem_acquire(sem == &left ? &right : &left, 1, NULL));
	return NULL;
}

static void *wait_for_four(void *unused)
{
	must(weir_sem_acquire(&watched, 4, &child));
	return unused;
}

static void *wait_for_nine(void *unused)
{
	must(weir_sem_acquire(&unwatched, 9, &root));
	return unused;
}

static void start(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, argument))
		exit(2);
}

/* Wait until this many calls wait on *sem. */
static void await_waiters(weir_sem *sem, uint32_t n)
{
	weir_sem_info info;

	do
		must(weir_sem_stat(sem, &info));
	while (info.waiters + info.oversized < n && !usleep(1000));
}

int main(void)
{
	char byte;

	init(&watched, 5, "db_pool", WEIR_FIFO);
	init(&quiet, 5, "quiet", WEIR_FIFO);
	init(&left, 1, "left", WEIR_FIFO);
	init(&right, 1, "right", WEIR_FIFO);
	init(&barging, 7, NULL, WEIR_BARGING);
	init(&debt, 4, "debt\n", WEIR_FIFO);
	must(weir_sem_init(&ended, 1));
	must(weir_sem_destroy(&ended));
	must(weir_ctx_init(&child, &root, weir_deadline_after(INT64_C(3600000000000))));
	weir_ctx_cancel(&cancelled);

	must(weir_permit_acquire(&held, &watched, 2, NULL));
	must(weir_sem_acquire(&quiet, 1, NULL));
	must(weir_sem_acquire(&unwatched, 1, NULL));
	must(weir_sem_acquire(&debt, 4, NULL));
	must(weir_sem_resize(&debt, 1, NULL));
	weir_sem_close(&closed, WEIR_CLOSE_NOW);
	weir_sem_close(&draining, WEIR_CLOSE_DRAIN);

	start(wait_for_four, NULL);
	await_waiters(&watched, 1);
	start(wait_for_nine, NULL);
	await_waiters(&unwatched, 1);
	start(nest, &left);
	start(nest, &right);
	must(weir_sem_acquire(&ready, 2, NULL));
	weir_sem_release(&go, 2);
	await_waiters(&left, 1);
	await_waiters(&right, 1);
	puts("ready");
	fflush(stdout);
	(void)!read(0, &byte, 1);
	/* The threads wait without end. */
	_exit(0);
}
