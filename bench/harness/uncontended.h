/* SPDX-License-Identifier: MIT */
/* Uncontended operations of one thread. */

#define REPEAT(name, statement)                                                \
	static void name(void *arg, int64_t times)                             \
	{                                                                      \
		peer_sem *sem = (peer_sem *)arg;                               \
		for (int64_t i = 0; i < times; i++)                            \
			statement;                                             \
	}

REPEAT(repeat_pair, (peer_acquire(sem), peer_release(sem)))
#ifdef PEER_WEIGHT
REPEAT(repeat_weight, (peer_acquire_n(sem, 3), peer_release_n(sem, 3)))
#endif
#ifdef PEER_TRY
REPEAT(repeat_try, (must(peer_try(sem), "try"), peer_release(sem)))
REPEAT(repeat_try_fail, must(!peer_try(sem), "try must fail"))
#endif
#ifdef PEER_TIMED
#define HOUR_NS INT64_C(3600000000000)
REPEAT(repeat_timeout, (must(peer_acquire_for(sem, HOUR_NS), "timeout"),
			peer_release(sem)))
#endif
#ifdef PEER_UNTIL
static void repeat_until(void *arg, int64_t times)
{
	peer_sem *sem = (peer_sem *)arg;
	int64_t deadline = now_ns() + HOUR_NS;

	for (int64_t i = 0; i < times; i++) {
		must(peer_acquire_until(sem, deadline), "deadline");
		peer_release(sem);
	}
}
#endif
#ifdef PEER_CANCEL
static void repeat_ctx(void *arg, int64_t times)
{
	static peer_token token;
	static bool made;
	peer_sem *sem = (peer_sem *)arg;

	if (!made)
		peer_token_init(&token);
	made = true;
	for (int64_t i = 0; i < times; i++) {
		must(peer_acquire_token(sem, &token), "ctx");
		peer_release(sem);
	}
}
#endif
#ifdef PEER_PERMIT
REPEAT(repeat_permit, peer_pair_by_permit(sem))
#endif

/* Single operations, for counting instructions; ops= is their number. */
REPEAT(repeat_acquire, peer_acquire(sem))
REPEAT(repeat_release, peer_release(sem))
REPEAT(repeat_nothing, __asm__ volatile("" : : "r"(sem) : "memory"))

static const struct uncontended {
	const char *name;
	bench_repeat_fn *fn;
	int64_t permits;	/* free at the start */
} uncontendeds[] = {
	{ "pair", repeat_pair, 8 },
#ifdef PEER_WEIGHT
	{ "weight3", repeat_weight, 8 },
#endif
#ifdef PEER_TRY
	{ "try", repeat_try, 8 },
	{ "try-fail", repeat_try_fail, 0 },
#endif
#ifdef PEER_TIMED
	{ "timeout", repeat_timeout, 8 },
#endif
#ifdef PEER_UNTIL
	{ "deadline", repeat_until, 8 },
#endif
#ifdef PEER_CANCEL
	{ "ctx", repeat_ctx, 8 },
#endif
#ifdef PEER_PERMIT
	{ "permit", repeat_permit, 8 },
#endif
	{ "acquire", repeat_acquire, 1 << 20 },
	{ "release", repeat_release, 0 },
	{ "nothing", repeat_nothing, 8 },
};

/* Returns true if the workload is one of these. */
static bool uncontended(const struct bench_args *args)
{
	static peer_sem sem __attribute__((aligned(BENCH_LINE)));
	const size_t count = sizeof(uncontendeds) / sizeof(*uncontendeds);

	for (size_t i = 0; i < count; i++) {
		const struct uncontended *it = &uncontendeds[i];

		if (strcmp(it->name, args->workload) != 0)
			continue;
		/* Acquire or release alone can be repeated only so often. */
		if (it->fn == repeat_acquire || it->fn == repeat_release)
			must(args->ops > 0 && args->ops < 1 << 20, "ops");
		peer_init(&sem, it->permits, 1 << 20, args->kind);
		bench_second_thread();
		printf("{\"ns\": %.3f}\n", bench_repeat(args, it->fn, &sem));
		return true;
	}
	return false;
}

/*
 * Growth with the number of semaphores: each pair is on a random one of `count`
 * (a power of two) semaphores.  Cache misses dominate.
 */
static struct {
	peer_sem *sems;
	uint64_t mask;
	uint64_t random;
} field;

static void repeat_many(void *arg, int64_t times)
{
	(void)arg;
	for (int64_t i = 0; i < times; i++) {
		peer_sem *sem;

		field.random = busy(field.random, 1);
		sem = &field.sems[field.random >> 33 & field.mask];
		peer_acquire(sem);
		peer_release(sem);
	}
}

static bool many_semaphores(const struct bench_args *args)
{
	if (strcmp(args->workload, "semaphores") != 0)
		return false;
	must(!(args->count & (args->count - 1)), "count is a power of two");
	must(!posix_memalign((void **)&field.sems, BENCH_LINE,
			     (size_t)args->count * sizeof(*field.sems)),
	     "memory");
	for (int64_t i = 0; i < args->count; i++)
		peer_init(&field.sems[i], 1, 1, args->kind);
	field.mask = (uint64_t)args->count - 1;
	field.random = 1;
	bench_second_thread();
	printf("{\"ns\": %.3f, \"bytes\": %zu}\n",
	       bench_repeat(args, repeat_many, NULL), sizeof(peer_sem));
	return true;
}
