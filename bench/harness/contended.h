/* SPDX-License-Identifier: MIT */
/*
 * Threads that contend for one semaphore.
 *
 * "contended": each thread repeatedly acquires, works for the length of the
 * section and releases.  The main thread samples the number of operations; the
 * working threads read no clock.  "latency": the same, and each thread times
 * its acquires.  With kind=ops each of the T is not a thread but an operation:
 * its callback works, releases and submits it again.  Two threads run them all.
 *
 * "ping-pong": two threads take turns with two semaphores.
 */
struct share {
	uint64_t done __attribute__((aligned(BENCH_LINE)));
	uint64_t sink;		/* result of the section */
	struct bench_times *times;
};

static struct {
	peer_sem sem __attribute__((aligned(BENCH_LINE)));
	peer_sem back __attribute__((aligned(BENCH_LINE)));
	uint64_t stop __attribute__((aligned(BENCH_LINE)));
	uint64_t over;		/* the last turn has been played */
	uint64_t warm;		/* the warm-up is over */
	int64_t rounds;		/* length of the section */
	uint64_t limit;		/* operations of each thread; 0: until stop */
	struct share *shares;
} arena;

static void work(void *arg, int number)
{
	struct share *mine = &arena.shares[number];
	uint64_t done = 0, x = (uint64_t)number;

	(void)arg;
	while (!at_get(&arena.stop)) {
		peer_acquire(&arena.sem);
		x = busy(x, arena.rounds);
		peer_release(&arena.sem);
		at_set(&mine->done, ++done);
		if (done == arena.limit)
			break;
	}
	mine->sink = x;
}

static void work_timed(void *arg, int number)
{
	struct share *mine = &arena.shares[number];
	uint64_t done = 0, x = (uint64_t)number;

	(void)arg;
	while (!at_get(&arena.stop)) {
		int64_t before = now_ns(), after;

		peer_acquire(&arena.sem);
		after = now_ns();
		if (at_get(&arena.warm))
			bench_times_add(mine->times, after - before);
		x = busy(x, arena.rounds);
		peer_release(&arena.sem);
		at_set(&mine->done, ++done);
	}
	mine->sink = x;
}

#ifdef PEER_OPS
#define OPS_THREADS 2

/* The operation of arena.shares[i] is ops[i]. */
static struct {
	peer_op *ops;
	int count;
	int64_t capacity;
	pthread_barrier_t queued;
	struct peer_op_job job;
} arena_ops;

static void op_works(peer_op *op)
{
	struct share *mine = &arena.shares[op - arena_ops.ops];

	do {
		mine->sink = busy(mine->sink, arena.rounds);
		peer_release(&arena.sem);
		at_set(&mine->done, mine->done + 1);
	} while (!at_get(&arena.stop) &&
		 peer_op_start(op, &arena.sem, &arena_ops.job));
}

/*
 * Queue this thread's operations, then release its part of the permits.  The
 * release runs callbacks until arena.stop.
 */
static void work_ops(void *arg, int number)
{
	(void)arg;
	for (int i = number; i < arena_ops.count; i += OPS_THREADS)
		must(!peer_op_start(&arena_ops.ops[i], &arena.sem,
				    &arena_ops.job),
		     "queued");
	pthread_barrier_wait(&arena_ops.queued);
	peer_release_n(&arena.sem,
		       (arena_ops.capacity + OPS_THREADS - 1 - number) /
			       OPS_THREADS);
}

static void start_ops(const struct bench_args *args, int count)
{
	arena_ops.ops = (peer_op *)calloc((size_t)count, sizeof(peer_op));
	must(arena_ops.ops != NULL, "memory");
	arena_ops.count = count;
	arena_ops.capacity = args->capacity;
	arena_ops.job.work = op_works;
	must(!pthread_barrier_init(&arena_ops.queued, NULL, OPS_THREADS),
	     "barrier");
	peer_init(&arena.sem, 0, args->capacity, "fifo");
	bench_start(args, OPS_THREADS, work_ops, NULL);
}
#endif

static int64_t sample(uint64_t *counts, int threads)
{
	for (int i = 0; i < threads; i++)
		counts[i] = at_get(&arena.shares[i].done);
	return now_ns();
}

