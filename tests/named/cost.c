/* SPDX-License-Identifier: MIT */
/*
 * Costs.  C37: nothing wakes while all wait; the test counts context switches
 * and requires zero.  Times are printed and never fail the test.
 */
#include <dirent.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "puppet.h"

/*
 * The number of context switches of all threads of a process.  Clears
 * *all_sleep if one of them does not sleep.
 */
static int64_t switches_of(pid_t pid, bool *all_sleep)
{
	char path[300], line[200], state;
	int64_t sum = 0, count;
	struct dirent *entry;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	CHECK(tasks);
	while ((entry = readdir(tasks))) {
		FILE *status;

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/status",
			       (int)pid, entry->d_name);
		status = fopen(path, "re");
		CHECK(status);
		while (fgets(line, sizeof(line), status)) {
			if (sscanf(line, "State: %c", &state) == 1 &&
			    state != 'S')
				*all_sleep = false;
			if (sscanf(line, "voluntary_ctxt_switches: %" SCNd64,
				   &count) == 1 ||
			    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNd64,
				   &count) == 1)
				sum += count;
		}
		fclose(status);
	}
	closedir(tasks);
	return sum;
}

/* The sum over all puppets, once all sleep and it no longer changes. */
static int64_t settled(const struct puppet *puppets, int count)
{
	struct timespec pause = { 0, 50000000 };
	int64_t before = -1, sum = 0;
	bool all_sleep = false;

	/* The puppets that joined last may not sleep yet. */
	while (sum != before || !all_sleep) {
		before = sum;
		all_sleep = true;
		nanosleep(&pause, NULL);
		sum = 0;
		for (int i = 0; i < count; i++)
			sum += switches_of(puppets[i].pid, &all_sleep);
	}
	return sum;
}

TEST(c37_nothing_wakes_while_all_wait)
{
	enum { WAITERS = 100 };
	static struct puppet waiters[WAITERS];
	struct timespec watched = { 2, 0 };
	const char *name = fresh_name();
	weir_named *sem = open_named(name, 1);
	int64_t woken = -1;
	bool all_sleep;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	for (uint32_t i = 0; i < WAITERS; i++) {
		waiters[i] = puppet_at(name, 1);
		puppet_tell(&waiters[i], PUPPET_ACQUIRE, 1, 0, NULL);
		AWAIT(look_at(sem).waiters == i + 1);
	}
	/*
	 * The least of three rounds: the system may wake a process by itself, for
	 * example when it freezes and thaws a container.  A process that polls is
	 * woken in every round.
	 */
	for (int round = 0; round < 3 && woken; round++) {
		int64_t before = settled(waiters, WAITERS), after = 0;

		/* Not a synchronisation: switches are counted meanwhile. */
		nanosleep(&watched, NULL);
		for (int i = 0; i < WAITERS; i++)
			after += switches_of(waiters[i].pid, &all_sleep);
		if (woken < 0 || after - before < woken)
			woken = after - before;
	}
	printf("evidence: context switches of 100 waiting processes in 2 s | %"
	       PRId64 "\n", woken);
	CHECK_EQ(woken, 0);
	weir_named_release(sem, 1);
	for (int i = 0; i < WAITERS; i++) {
		CHECK_EQ(puppet_hear(&waiters[i]), WEIR_OK);
		CHECK_EQ(puppet_do(&waiters[i], PUPPET_RELEASE, 1), WEIR_OK);
	}
	for (int i = 0; i < WAITERS; i++)
		puppet_end(&waiters[i]);
	CHECK_EQ(look_at(sem).free, 1);
	close_named(sem);
}

static double best_ns(void (*pair)(void *), void *arg)
{
	double best = 1e9;

	for (int round = 0; round < 50; round++) {
		int64_t began = weir_now_ns();
		double each;

		for (int i = 0; i < 20000; i++)
			pair(arg);
		each = (double)(weir_now_ns() - began) / 20000;
		if (each < best)
			best = each;
	}
	return best;
}

static void pair_of_named(void *arg)
{
	CHECK_OK(weir_named_acquire(arg, 1, NULL));
	weir_named_release(arg, 1);
}

static void pair_of_sem_t(void *arg)
{
	CHECK(!sem_wait(arg));
	CHECK(!sem_post(arg));
}

/*
 * A short program opens one handle and ends.  So the private memory of a handle
 * is used only when it is needed: for the order of waiters, at a repair.
 */
TEST(an_open_handle_uses_few_pages)
{
	enum { HANDLES = 20, PAGES = 16 };
	weir_named *handles[HANDLES], *first;
	const char *name = fresh_name();
	long before, used;

	/* The first one starts the heap and resolves the functions. */
	first = open_named(name, 1);
	before = check_resident_pages();
	for (int i = 0; i < HANDLES; i++)
		handles[i] = open_named(name, 1);
	used = check_resident_pages() - before;
	printf("evidence: anonymous memory of an open handle and its thread |"
	       " %.1f pages\n", (double)used / HANDLES);
	if (MEMORY_IS_OURS)
		CHECK(used <= HANDLES * PAGES);
	for (int i = 0; i < HANDLES; i++)
		close_named(handles[i]);
	close_named(first);
}

TEST(the_uncontended_pair)
{
	weir_named *sem = open_named(fresh_name(), 1);
	sem_t *other = mmap(NULL, sizeof(*other), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double named, plain;

	CHECK(other != MAP_FAILED);
	CHECK(!sem_init(other, 1, 1));
	plain = best_ns(pair_of_sem_t, other);
	named = best_ns(pair_of_named, sem);
	printf("evidence: an uncontended pair, against a shared sem_t's |"
	       " %.1f ns, %.1f ns, %.2f times\n", named, plain, named / plain);
	munmap(other, sizeof(*other));
	close_named(sem);
}
