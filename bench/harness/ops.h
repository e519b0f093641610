/* SPDX-License-Identifier: MIT */
/*
 * Many waiters, as operations with callbacks (PEER_OPS, kind=ops): the
 * workloads of waiters.h without a thread or a task for each waiter.  In
 * addition to the time of granting or cancelling they report the time of
 * queueing, and the growth of the process in bytes for each waiter.
 */
static int64_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all, here = 0;

	must(file && fscanf(file, "%ld %ld", &all, &here) == 2, "statm");
	fclose(file);
	return here * sysconf(_SC_PAGESIZE);
}

struct ops_crowd {
	peer_sem sem;
	peer_op *ops;
	int64_t ran;
};

static void ops_shuffle(int *order, int count)
{
	uint64_t random = 1;

	for (int i = 0; i < count; i++) {
		int other;

		random = busy(random, 1);
		other = (int)((random >> 33) % (uint64_t)(i + 1));
		order[i] = order[other];
		order[other] = i;
	}
}

static bool operations(const struct bench_args *args)
{
	bool one_by_one = !strcmp(args->workload, "waiters-one");
	bool cancels = !strcmp(args->workload, "cancel-growth");
	int count = (int)args->count;
	struct ops_crowd all = { .ran = 0 };
	int64_t start, queued, from, to, bytes;
	int *order;

	if (strcmp(args->kind, "ops") != 0)
		return false;
	if (!one_by_one && !cancels && strcmp(args->workload, "waiters") != 0)
		return false;
	order = (int *)calloc((size_t)count, sizeof(*order));
	must(order, "memory");
	ops_shuffle(order, count);
	bytes = resident();
	all.ops = (peer_op *)malloc((size_t)count * sizeof(*all.ops));
	must(all.ops, "memory");
	peer_init(&all.sem, 0, count, "fifo");
	start = now_ns();
	memset(all.ops, 1, (size_t)count * sizeof(*all.ops));
	for (int i = 0; i < count; i++)
		peer_op_queue(&all.ops[i], &all.sem, &all.ran);
	queued = now_ns();
	bytes = resident() - bytes;
	from = now_ns();
	if (cancels)
		for (int i = 0; i < count; i++)
			peer_op_cancel(&all.ops[order[i]]);
	else if (one_by_one)
		for (int i = 0; i < count; i++)
			peer_release(&all.sem);
	else
		peer_release_n(&all.sem, count);
	to = now_ns();
	must(all.ran == (cancels ? 0 : count), "all callbacks have run");
	printf("{\"ns\": %.3f, \"call_ns\": %.3f, \"queue_ns\": %.3f, "
	       "\"bytes\": %.1f}\n",
	       (double)(to - from) / count, (double)(to - from) / count,
	       (double)(queued - start) / count, (double)bytes / count);
	free(order);
	free(all.ops);
	return true;
}
