/* SPDX-License-Identifier: MIT */
/* Opening and closing a semaphore that exists and that another handle has open. */
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

#include "processes.h"
#include "weir/named.h"

static void open_named(void *arg, int64_t times)
{
	(void)arg;
	for (int64_t i = 0; i < times; i++) {
		weir_named *sem;

		must(weir_named_open("bench", NULL, &sem) == WEIR_OK,
		     "weir_named_open");
		must(weir_named_close_handle(sem) == WEIR_OK,
		     "weir_named_close_handle");
	}
}

static void open_sem(void *arg, int64_t times)
{
	for (int64_t i = 0; i < times; i++) {
		sem_t *sem = sem_open(arg, 0);

		must(sem != SEM_FAILED && sem_close(sem) == 0, "sem_open");
	}
}

/*
 * The process that measures has the semaphore not open otherwise: glibc would
 * only count its handles then.
 */
static void hold_open(void *arg)
{
	(void)arg;
	kind_called("named")->attach();
	for (;;)
		pause();
}

static void print(double ns)
{
	printf("{\"ns\": %.0f, \"us\": %.3f}\n", ns, ns / 1000);
}

void measure_open(const struct bench_args *args, const char *kind)
{
	char name[40];
	sem_t *sem;

	if (!strcmp(kind, "sem_t")) {
		(void)snprintf(name, sizeof(name), "/weir-bench-%d", (int)getpid());
		sem = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
		must(sem != SEM_FAILED && sem_close(sem) == 0, "sem_open");
		print(bench_repeat(args, open_sem, name));
		(void)sem_unlink(name);
		return;
	}
	if (strcmp(kind, "named") != 0)
		bench_cannot(kind);
	kind_called(kind)->make();
	/* It ends with this process. */
	(void)child_start(hold_open, NULL);
	print(bench_repeat(args, open_named, NULL));
}
