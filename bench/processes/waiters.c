/* SPDX-License-Identifier: MIT */
/*
 * The cost of waiting processes: CPU time and context switches of all their
 * threads, as recorded by the kernel.
 */
#include <dirent.h>
#include <inttypes.h>

#include "processes.h"

#define WAITERS_MAX 1000

struct cost {
	int64_t cpu_ns;
	int64_t switches;
};

static void add_thread(struct cost *cost, const char *folder)
{
	char path[320], line[200];
	int64_t count;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/schedstat", folder);
	file = fopen(path, "re");
	must(file != NULL, path);
	must(fscanf(file, "%" SCNd64, &count) == 1, path);
	cost->cpu_ns += count;
	fclose(file);
	(void)snprintf(path, sizeof(path), "%s/status", folder);
	file = fopen(path, "re");
	must(file != NULL, path);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %" SCNd64, &count) ==
			    1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %" SCNd64,
			   &count) == 1)
			cost->switches += count;
	fclose(file);
}

static struct cost cost_of(const pid_t *pids, int64_t count)
{
	struct cost cost = { 0, 0 };

	for (int64_t i = 0; i < count; i++) {
		const struct dirent *entry;
		char path[300];
		DIR *tasks;

		(void)snprintf(path, sizeof(path), "/proc/%d/task",
			       (int)pids[i]);
		tasks = opendir(path);
		must(tasks != NULL, path);
		while ((entry = readdir(tasks))) {
			if (entry->d_name[0] == '.')
				continue;
			(void)snprintf(path, sizeof(path), "/proc/%d/task/%s",
				       (int)pids[i], entry->d_name);
			add_thread(&cost, path);
		}
		closedir(tasks);
	}
	return cost;
}

static void wait_in_queue(void *arg)
{
	const struct kind *kind = arg;

	kind->attach();
	kind->acquire();
	kind->release();
}

void measure_waiters(const struct bench_args *args, const struct kind *kind)
{
	static pid_t pids[WAITERS_MAX];
	union {
		const struct kind *from;
		void *to;
	} as = { kind };
	struct cost before, after = { 0, -1 };
	double seconds = (double)args->ms / 1000;

	must(args->count <= WAITERS_MAX, "too many waiters");
	kind->make();
	kind->acquire();
	for (int64_t i = 0; i < args->count; i++) {
		pids[i] = child_start(wait_in_queue, as.to);
		while (!child_sleeps(pids[i]))
			nap_us(50);
	}
	/* Wait until no process is switched to any more. */
	do {
		before = after;
		sleep_ms(100);
		after = cost_of(pids, args->count);
	} while (before.switches != after.switches);
	before = after;
	sleep_ms(args->ms);
	after = cost_of(pids, args->count);
	kind->release();
	for (int64_t i = 0; i < args->count; i++)
		child_end(pids[i]);
	printf("{\"ns\": %.0f, \"switches\": %.1f}\n",
	       (double)(after.cpu_ns - before.cpu_ns) / seconds,
	       (double)(after.switches - before.switches) / seconds);
}
