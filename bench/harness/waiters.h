/* SPDX-License-Identifier: MIT */
/*
 * Many waiters.
 *
 * "waiters": `count` threads wait, each for one permit.  The release, and the
 * time until the last waiter runs, are timed.  There is one release of `count`
 * permits if the peer supports it; "waiters-one" has a release for each waiter.
 *
 * "cancels": `threads` threads wait, each with its own token; the main thread
 * cancels all waiters repeatedly.  "timeouts": `threads` threads wait for
 * `timeout` ns without success.  "cancel-growth": `count` threads wait; all are
 * cancelled, in random order.
 */
struct waiting {
	uint64_t armed __attribute__((aligned(BENCH_LINE)));
	uint64_t done;
#ifdef PEER_CANCEL
	peer_token token;
#endif
};

static struct {
	peer_sem sem __attribute__((aligned(BENCH_LINE)));
	uint64_t stop __attribute__((aligned(BENCH_LINE)));
	uint64_t ran __attribute__((aligned(BENCH_LINE)));
	struct waiting *waiting;
	pthread_mutex_t end;	/* held until all threads may exit */
	int64_t timeout;
} crowd;

static void crowd_init(const struct bench_args *args, int threads)
{
	size_t bytes = (size_t)threads * sizeof(*crowd.waiting);

	must(!posix_memalign((void **)&crowd.waiting, BENCH_LINE, bytes),
	     "memory");
	memset(crowd.waiting, 0, bytes);
	crowd.timeout = args->timeout;
	peer_init(&crowd.sem, 0, threads, args->kind);
	must(!pthread_mutex_init(&crowd.end, NULL) &&
	     !pthread_mutex_lock(&crowd.end), "mutex");
}

/*
 * All threads wait for the end: a thread that exits would disturb the others.
 */
static void wait_for_end(void)
{
	__atomic_add_fetch(&crowd.ran, 1, __ATOMIC_ACQ_REL);
	must(!pthread_mutex_lock(&crowd.end) &&
	     !pthread_mutex_unlock(&crowd.end), "mutex");
}

static void await_ran(int64_t count)
{
	while (__atomic_load_n(&crowd.ran, __ATOMIC_ACQUIRE) < (uint64_t)count)
		sched_yield();
}

static void end_crowd(void)
{
	must(!pthread_mutex_unlock(&crowd.end), "mutex");
	bench_join();
}

static void wait_once(void *arg, int number)
{
	(void)arg;
	(void)number;
	peer_acquire(&crowd.sem);
	wait_for_end();
}

static bool waiters(const struct bench_args *args)
{
	bool one_by_one = !strcmp(args->workload, "waiters-one");
	int64_t start, called, ran;
	int count = (int)args->count;

	if (strcmp(args->workload, "waiters") != 0 && !one_by_one)
		return false;
	crowd_init(args, count);
	bench_start(args, count, wait_once, NULL);
	settle();
	start = now_ns();
#ifdef PEER_RELEASE_N
	if (!one_by_one)
		peer_release_n(&crowd.sem, count);
#else
	one_by_one = true;
#endif
	for (int i = 0; one_by_one && i < count; i++)
		peer_release(&crowd.sem);
	called = now_ns();
	await_ran(count);
	ran = now_ns();
	printf("{\"ns\": %.3f, \"call_ns\": %.3f}\n",
	       (double)(ran - start) / count, (double)(called - start) / count);
	fflush(stdout);
	end_crowd();
	return true;
}

#ifdef PEER_TIMED
static void time_out(void *arg, int number)
{
	struct waiting *mine = &crowd.waiting[number];
	uint64_t done = 0;

	(void)arg;
	while (!at_get(&crowd.stop)) {
		must(!peer_acquire_for(&crowd.sem, crowd.timeout),
		     "acquire must fail");
		at_set(&mine->done, ++done);
	}
}
#endif

