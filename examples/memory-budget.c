/* SPDX-License-Identifier: MIT */
/*
 * A memory budget in bytes.  One permit is one byte, so a task takes as many
 * permits as it needs memory, and together the tasks never need more than the
 * budget.  The budget here does not fit in 32 bits; permits are 64-bit counts.
 *
 * One task needs five sixths of the budget at once, among many that repeatedly
 * need a little.  In a semaphore that grants to any request that fits, the
 * light tasks would fill every gap and the heavy one would wait for ever.
 * Here no later request passes it.  The light tasks run until the heavy one
 * has had all its turns: if it starved, this program would not end.
 *
 * A task maps its memory without accessing it: address space but no real
 * memory, so that the example runs anywhere.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <weir/permit.h>
#include <weir/sem.h>

#define MIB (INT64_C(1) << 20)
#define GIB (INT64_C(1) << 30)
#define BUDGET (6 * GIB)
#define HEAVY (5 * GIB)
#define TURNS 20
#define LIGHT_THREADS 6

static weir_sem budget;
static atomic_int_least64_t in_use, most_in_use;
static weir_sem light_done = WEIR_SEM_INIT_UNBOUNDED(0);
static atomic_long light_tasks;
static atomic_bool heavy_done;

static void must(bool fine, const char *what)
{
	if (!fine) {
		fprintf(stderr, "memory-budget: %s\n", what);
		exit(1);
	}
}

/* Run a task of this size.  Every way out releases its permits. */
static void task(int64_t bytes)
{
	WEIR_SCOPED weir_permit share = WEIR_PERMIT_INIT;
	weir_err err = weir_permit_acquire(&share, &budget, bytes, NULL);

	must(err == WEIR_OK, weir_err_text(err));
	int64_t now = atomic_fetch_add(&in_use, bytes) + bytes;
	int64_t seen = most_in_use;
	while (now > seen &&
	       !atomic_compare_exchange_weak(&most_in_use, &seen, now))
		continue;
	void *memory = mmap(NULL, (size_t)bytes, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED, "no address space");
	munmap(memory, (size_t)bytes);
	in_use -= bytes;
}

static void *light(void *arg)
{
	unsigned random = *(unsigned *)arg;

	while (!heavy_done) {
		random = random * 1664525u + 1013904223u;
		task((32 + random % 512) * MIB);
		light_tasks++;
		weir_sem_release(&light_done, 1);
	}
	return NULL;
}

int main(void)
{
	weir_sem_opts opts = { .permits = BUDGET, .name = "memory" };
	pthread_t threads[LIGHT_THREADS];
	unsigned seeds[LIGHT_THREADS];
	int64_t longest_ns = 0;

	must(weir_sem_init_opts(&budget, &opts) == WEIR_OK, "cannot set up");
	printf("budget %" PRId64 " MiB; light tasks of 32 to 543 MiB, and one of"
	       " %" PRId64 " MiB\n", BUDGET / MIB, HEAVY / MIB);
	for (unsigned i = 0; i < LIGHT_THREADS; i++) {
		seeds[i] = i + 1;
		must(!pthread_create(&threads[i], NULL, light, &seeds[i]),
		     "cannot make a thread");
	}
	for (int turn = 0; turn < TURNS; turn++) {
		int64_t old;

		/* Wait until the light tasks are running again. */
		must(weir_sem_drain(&light_done, &old) == WEIR_OK &&
		     weir_sem_acquire(&light_done, 50, NULL) == WEIR_OK,
		     "cannot count the light tasks");
		int64_t asked = weir_now_ns();
		task(HEAVY);
		int64_t took_ns = weir_now_ns() - asked;
		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	}
	heavy_done = true;
	for (int i = 0; i < LIGHT_THREADS; i++)
		pthread_join(threads[i], NULL);

	/* A request that can never fit is refused at once. */
	weir_err too_big = weir_sem_acquire(&budget, BUDGET + 1, NULL);

	printf("%ld light tasks; the heavy one had %d turns, the longest took"
	       " %.1f ms\n", light_tasks, TURNS, (double)longest_ns / 1e6);
	printf("at most %" PRId64 " MiB in use at once\n", most_in_use / MIB);
	printf("one byte more than the budget: %s\n", weir_err_text(too_big));

	bool good = most_in_use <= BUDGET && most_in_use >= HEAVY &&
		    in_use == 0 && too_big == WEIR_ETOOBIG &&
		    weir_sem_available(&budget) == BUDGET &&
		    weir_sem_destroy(&budget) == WEIR_OK;
	puts(good ? "the budget held, and nobody starved" : "it went WRONG");
	return good ? 0 : 1;
}
