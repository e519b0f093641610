/* SPDX-License-Identifier: MIT */
/*
 * "polled": `threads` threads repeat a call that fails, on an exhausted semaphore
 * (PEER_POLL).  The main thread makes the same call about every 150 us and times
 * it.  The times show for how long a thread can be kept out by threads that come
 * back at once.
 *
 * "overtaken": the same with a waiter in the queue, so that each call needs the
 * lock.
 */
#ifdef PEER_POLL
static struct {
	peer_sem sem __attribute__((aligned(BENCH_LINE)));
	uint64_t stop __attribute__((aligned(BENCH_LINE)));
} gate;

static void overtake(void *arg, int number)
{
	(void)arg;
	(void)number;
	while (!at_get(&gate.stop))
		peer_poll(&gate.sem);
}

static bool overtaken(const struct bench_args *args)
{
	static struct bench_times times;
	int64_t start, end;

	if (strcmp(args->workload, "overtaken") != 0 &&
	    strcmp(args->workload, "polled") != 0)
		return false;
	peer_init(&gate.sem, 0, 1, args->kind);
#ifdef PEER_QUEUE
	if (!strcmp(args->workload, "overtaken"))
		peer_queue(&gate.sem);
#endif
	bench_start(args, (int)args->threads, overtake, NULL);
	start = now_ns();
	do {
		int64_t before = now_ns();

		peer_poll(&gate.sem);
		bench_times_add(&times, now_ns() - before);
		must(!usleep(100), "usleep");
		end = now_ns();
	} while (end - start < args->ms * 1000000);
	at_set(&gate.stop, 1);
	bench_join();
	printf("{\"calls\": %llu, ", (unsigned long long)times.count);
	bench_times_print(&times);
	printf("}\n");
	return true;
}
#else
static bool overtaken(const struct bench_args *args)
{
	(void)args;
	return false;
}
#endif
