/* SPDX-License-Identifier: MIT */
/*
 * The cost of having no limit.
 *
 *     overload [TASKS]
 *
 * Four hundred calls to a node that serves four at a time, from a client with
 * a timeout of 100 ms: all at once, then four at a time.  Then very many
 * tasks: first with a bounded backlog, then with all of them in memory.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <weir/group.h>

#define CALLS 400
#define NODE_SERVES 4
#define PATIENCE_NS INT64_C(100000000)

static weir_sem node = WEIR_SEM_INIT(NODE_SERVES);
static atomic_int timed_out;
static weir_sem gate = WEIR_SEM_INIT_UNBOUNDED(0);

static weir_err pass_the_gate(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	/* A turnstile: each thread that passes lets the next one pass. */
	if (weir_sem_acquire(&gate, 1, NULL))
		return WEIR_ESYSTEM;
	weir_sem_release(&gate, 1);
	return WEIR_OK;
}

static weir_err call(void *arg, struct weir_ctx *ctx)
{
	(void)!pass_the_gate(arg, ctx);
	if (weir_sem_acquire_until(&node, 1, weir_deadline_after(PATIENCE_NS))) {
		atomic_fetch_add(&timed_out, 1);
		return WEIR_ETIMEDOUT;
	}
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	weir_sem_release(&node, 1);
	return WEIR_OK;
}

static weir_err nothing(void *arg, struct weir_ctx *ctx)
{
	(void)arg;
	(void)ctx;
	return WEIR_OK;
}

static long peak_kb(void)
{
	struct rusage used;

	return getrusage(RUSAGE_SELF, &used) ? 0 : used.ru_maxrss;
}

/*
 * Returns the milliseconds since the gate opened.  `first`, if not null, is
 * spawned before the other tasks.
 */
static int64_t run(int64_t workers, int64_t backlog, int64_t tasks,
		   weir_task_fn *first, weir_task_fn *fn)
{
	const weir_group_opts opts = { .workers = workers, .backlog = backlog };
	int64_t begun, open;
	weir_group group;
	weir_err err = weir_group_init(&group, &opts), failed = WEIR_OK;

	if (!err)
		err = weir_sem_drain(&gate, &open);
	if (!err && first)
		err = weir_group_spawn(&group, first, NULL, 1, NULL);
	for (int64_t i = 0; i < tasks && !err; i++)
		err = weir_group_spawn(&group, fn, NULL, 1, NULL);
	begun = weir_now_ns();
	weir_sem_release(&gate, 1);
	/* The result is that of the first call that timed out. */
	if (err || weir_group_wait(&group, NULL, &failed) != failed ||
	    weir_group_destroy(&group) != WEIR_OK)
		exit(1);
	return (weir_now_ns() - begun) / 1000000;
}

int main(int argc, char **argv)
{
	int64_t tasks = argc > 1 ? atoll(argv[1]) : 2700000, ms;
	long before;

	ms = run(CALLS, CALLS, CALLS, NULL, call);
	printf("all at once: %" PRId64 " ms, %d calls timed out\n", ms,
	       atomic_exchange(&timed_out, 0));
	ms = run(NODE_SERVES, CALLS, CALLS, NULL, call);
	printf("four at a time: %" PRId64 " ms, %d calls timed out\n", ms,
	       atomic_load(&timed_out));
	before = peak_kb();
	run(1, 1024, tasks, NULL, nothing);
	printf("a backlog of 1024: %ld MB more\n", (peak_kb() - before) / 1024);
	before = peak_kb();
	run(1, tasks + 1, tasks, pass_the_gate, nothing);
	printf("all in memory: %ld MB more\n", (peak_kb() - before) / 1024);
	return timed_out != 0;
}
