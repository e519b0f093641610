/* SPDX-License-Identifier: MIT */
/*
 * A long run of pairs of acquire and release by several threads, with weights,
 * under both policies, with plenty of permits and with few; sometimes with a
 * deadline, or with a ctx that is cancelled.
 *
 * Checks, all the time: the permits in use never exceed the capacity (C10), the
 * counts of weir_sem_stat add up (N8), memory does not grow (C26); and in the
 * end all permits are free and no thread waits (C16).
 *
 * Runs for three seconds, times WEIR_TEST_SCALE; with WEIR_FULL=1 for 10^8
 * pairs.
 */
#include <inttypes.h>

#include "../regress/waiter.h"
#include "base/hook.h"
#include "check.h"

#define WORKERS 4
#define BATCH 1000
#define FULL_PAIRS INT64_C(100000000)
#define SHORT_NS INT64_C(3000000000)
#define HEAVIEST 3

/*
 * Memory may grow by this many pages after the warm-up, because the threads may
 * use their stacks a little deeper.  A leak of one byte per pair would be
 * hundreds of pages.
 */
#define PAGES_MORE 32

/* A semaphore and the number of its permits in use. */
struct place {
	const char *name;
	weir_policy policy;
	int64_t capacity;
	weir_sem sem __attribute__((aligned(64)));
	int64_t in_use __attribute__((aligned(64)));	/* atomic */
};

/* In the first two all threads fit at once; in the others they contend. */
static struct place places[] = {
	{ .name = "roomy", .policy = WEIR_FIFO, .capacity = 4 * HEAVIEST },
	{ .name = "roomy, barging", .policy = WEIR_BARGING,
	  .capacity = 4 * HEAVIEST },
	{ .name = "tight", .policy = WEIR_FIFO, .capacity = HEAVIEST },
	{ .name = "tight, barging", .policy = WEIR_BARGING,
	  .capacity = HEAVIEST },
};
#define PLACES ((int)(sizeof(places) / sizeof(places[0])))

/* The order of the places, and the number of batches in each. */
static const int route[] = { 0, 2, 1, 3 };
#define ROUTE ((int)(sizeof(route) / sizeof(route[0])))
#define TOGETHER 32

/* The owner of a worker's ctx: the worker, the canceller, the worker. */
enum { FRESH, BEING_ENDED, ENDED };

struct worker {
	uint64_t random __attribute__((aligned(64)));
	int64_t pairs;		/* atomic: written only by the worker */
	int64_t slow, waited, late, cancelled;
	weir_ctx ctx;
	uint32_t ctx_state;	/* atomic */
	check_thread thread;
};

static struct worker workers[WORKERS];
static int64_t batches_left;	/* atomic */
static uint32_t over;		/* atomic: the time is up */
static _Thread_local struct worker *self;

static bool is_full(void)
{
	const char *full = getenv("WEIR_FULL");

	return full && atoi(full) > 0;
}

/* The hook reports slow paths only, not fast paths. */
static void hear(const struct weir_event_ *event)
{
	if (self && event->kind == WEIR_EVENT_QUEUED_)
		self->waited++;
	if (self && event->kind == WEIR_EVENT_ACQUIRED_)
		self->slow++;
}

static void renew_ctx(struct worker *w)
{
	AWAIT(__atomic_load_n(&w->ctx_state, __ATOMIC_ACQUIRE) == ENDED);
	CHECK_OK(weir_ctx_destroy(&w->ctx));
	CHECK_OK(weir_ctx_init(&w->ctx, NULL, WEIR_FOREVER));
	__atomic_store_n(&w->ctx_state, FRESH, __ATOMIC_RELEASE);
}

static bool enter(struct worker *w, struct place *p, int64_t n)
{
	uint64_t how = next_random(&w->random) % 64;
	weir_err err;

	if (how == 0) {
		err = weir_sem_acquire_for(&p->sem, n,
					   random_below(&w->random, 5000));
		w->late += err == WEIR_ETIMEDOUT;
		CHECK(!err || err == WEIR_ETIMEDOUT);
	} else if (how == 1) {
		err = weir_sem_acquire(&p->sem, n, &w->ctx);
		w->cancelled += err == WEIR_ECANCELED;
		CHECK(!err || err == WEIR_ECANCELED);
		if (err)
			renew_ctx(w);
	} else {
		err = weir_sem_acquire(&p->sem, n, NULL);
		CHECK_OK(err);
	}
	return !err;
}

static void one_pair(struct worker *w, struct place *p)
{
	int64_t n = 1 + random_below(&w->random, HEAVIEST);

	while (!enter(w, p, n))
		;
	/* relaxed: the semaphore orders the critical sections */
	CHECK(__atomic_add_fetch(&p->in_use, n, __ATOMIC_RELAXED) <=
	      p->capacity);
	/* In a tight place, let other threads find the permits taken. */
	if (p->capacity <= HEAVIEST && next_random(&w->random) % 8 == 0)
		sched_yield();
	__atomic_sub_fetch(&p->in_use, n, __ATOMIC_RELAXED);
	weir_sem_release(&p->sem, n);
}

