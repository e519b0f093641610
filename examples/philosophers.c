/* SPDX-License-Identifier: MIT */
/*
 * The dining philosophers: five philosophers and five forks; eating needs two
 * forks.  Each fork is a semaphore of one permit.
 *
 *   philosophers naive      all take the left fork first: a deadlock
 *   philosophers order      the fork with the lower number first
 *   philosophers asymmetry  the last philosopher takes the right fork first
 *   philosophers arbiter    at most four sit down at a time
 *   philosophers all        both forks or none: weir_acquire_all
 *
 * To make the naive solution fail in every run, each naive philosopher waits
 * with the left fork in hand until all have one.  A deadline detects the
 * deadlock.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "weir/ctx.h"
#include "weir/multi.h"

#define SEATS 5
#define MEALS 1000
#define PATIENCE_NS 200000000	/* timeout of naive */

static weir_sem forks[SEATS], chairs = WEIR_SEM_INIT(SEATS - 1);
static weir_ctx patience;
static pthread_barrier_t all_have_one;
static int meals[SEATS], starved;

static int left_of(int seat)
{
	return seat;
}

static int right_of(int seat)
{
	return (seat + 1) % SEATS;
}

/* Take two forks one after the other, and eat. */
static void eat(int seat, int first, int second)
{
	if (weir_sem_acquire(&forks[first], 1, NULL))
		return;
	if (weir_sem_acquire(&forks[second], 1, NULL) == WEIR_OK) {
		meals[seat]++;
		weir_sem_release(&forks[second], 1);
	}
	weir_sem_release(&forks[first], 1);
}

static void naive(int seat)
{
	weir_err err = weir_sem_acquire(&forks[left_of(seat)], 1, NULL);

	pthread_barrier_wait(&all_have_one);
	if (err)
		return;
	err = weir_sem_acquire(&forks[right_of(seat)], 1, &patience);
	if (err) {
		printf("philosopher %d holds fork %d and waits for %d: %s\n", seat,
		       left_of(seat), right_of(seat), weir_err_text(err));
		__atomic_fetch_add(&starved, 1, __ATOMIC_RELAXED);
		/* Put the fork down only after all have reported. */
		pthread_barrier_wait(&all_have_one);
	}
	weir_sem_release(&forks[left_of(seat)], 1);
}

static void order(int seat)
{
	int a = left_of(seat), b = right_of(seat);

	eat(seat, a < b ? a : b, a < b ? b : a);
}

static void asymmetry(int seat)
{
	if (seat == SEATS - 1)
		eat(seat, right_of(seat), left_of(seat));
	else
		eat(seat, left_of(seat), right_of(seat));
}

static void arbiter(int seat)
{
	if (weir_sem_acquire(&chairs, 1, NULL))
		return;
	eat(seat, left_of(seat), right_of(seat));
	weir_sem_release(&chairs, 1);
}

static void all(int seat)
{
	const weir_req both[] = { { &forks[left_of(seat)], 1 },
				  { &forks[right_of(seat)], 1 } };

	if (weir_acquire_all(both, 2, NULL))
		return;
	meals[seat]++;
	weir_release_all(both, 2);
}

static const struct solution {
	const char *name;
	void (*dine)(int seat);
	int rounds;
} solutions[] = {
	{ "naive", naive, 1 },
	{ "order", order, MEALS },
	{ "asymmetry", asymmetry, MEALS },
	{ "arbiter", arbiter, MEALS },
	{ "all", all, MEALS },
};

static const struct solution *solution;

static void *philosopher(void *seat)
{
	for (int i = 0; i < solution->rounds; i++)
		solution->dine((int)(intptr_t)seat);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[SEATS];
	int eaten = 0;

	for (size_t i = 0; i < sizeof(solutions) / sizeof(*solutions); i++)
		if (argc == 2 && !strcmp(argv[1], solutions[i].name))
			solution = &solutions[i];
	if (!solution) {
		fprintf(stderr, "usage: philosophers "
				"naive|order|asymmetry|arbiter|all\n");
		return 2;
	}
	for (int i = 0; i < SEATS; i++)
		if (weir_sem_init(&forks[i], 1))
			return 1;
	pthread_barrier_init(&all_have_one, NULL, SEATS);
	if (weir_ctx_init(&patience, NULL, weir_deadline_after(PATIENCE_NS)))
		return 1;
	for (intptr_t i = 0; i < SEATS; i++)
		if (pthread_create(&threads[i], NULL, philosopher, (void *)i))
			return 1;
	for (int i = 0; i < SEATS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SEATS; i++)
		eaten += meals[i];
	pthread_barrier_destroy(&all_have_one);
	if (starved) {
		printf("deadlock: %d of %d starve\n", starved, SEATS);
		return 1;
	}
	printf("%s: %d meals, nobody starved\n", solution->name, eaten);
	return eaten == SEATS * MEALS ? 0 : 1;
}
