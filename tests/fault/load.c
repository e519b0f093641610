/* SPDX-License-Identifier: MIT */
/*
 * A call that the library makes when it is loaded fails. meson.build runs this
 * program once for each such call; WEIR_FAULT_AT_LOAD names it.  Everything
 * still works, a fork with waiters is detected (C29), and no thread spins,
 * because there may be no other CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/fork.h"
#include "work.h"

const int fault_cpus;

TEST(c29_everything_works)
{
	const char *refused = getenv("WEIR_FAULT_AT_LOAD");

	CHECK(refused);
	if (!strcmp(refused, "sched_getaffinity"))
		CHECK(!weir_cpu_has_others_());
	for (size_t i = 0; i < work_count; i++) {
		fault_begin(NULL, false, 0, works[i].name);
		works[i].run();
	}
	printf("evidence: works without %s at load | %zu of %zu\n", refused,
	       work_count, work_count);
}

/* The fork counts of a child and of its child. */
static void count_in_children(uint32_t counts[2])
{
	int ends[2];
	pid_t pid;

	CHECK(!pipe(ends));
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		for (int i = 0; i < 2; i++) {
			uint32_t count = weir_forks_();

			if (count != weir_forks_() ||
			    write(ends[1], &count, sizeof(count)) !=
				    (ssize_t)sizeof(count))
				_exit(1);
			pid = i ? 0 : fork();
			if (pid)
				break;
		}
		/* Not _exit: the coverage of this process counts. */
		exit(pid && waitpid(pid, NULL, 0) != pid);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(ends[1]);
	CHECK_EQ(read(ends[0], counts, 2 * sizeof(*counts)),
		 (int64_t)(2 * sizeof(*counts)));
	close(ends[0]);
}

TEST(c29_each_fork_is_counted_once)
{
	uint32_t counts[2];

	CHECK_EQ(weir_forks_(), 0);
	count_in_children(counts);
	CHECK_EQ(counts[0], 1);
	CHECK_EQ(counts[1], 2);
	CHECK_EQ(weir_forks_(), 0);
}