static void *work(void *arg)
{
	struct worker *w = self = arg;
	int64_t batch;

	while ((batch = __atomic_fetch_sub(&batches_left, 1,
					   __ATOMIC_RELAXED)) > 0 &&
	       !__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		/* All threads are in the same place at about the same time. */
		struct place *p = &places[route[batch / TOGETHER % ROUTE]];

		for (int i = 0; i < BATCH; i++)
			one_pair(w, p);
		__atomic_store_n(&w->pairs, w->pairs + BATCH, __ATOMIC_RELEASE);
	}
	return NULL;
}

static int64_t pairs_done(void)
{
	int64_t sum = 0;

	for (int i = 0; i < WORKERS; i++)
		sum += __atomic_load_n(&workers[i].pairs, __ATOMIC_ACQUIRE);
	return sum;
}

static void cancel_one(struct worker *w)
{
	uint32_t fresh = FRESH;

	if (!__atomic_compare_exchange_n(&w->ctx_state, &fresh, BEING_ENDED,
					 false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	weir_ctx_cancel(&w->ctx);
	__atomic_store_n(&w->ctx_state, ENDED, __ATOMIC_RELEASE);
}

/*
 * Check the counts and cancel a worker's ctx until the work is done.  Returns
 * the number of checks; *growth is the growth of memory, in pages.
 */
static int64_t monitor(int64_t target, int64_t until_ns, long *growth)
{
	struct timespec nap = { 0, 300000 };
	int64_t checks = 0, warm = 0;
	uint64_t random = seed_of(1000);
	long before = 0;

	while (pairs_done() < target && weir_now_ns() < until_ns) {
		for (int i = 0; i < PLACES; i++) {
			CHECK_IDENTITY(&places[i].sem);
			CHECK(waiters_of(&places[i].sem) <= WORKERS);
			CHECK(stat_of(&places[i].sem).free <=
			      places[i].capacity);
		}
		cancel_one(&workers[random_below(&random, WORKERS)]);
		/* Every path has been used once after so many pairs. */
		if (!before && pairs_done() >= 100 * BATCH) {
			before = check_resident_pages();
			warm = checks;
		}
		*growth = before ? check_resident_pages() - before : 0;
		if (MEMORY_IS_OURS)
			CHECK(*growth <= PAGES_MORE);
		checks++;
		nanosleep(&nap, NULL);
	}
	return checks - warm;
}

static void report(int64_t checks, long growth)
{
	struct worker all = { 0 };
	double share;

	for (int i = 0; i < WORKERS; i++) {
		all.pairs += workers[i].pairs;
		all.slow += workers[i].slow;
		all.waited += workers[i].waited;
		all.late += workers[i].late;
		all.cancelled += workers[i].cancelled;
	}
	share = 100.0 / (double)all.pairs;
	printf("evidence: soak: pairs of acquire and release | %" PRId64
	       ", %d threads, WEIR_SEED=%" PRIu64 "\n", all.pairs, WORKERS,
	       check_seed());
	printf("evidence: soak: contended, through the lock | %" PRId64
	       " (%.1f %%)\n", all.slow, share * (double)all.slow);
	printf("evidence: soak: waited in the queue | %" PRId64 " (%.1f %%)\n",
	       all.waited, share * (double)all.waited);
	printf("evidence: soak: timed out; cancelled | %" PRId64 "; %" PRId64
	       "\n", all.late, all.cancelled);
	printf("evidence: soak: consistency checks, all passed | %" PRId64 "\n",
	       checks);
	printf("evidence: soak: growth of memory | %ld pages\n",
	       growth);
}

TEST(c16_soak)
{
	int64_t target = is_full() ? FULL_PAIRS : INT64_MAX;
	int64_t until = WEIR_FOREVER, checks;
	long growth = 0;

	if (is_full())
		alarm(1800);
	else
		until = weir_now_ns() + SHORT_NS * check_scale();
	batches_left = target / BATCH;
	CHECK(weir_hook_set_(hear) == NULL);
	for (int i = 0; i < PLACES; i++) {
		weir_sem_opts opts = { .permits = places[i].capacity,
				       .policy = places[i].policy,
				       .name = places[i].name };

		CHECK_OK(weir_sem_init_opts(&places[i].sem, &opts));
	}
	for (int i = 0; i < WORKERS; i++) {
		workers[i].random = seed_of((uint64_t)i);
		CHECK_OK(weir_ctx_init(&workers[i].ctx, NULL, WEIR_FOREVER));
		workers[i].thread = start(work, &workers[i]);
	}
	checks = monitor(target, until, &growth);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		finish(workers[i].thread);
	CHECK(weir_hook_set_(NULL) == hear);
	for (int i = 0; i < PLACES; i++) {
		weir_sem_info info = stat_of(&places[i].sem);

		CHECK_EQ(places[i].in_use, 0);
		CHECK_EQ(info.free, places[i].capacity);
		CHECK_EQ(info.held + info.granted + info.debt, 0);
		CHECK_EQ(info.waiters + info.oversized, 0);
		CHECK_OK(weir_sem_destroy(&places[i].sem));
	}
	for (int i = 0; i < WORKERS; i++)
		CHECK_OK(weir_ctx_destroy(&workers[i].ctx));
	report(checks, growth);
}
