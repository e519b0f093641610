/* SPDX-License-Identifier: MIT */
/*
 * An acquire and a release that nobody disturbs, against sem_t.
 *
 * A second thread sleeps all the while: glibc leaves out the atomic part of some
 * operations in a process of one thread, and no program that needs a semaphore
 * has one thread.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "weir/ctx.h"
#include "weir/permit.h"
#include "weir/sem.h"

static void must(int ok)
{
	if (!ok) {
		fprintf(stderr, "uncontended: an operation failed\n");
		exit(1);
	}
}

static void posix_pair(void *arg, int64_t times)
{
	sem_t *sem = arg;

	for (int64_t i = 0; i < times; i++) {
		must(sem_wait(sem) == 0);
		must(sem_post(sem) == 0);
	}
}

static void posix_try(void *arg, int64_t times)
{
	sem_t *sem = arg;

	for (int64_t i = 0; i < times; i++)
		must(sem_trywait(sem) < 0);
}

static void pair(void *arg, int64_t times)
{
	weir_sem *sem = arg;

	for (int64_t i = 0; i < times; i++) {
		must(weir_sem_acquire(sem, 1, NULL) == WEIR_OK);
		weir_sem_release(sem, 1);
	}
}

static void pair_of_three(void *arg, int64_t times)
{
	weir_sem *sem = arg;

	for (int64_t i = 0; i < times; i++) {
		must(weir_sem_acquire(sem, 3, NULL) == WEIR_OK);
		weir_sem_release(sem, 3);
	}
}

static void pair_until(void *arg, int64_t times)
{
	int64_t deadline = weir_deadline_after(INT64_C(3600000000000));
	weir_sem *sem = arg;

	for (int64_t i = 0; i < times; i++) {
		must(weir_sem_acquire_until(sem, 1, deadline) == WEIR_OK);
		weir_sem_release(sem, 1);
	}
}

static void pair_with_ctx(void *arg, int64_t times)
{
	static weir_ctx ctx = WEIR_CTX_INIT;
	weir_sem *sem = arg;

	for (int64_t i = 0; i < times; i++) {
		must(weir_sem_acquire(sem, 1, &ctx) == WEIR_OK);
		weir_sem_release(sem, 1);
	}
}

static void pair_by_permit(void *arg, int64_t times)
{
	weir_sem *sem = arg;

	for (int64_t i = 0; i < times; i++) {
		weir_permit permit = WEIR_PERMIT_INIT;

		must(weir_permit_acquire(&permit, sem, 1, NULL) == WEIR_OK);
		weir_permit_release(&permit);
	}
}

static void try_in_vain(void *arg, int64_t times)
{
	weir_sem *sem = arg;

	for (int64_t i = 0; i < times; i++)
		must(weir_sem_try_acquire(sem, 1) == WEIR_EAGAIN);
}

static void *sleep_till_told(void *told)
{
	while (sem_wait(told) < 0 && errno == EINTR)
		;
	return NULL;
}

int main(void)
{
	static weir_sem fifo = WEIR_SEM_INIT(8);
	static weir_sem barging = WEIR_SEM_INIT_BARGING(8);
	static weir_sem signal = WEIR_SEM_INIT_UNBOUNDED(8);
	static weir_sem empty = WEIR_SEM_INIT(0);
	static sem_t posix, posix_empty, told;
	const struct contestant contestants[] = {
		{ "sem_t", posix_pair, &posix },
		{ "weir FIFO", pair, &fifo },
		{ "weir FIFO, 3 permits", pair_of_three, &fifo },
		{ "weir FIFO, deadline", pair_until, &fifo },
		{ "weir FIFO, ctx", pair_with_ctx, &fifo },
		{ "weir FIFO, permit", pair_by_permit, &fifo },
		{ "weir BARGING", pair, &barging },
		{ "weir unbounded", pair, &signal },
	};
	const struct contestant failing[] = {
		{ "sem_trywait, in vain", posix_try, &posix_empty },
		{ "weir try, in vain", try_in_vain, &empty },
	};
	pthread_t sleeper;

	must(sem_init(&posix, 0, 8) == 0 && sem_init(&told, 0, 0) == 0 &&
	     sem_init(&posix_empty, 0, 0) == 0);
	must(pthread_create(&sleeper, NULL, sleep_till_told, &told) == 0);
	bench_compare(contestants, sizeof(contestants) / sizeof(*contestants));
	bench_compare(failing, sizeof(failing) / sizeof(*failing));
	must(sem_post(&told) == 0);
	must(pthread_join(sleeper, NULL) == 0);
	return 0;
}
