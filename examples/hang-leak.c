/* SPDX-License-Identifier: MIT */
/*
 * A leak: a thread ends and does not release its permit.
 *
 * The error path of a job returns without a release.  Its thread ends, the
 * permit stays out, and one day no permit is left.
 */
#include "hang.h"

static weir_sem jobs;

static int parse(const char *line)
{
	return *line ? 0 : -1;
}

static void *run_job(void *line)
{
	hang_check(weir_sem_acquire(&jobs, 1, NULL));
	if (parse(line))
		return NULL;	/* the mistake: the permit is still out */
	weir_sem_release(&jobs, 1);
	return line;
}

int main(void)
{
	static char good[] = "good", empty[] = "";

	hang_init(&jobs, "jobs", 1);
	(void)pthread_join(hang_start("job-1", run_job, good), NULL);
	(void)pthread_join(hang_start("job-2", run_job, empty), NULL);
	(void)hang_start("job-3", run_job, good);
	hang_until_queued(&jobs, 1);
	hang_here("hang-leak");
}