#ifdef PEER_CANCEL
static void be_cancelled(void *arg, int number)
{
	struct waiting *mine = &crowd.waiting[number];
	uint64_t done = 0;

	(void)arg;
	while (!at_get(&crowd.stop)) {
		peer_token_init(&mine->token);
		__atomic_store_n(&mine->armed, 1, __ATOMIC_RELEASE);
		must(!peer_acquire_token(&crowd.sem, &mine->token),
		     "acquire must fail");
		/*
		 * The main thread clears armed after its last access to the
		 * token.
		 */
		while (__atomic_load_n(&mine->armed, __ATOMIC_ACQUIRE))
			sched_yield();
		peer_token_destroy(&mine->token);
		at_set(&mine->done, ++done);
	}
	mine->armed = 2;
}

static void cancel_all(int threads)
{
	bool any = false;

	for (int i = 0; i < threads; i++) {
		struct waiting *it = &crowd.waiting[i];

		if (__atomic_load_n(&it->armed, __ATOMIC_ACQUIRE) != 1)
			continue;
		peer_token_cancel(&it->token);
		__atomic_store_n(&it->armed, 0, __ATOMIC_RELEASE);
		any = true;
	}
	if (!any)
		sched_yield();
}

static void be_cancelled_once(void *arg, int number)
{
	(void)arg;
	must(!peer_acquire_token(&crowd.sem, &crowd.waiting[number].token),
	     "acquire must fail");
	wait_for_end();
}

static bool cancel_growth(const struct bench_args *args)
{
	int count = (int)args->count;
	uint64_t random = 1;
	int64_t start, called, ran;
	int *order;

	if (strcmp(args->workload, "cancel-growth") != 0)
		return false;
	crowd_init(args, count);
	order = (int *)calloc((size_t)count, sizeof(*order));
	must(order != NULL, "memory");
	for (int i = 0; i < count; i++) {
		int other;

		peer_token_init(&crowd.waiting[i].token);
		random = busy(random, 1);
		other = (int)((random >> 33) % (uint64_t)(i + 1));
		order[i] = order[other];
		order[other] = i;
	}
	bench_start(args, count, be_cancelled_once, NULL);
	settle();
	start = now_ns();
	for (int i = 0; i < count; i++)
		peer_token_cancel(&crowd.waiting[order[i]].token);
	called = now_ns();
	await_ran(count);
	ran = now_ns();
	printf("{\"ns\": %.3f, \"call_ns\": %.3f}\n",
	       (double)(ran - start) / count, (double)(called - start) / count);
	fflush(stdout);
	end_crowd();
	return true;
}
#endif

/* The storms: total time over the number of ended waits of all threads. */
static bool storm(const struct bench_args *args)
{
	bool cancels = !strcmp(args->workload, "cancels");
	int threads = (int)args->threads;
	bench_thread_fn *fn = NULL;
	uint64_t total = 0;
	int64_t start, end;

	if (strcmp(args->workload, "timeouts") != 0 && !cancels)
		return false;
#ifdef PEER_CANCEL
	if (cancels)
		fn = be_cancelled;
#endif
#ifdef PEER_TIMED
	if (!cancels)
		fn = time_out;
#endif
	if (!fn)
		bench_cannot(args->workload);
	crowd_init(args, threads);
	bench_start(args, threads, fn, NULL);
	start = now_ns();
	do {
		end = now_ns() + args->ms * 1000000;
		if (!cancels)
			sleep_ms(args->ms);
#ifdef PEER_CANCEL
		while (cancels && now_ns() < end)
			cancel_all(threads);
#endif
		end = now_ns();
		for (int i = 0; i < threads; i++)
			total += at_get(&crowd.waiting[i].done);
	} while (!total);
	at_set(&crowd.stop, 1);
#ifdef PEER_CANCEL
	/* Cancel the threads that still wait. */
	for (int i = 0; cancels && i < threads; i++)
		while (__atomic_load_n(&crowd.waiting[i].armed,
				       __ATOMIC_ACQUIRE) != 2)
			cancel_all(threads);
#endif
	bench_join();
	printf("{\"ns\": %.3f}\n", (double)(end - start) / (double)total);
	return true;
}
