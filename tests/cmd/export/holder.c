/* SPDX-License-Identifier: MIT */
/*
 * A program with watched semaphores: holder NAME CAPACITY.  It executes the
 * commands of standard input, one on each line, and prints "ok" after each.
 *
 *     pairs N    acquire and release 1 permit, N times
 *     hold N     acquire N
 *     release N  release N
 *     leak N     acquire N in a thread that ends
 *     wait N     acquire N in a thread; it must have to wait
 *     timeout N  acquire N with a deadline that passes, of 2 s
 *     submit     submit two operations for 1 permit; they have to wait
 *     try N      try to acquire N; it must fail
 *     idle       wait in a thread until no permit is held
 *     stuck      acquire 1 in a thread, which then waits until no permit is held
 *     over N     try to release N, which are not held; it must fail
 *     busy       try to destroy the semaphore, which has a waiter
 *     renew      destroy the semaphore, and initialise it again
 *     deadlock   two threads acquire NAME-a and NAME-b in opposite order
 *     barging    initialise NAME-b with the policy BARGING
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir/async.h"
#include "weir/sem.h"

static const char *name;
static char names[2][128];
static int64_t capacity;
static weir_sem sem, two[2];
static pthread_barrier_t both;

static void must(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "holder: %s\n", what);
	exit(1);
}

static void set_up(weir_sem *which, const char *as, int64_t permits,
		   weir_policy policy)
{
	weir_sem_opts opts = { .permits = permits, .name = as,
			       .policy = policy };

	must(!weir_sem_init_opts(which, &opts), "init");
}

static void *take(void *n)
{
	must(!weir_sem_acquire(&sem, *(int64_t *)n, NULL), "acquire");
	return NULL;
}

static weir_op ops[2];

static void granted(weir_op *op, weir_err err, void *unused)
{
	(void)op;
	(void)unused;
	must(!err, "granted");
}

static void *be_idle(void *unused)
{
	must(!weir_sem_wait_idle(&sem, NULL), "wait_idle");
	return unused;
}

static void *be_idle_and_hold(void *unused)
{
	must(!weir_sem_acquire(&sem, 1, NULL), "acquire");
	return be_idle(unused);
}

static void start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	must(!pthread_create(thread, NULL, fn, arg), "pthread_create");
}

/* Wait until a request is queued. */
static void await_waiter(weir_sem *which)
{
	static const struct timespec pause = { 0, 1000000 };
	weir_sem_info info;

	do {
		(void)nanosleep(&pause, NULL);
		must(!weir_sem_stat(which, &info), "stat");
	} while (!info.waiters && !info.oversized);
}

static void *nest(void *first)
{
	int i = (int)((weir_sem *)first - two);

	must(!weir_sem_acquire(&two[i], 1, NULL), "acquire");
	(void)pthread_barrier_wait(&both);
	must(!weir_sem_acquire(&two[!i], 1, NULL), "acquire");
	return NULL;
}

static void deadlock(void)
{
	pthread_t thread;

	must(!pthread_barrier_init(&both, NULL, 2), "barrier");
	for (int i = 0; i < 2; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%s-%c", name,
			       'a' + i);
		set_up(&two[i], names[i], 1, WEIR_FIFO);
	}
	for (int i = 0; i < 2; i++)
		start(&thread, nest, &two[i]);
	for (int i = 0; i < 2; i++)
		await_waiter(&two[i]);
}

static void execute(const char *word, int64_t n)
{
	pthread_t thread;

	if (!strcmp(word, "pairs")) {
		while (n-- > 0) {
			must(!weir_sem_acquire(&sem, 1, NULL), "acquire");
			weir_sem_release(&sem, 1);
		}
	} else if (!strcmp(word, "hold")) {
		(void)take(&n);
	} else if (!strcmp(word, "release")) {
		weir_sem_release(&sem, n);
	} else if (!strcmp(word, "leak")) {
		start(&thread, take, &n);
		must(!pthread_join(thread, NULL), "pthread_join");
	} else if (!strcmp(word, "wait")) {
		static int64_t wanted;

		wanted = n;
		start(&thread, take, &wanted);
		await_waiter(&sem);
	} else if (!strcmp(word, "timeout")) {
		/* Long enough to be queued on a slow machine. */
		must(weir_sem_acquire_for(&sem, n, 2000000000) ==
		     WEIR_ETIMEDOUT, "no timeout");
	} else if (!strcmp(word, "submit")) {
		for (int i = 0; i < 2; i++) {
			weir_op_init(&ops[i], NULL, granted, NULL);
			must(weir_op_submit(&ops[i], &sem, 1, NULL) ==
			     WEIR_EQUEUED, "submit");
		}
	} else if (!strcmp(word, "try")) {
		must(weir_sem_try_acquire(&sem, n) == WEIR_EAGAIN, "granted");
	} else if (!strcmp(word, "idle")) {
		start(&thread, be_idle, NULL);
		await_waiter(&sem);
	} else if (!strcmp(word, "stuck")) {
		start(&thread, be_idle_and_hold, NULL);
		await_waiter(&sem);
	} else if (!strcmp(word, "over")) {
		must(weir_sem_try_release(&sem, n) == WEIR_EOVERFLOW,
		     "released");
	} else if (!strcmp(word, "busy")) {
		must(weir_sem_destroy(&sem) == WEIR_EBUSY, "destroyed");
	} else if (!strcmp(word, "renew")) {
		must(!weir_sem_destroy(&sem), "destroy");
		set_up(&sem, name, capacity, WEIR_FIFO);
	} else if (!strcmp(word, "deadlock")) {
		deadlock();
	} else if (!strcmp(word, "barging")) {
		(void)snprintf(names[1], sizeof(names[1]), "%s-b", name);
		set_up(&two[1], names[1], 1, WEIR_BARGING);
	} else {
		must(0, word);
	}
}

int main(int argc, char **argv)
{
	char line[128], word[32];
	long long n = 0;

	must(argc == 3, "usage: holder NAME CAPACITY");
	name = argv[1];
	capacity = atoll(argv[2]);
	set_up(&sem, name, capacity, WEIR_FIFO);
	while (puts("ok"), fflush(stdout), fgets(line, sizeof(line), stdin)) {
		must(sscanf(line, "%31s %lld", word, &n) >= 1, line);
		execute(word, n);
	}
	return 0;
}