/* Wall time and CPU time, in ns for each operation. */
struct cost {
	double ns;
	double cpu;
};

/*
 * Let the threads work for args->ms, or longer on a busy machine, until at
 * least one operation is done.  counts is set to the operations of each thread.
 */
static struct cost observe(const struct bench_args *args, uint64_t *counts,
			   int threads)
{
	static uint64_t before[BENCH_THREADS_MAX];
	int64_t start, took, used;
	struct cost cost;
	uint64_t total;

	sleep_ms(args->warm);
	at_set(&arena.warm, 1);
	used = cpu_ns();
	start = sample(before, threads);
	do {
		sleep_ms(args->ms);
		took = sample(counts, threads) - start;
		total = 0;
		for (int i = 0; i < threads; i++) {
			counts[i] -= before[i];
			total += counts[i];
		}
	} while (!total);
	used = cpu_ns() - used;
	cost.ns = (double)took / (double)total;
	cost.cpu = (double)used / (double)total;
	return cost;
}

static bool contended(const struct bench_args *args)
{
	bool timed = !strcmp(args->workload, "latency");
	static uint64_t counts[BENCH_THREADS_MAX];
	static struct bench_times all;
	int threads = (int)args->threads;
	struct cost cost;

	if (strcmp(args->workload, "contended") != 0 && !timed)
		return false;
	must(!posix_memalign((void **)&arena.shares, BENCH_LINE,
			     (size_t)threads * sizeof(*arena.shares)),
	     "memory");
	memset(arena.shares, 0, (size_t)threads * sizeof(*arena.shares));
	for (int i = 0; timed && i < threads; i++) {
		arena.shares[i].times = (struct bench_times *)calloc(
			1, sizeof(struct bench_times));
		must(arena.shares[i].times != NULL, "memory");
	}
	arena.rounds = bench_busy_rounds(args->section);
	arena.limit = (uint64_t)args->ops;
#ifdef PEER_OPS
	if (!strcmp(args->kind, "ops"))
		start_ops(args, threads);
	else
#endif
	{
		peer_init(&arena.sem, args->ops ? 0 : args->capacity,
			  args->capacity, args->kind);
		bench_start(args, threads, timed ? work_timed : work, NULL);
	}
	if (args->ops) {
		/*
		 * An exact number of operations for each thread, for counting
		 * instead of timing: all wait before the first begins.
		 */
		settle();
		for (int64_t i = 0; i < args->capacity; i++)
			peer_release(&arena.sem);
		bench_join();
		printf("{\"ops\": %lld}\n",
		       (long long)args->ops * (long long)threads);
		return true;
	}
	cost = observe(args, counts, threads);
	at_set(&arena.stop, 1);
	bench_join();
	for (int i = 0; timed && i < threads; i++)
		bench_times_merge(&all, arena.shares[i].times);
	printf("{\"ns\": %.3f, \"cpu\": %.3f, ", cost.ns, cost.cpu);
	bench_fairness_print(counts, threads);
	if (timed) {
		printf(", ");
		bench_times_print(&all);
	}
	printf("}\n");
	return true;
}

static void play(void *arg, int number)
{
	uint64_t done = 0;

	(void)arg;
	for (;;) {
		if (number) {
			peer_acquire(&arena.sem);
			if (at_get(&arena.over))
				return;
			peer_release(&arena.back);
		} else {
			bool last = at_get(&arena.stop);

			at_set(&arena.over, last);
			peer_release(&arena.sem);
			if (last)
				return;
			peer_acquire(&arena.back);
			at_set(&arena.shares[0].done, ++done);
		}
	}
}

static bool ping_pong(const struct bench_args *args)
{
	static struct share share;
	struct cost cost;
	uint64_t turns;

	if (strcmp(args->workload, "ping-pong") != 0)
		return false;
	arena.shares = &share;
	peer_init(&arena.sem, 0, 1, args->kind);
	peer_init(&arena.back, 0, 1, args->kind);
	bench_start(args, 2, play, NULL);
	cost = observe(args, &turns, 1);
	at_set(&arena.stop, 1);
	bench_join();
	printf("{\"ns\": %.3f, \"cpu\": %.3f}\n", cost.ns, cost.cpu);
	return true;
}
