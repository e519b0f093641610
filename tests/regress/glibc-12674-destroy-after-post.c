/* SPDX-License-Identifier: MIT */
/*
 * glibc bug 12674 (also musl before 0.8, FreeBSD): a release reads the
 * semaphore after it has given the permit away, when its memory may already be
 * unmapped.
 *
 * Threads: waiter, releaser.
 *
 *   1. waiter: acquire waits.
 *   2. releaser: release adds the permit.
 *   3. waiter: acquire returns; destroys and unmaps the semaphore.
 *   4. releaser: reads the semaphore to see whether a thread waits: a fault, or
 *      an access to memory with another use.
 *
 * In weir (C22) the caller may destroy and unmap as soon as its acquire has
 * returned.  This holds on every path of a release: to a parked waiter, to a
 * waiter that has just queued or still spins, without waiters, with two
 * concurrent releasers, and while another thread holds the queue's lock.
 *
 * The semaphore is alone on a page; the waiter takes the page away at once.
 */
#include "page.h"
#include "race.h"
#include "waiter.h"

enum path {
	TO_SLEEPER,
	TO_QUEUED,
	MEETS_ACQUIRE,
	MEETS_TRY
};

struct shared {
	struct gate gate;
	enum path path;
	bool stop;
	weir_sem *sem;
	int32_t waiter;		/* thread id */
	uint32_t threads;	/* atomic: numbers the releasers */
	uint32_t quiet;		/* atomic: be_busy must leave the semaphore */
	uint32_t busy_out;	/* atomic: be_busy has left the semaphore */
};

static void *release_one(void *arg)
{
	struct shared *s = arg;
	uint64_t random = seed_of(__atomic_fetch_add(&s->threads, 1,
						     __ATOMIC_RELAXED));

	for (;;) {
		meet(&s->gate);
		if (s->stop)
			return NULL;
		/*
		 * This thread may still read the semaphore: the waiter cannot
		 * be granted, and so cannot unmap, before this thread has
		 * released.
		 */
		if (s->path == TO_SLEEPER)
			AWAIT(waiters_of(s->sem) == 1 && asleep(s->waiter));
		else if (s->path == TO_QUEUED)
			AWAIT(waiters_of(s->sem) == 1);
		else
			jitter(&random, 100);
		weir_sem_release(s->sem, 1);
		meet(&s->gate);
	}
}

static void vanish(enum path path, weir_policy policy, uint32_t releasers)
{
	/* All permits are held at first, so that the releases are valid. */
	weir_sem_opts opts = { .capacity = releasers, .policy = policy };
	struct shared s = { .path = path, .gate.parties = releasers + 1 };
	struct rounds r = rounds(5000);
	check_thread thread[2];

	s.waiter = (int32_t)syscall(SYS_gettid);
	for (uint32_t i = 0; i < releasers; i++)
		thread[i] = start(release_one, &s);
	while (again(&r)) {
		enum page_end how = (enum page_end)(r.done % PAGE_ENDS);
		weir_sem *sem = s.sem = page_new();

		CHECK_OK(weir_sem_init_opts(sem, &opts));
		meet(&s.gate);
		if (path == MEETS_TRY)
			while (weir_sem_try_acquire(sem, releasers))
				;
		else
			CHECK_OK(weir_sem_acquire(sem, releasers, NULL));
		CHECK_OK(weir_sem_destroy(sem));
		page_take_away(sem, how);
		meet(&s.gate);
		page_done(sem, how);
	}
	s.stop = true;
	meet(&s.gate);
	for (uint32_t i = 0; i < releasers; i++)
		finish(thread[i]);
}

TEST(c22_release_to_a_sleeper)
{
	vanish(TO_SLEEPER, WEIR_FIFO, 1);
	vanish(TO_SLEEPER, WEIR_BARGING, 1);
}

TEST(c22_release_to_a_just_queued_waiter)
{
	vanish(TO_QUEUED, WEIR_FIFO, 1);
	vanish(TO_QUEUED, WEIR_BARGING, 1);
}

TEST(c22_release_meets_acquire)
{
	vanish(MEETS_ACQUIRE, WEIR_FIFO, 1);
	vanish(MEETS_ACQUIRE, WEIR_BARGING, 1);
}

TEST(c22_release_without_waiters)
{
	vanish(MEETS_TRY, WEIR_FIFO, 1);
	vanish(MEETS_TRY, WEIR_BARGING, 1);
}

TEST(c22_two_releasers)
{
	vanish(TO_QUEUED, WEIR_FIFO, 2);
	vanish(MEETS_ACQUIRE, WEIR_BARGING, 2);
}

/*
 * A third thread keeps the queue locked most of the time, so that releases find
 * LOCKED and leave their permits to the lock holder.  The thread requests 2
 * permits, which are never free, with a very short deadline.  It must be out of
 * the semaphore before the page is taken away; the releaser need not be.
 */
static void *be_busy(void *arg)
{
	struct shared *s = arg;

	for (;;) {
		meet(&s->gate);
		if (s->stop)
			return NULL;
		while (!__atomic_load_n(&s->quiet, __ATOMIC_ACQUIRE))
			CHECK_ERR(weir_sem_acquire_for(s->sem, 2, 100),
				  WEIR_ETIMEDOUT);
		__atomic_store_n(&s->busy_out, 1, __ATOMIC_RELEASE);
		meet(&s->gate);
	}
}

static void vanish_while_busy(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 2, .policy = policy };
	struct shared s = { .path = MEETS_ACQUIRE, .gate.parties = 3 };
	struct rounds r = rounds(3000);
	check_thread busy = start(be_busy, &s);
	check_thread releaser = start(release_one, &s);

	while (again(&r)) {
		enum page_end how = (enum page_end)(r.done % PAGE_ENDS);
		weir_sem *sem = s.sem = page_new();

		s.quiet = s.busy_out = 0;
		CHECK_OK(weir_sem_init_opts(sem, &opts));
		meet(&s.gate);
		CHECK_OK(weir_sem_acquire(sem, 1, NULL));
		__atomic_store_n(&s.quiet, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&s.busy_out, __ATOMIC_ACQUIRE))
			sched_yield();
		CHECK_OK(weir_sem_destroy(sem));
		page_take_away(sem, how);
		meet(&s.gate);
		page_done(sem, how);
	}
	s.stop = true;
	meet(&s.gate);
	finish(busy);
	finish(releaser);
}

TEST(c22_release_while_the_queue_is_busy)
{
	vanish_while_busy(WEIR_FIFO);
	vanish_while_busy(WEIR_BARGING);
}
