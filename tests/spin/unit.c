/* SPDX-License-Identifier: MIT */
/* weir_spin on a hosted machine: one thread, several, and signal handlers. */
#include "check.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weir/spin.h"

#define THREADS 4

/* One thread. */

/* C23: static initialisers, and zeroed memory before and after init. */
TEST(c23_static_and_zeroed)
{
	static weir_spin bounded = WEIR_SPIN_INIT(3);
	static weir_spin unbounded = WEIR_SPIN_INIT_UNBOUNDED(2);
	static weir_spin zeroed;

	CHECK_EQ(weir_spin_available(&bounded), 3);
	CHECK_ERR(weir_spin_release(&bounded, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&unbounded), 2);
	CHECK_OK(weir_spin_release(&unbounded, 1));
	CHECK_EQ(weir_spin_available(&unbounded), 3);

	CHECK_EQ(weir_spin_available(&zeroed), 0);
	CHECK_ERR(weir_spin_try_acquire(&zeroed, 1), WEIR_EAGAIN);
	CHECK_ERR(weir_spin_acquire(&zeroed, 1), WEIR_ETOOBIG);
	CHECK_ERR(weir_spin_release(&zeroed, 1), WEIR_EOVERFLOW);
	CHECK_OK(weir_spin_init(&zeroed, 1));
	CHECK_OK(weir_spin_acquire(&zeroed, 1));
}

TEST(c6_acquire_takes_and_release_returns)
{
	weir_spin spin;

	/* C6: a release makes the permits free at once. */
	CHECK_OK(weir_spin_init(&spin, 4));
	CHECK_OK(weir_spin_acquire(&spin, 1));
	CHECK_OK(weir_spin_try_acquire(&spin, 2));
	CHECK_EQ(weir_spin_available(&spin), 1);
	CHECK_OK(weir_spin_release(&spin, 3));
	CHECK_EQ(weir_spin_available(&spin), 4);
	CHECK_OK(weir_spin_acquire(&spin, 4));
	CHECK_EQ(weir_spin_available(&spin), 0);
}

/* C5, C10: a try takes all, or nothing and returns WEIR_EAGAIN. */
TEST(c5_c10_try_takes_all_or_nothing)
{
	weir_spin spin = WEIR_SPIN_INIT(3);

	CHECK_OK(weir_spin_try_acquire(&spin, 2));
	CHECK_ERR(weir_spin_try_acquire(&spin, 2), WEIR_EAGAIN);
	CHECK_EQ(weir_spin_available(&spin), 1);
	CHECK_OK(weir_spin_try_acquire(&spin, 1));
	CHECK_ERR(weir_spin_try_acquire(&spin, 1), WEIR_EAGAIN);
	/* More than the capacity is no special case for a try. */
	CHECK_ERR(weir_spin_try_acquire(&spin, 4), WEIR_EAGAIN);
	CHECK_ERR(weir_spin_try_acquire(&spin, LONG_MAX), WEIR_EAGAIN);
	CHECK_EQ(weir_spin_available(&spin), 0);
}

/* C2: an acquire or release of 0 succeeds at once. */
TEST(c2_zero_succeeds_at_once)
{
	weir_spin spin = WEIR_SPIN_INIT(1);

	CHECK_OK(weir_spin_acquire(&spin, 1));
	CHECK_OK(weir_spin_acquire(&spin, 0));
	CHECK_OK(weir_spin_try_acquire(&spin, 0));
	CHECK_OK(weir_spin_release(&spin, 0));
	CHECK_EQ(weir_spin_available(&spin), 0);
	CHECK_OK(weir_spin_release(&spin, 1));
	CHECK_OK(weir_spin_release(&spin, 0));
	CHECK_EQ(weir_spin_available(&spin), 1);
}

/* C1: a negative count is refused and changes nothing. */
TEST(c1_negative_counts_are_refused)
{
	static const long bad[] = { -1, -2, LONG_MIN + 1, LONG_MIN };
	weir_spin spin = WEIR_SPIN_INIT(2);

	CHECK_OK(weir_spin_acquire(&spin, 1));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_ERR(weir_spin_acquire(&spin, bad[i]), WEIR_EINVAL);
		CHECK_ERR(weir_spin_try_acquire(&spin, bad[i]), WEIR_EINVAL);
		CHECK_ERR(weir_spin_release(&spin, bad[i]), WEIR_EINVAL);
		CHECK_ERR(weir_spin_init(&spin, bad[i]), WEIR_EINVAL);
		CHECK_ERR(weir_spin_init_unbounded(&spin, bad[i]), WEIR_EINVAL);
		CHECK_EQ(weir_spin_available(&spin), 1);
	}
	CHECK_OK(weir_spin_release(&spin, 1));
	CHECK_ERR(weir_spin_release(&spin, 1), WEIR_EOVERFLOW);
}

/* C8: a release of more than is held fails. */
TEST(c8_over_release_is_refused)
{
	weir_spin spin = WEIR_SPIN_INIT(5);

	CHECK_ERR(weir_spin_release(&spin, 1), WEIR_EOVERFLOW);
	CHECK_OK(weir_spin_acquire(&spin, 3));
	CHECK_ERR(weir_spin_release(&spin, 4), WEIR_EOVERFLOW);
	CHECK_ERR(weir_spin_release(&spin, LONG_MAX), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&spin), 2);
	CHECK_OK(weir_spin_release(&spin, 3));
	CHECK_EQ(weir_spin_available(&spin), 5);
}

/* C8: at the maximum, where a sum would overflow (BZ#18434). */
TEST(c8_release_at_the_maximum)
{
	weir_spin spin;

	CHECK_EQ(WEIR_SPIN_MAX, LONG_MAX);
	CHECK_OK(weir_spin_init_unbounded(&spin, WEIR_SPIN_MAX));
	CHECK_ERR(weir_spin_release(&spin, 1), WEIR_EOVERFLOW);
	CHECK_ERR(weir_spin_release(&spin, WEIR_SPIN_MAX), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&spin), WEIR_SPIN_MAX);
	CHECK_OK(weir_spin_acquire(&spin, 1));
	CHECK_ERR(weir_spin_release(&spin, 2), WEIR_EOVERFLOW);
	CHECK_OK(weir_spin_release(&spin, 1));
	CHECK_EQ(weir_spin_available(&spin), WEIR_SPIN_MAX);
	CHECK_OK(weir_spin_acquire(&spin, WEIR_SPIN_MAX));
	CHECK_EQ(weir_spin_available(&spin), 0);
	CHECK_OK(weir_spin_release(&spin, WEIR_SPIN_MAX));

	CHECK_OK(weir_spin_init(&spin, WEIR_SPIN_MAX));
	CHECK_ERR(weir_spin_release(&spin, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_spin_available(&spin), WEIR_SPIN_MAX);
}

/* C9: an unbounded semaphore accepts permits that were not acquired. */
TEST(c9_unbounded_is_a_signal)
{
	weir_spin spin;

	CHECK_OK(weir_spin_init_unbounded(&spin, 0));
	CHECK_ERR(weir_spin_try_acquire(&spin, 1), WEIR_EAGAIN);
	CHECK_OK(weir_spin_release(&spin, 7));
	CHECK_OK(weir_spin_acquire(&spin, 3));
	CHECK_EQ(weir_spin_available(&spin), 4);
}

/* C11: a request above the capacity fails at once: there is no ctx. */
TEST(c11_impossible_is_too_big)
{
	weir_spin spin = WEIR_SPIN_INIT(2);

	CHECK_ERR(weir_spin_acquire(&spin, 3), WEIR_ETOOBIG);
	CHECK_ERR(weir_spin_acquire(&spin, LONG_MAX), WEIR_ETOOBIG);
	CHECK_OK(weir_spin_acquire(&spin, 2));
	CHECK_ERR(weir_spin_acquire(&spin, 3), WEIR_ETOOBIG);
	CHECK_EQ(weir_spin_available(&spin), 0);
}

/* C16: a failed call leaves every byte as it was. */
TEST(c16_failures_change_nothing)
{
	weir_spin spin = WEIR_SPIN_INIT(3);
	weir_spin before;

	CHECK_OK(weir_spin_acquire(&spin, 2));
	memcpy(&before, &spin, sizeof(spin));
	CHECK_ERR(weir_spin_try_acquire(&spin, 2), WEIR_EAGAIN);
	CHECK_ERR(weir_spin_try_acquire(&spin, -1), WEIR_EINVAL);
	CHECK_ERR(weir_spin_acquire(&spin, 4), WEIR_ETOOBIG);
	CHECK_ERR(weir_spin_release(&spin, 3), WEIR_EOVERFLOW);
	CHECK_ERR(weir_spin_release(&spin, -1), WEIR_EINVAL);
	CHECK_ERR(weir_spin_init(&spin, -1), WEIR_EINVAL);
	CHECK(!memcmp(&before, &spin, sizeof(spin)));
}

static void check_refused(weir_spin *spin)
{
	CHECK_ERR(weir_spin_init(spin, 1), WEIR_EINVAL);
	CHECK_ERR(weir_spin_init_unbounded(spin, 1), WEIR_EINVAL);
	CHECK_ERR(weir_spin_acquire(spin, 1), WEIR_EINVAL);
	CHECK_ERR(weir_spin_try_acquire(spin, 1), WEIR_EINVAL);
	CHECK_ERR(weir_spin_release(spin, 1), WEIR_EINVAL);
	CHECK_EQ(weir_spin_available(spin), WEIR_EINVAL);
}

/* C16: bad pointers are an error, not a fault. */
TEST(c16_null_and_misaligned_are_refused)
{
	weir_spin two[2] = { WEIR_SPIN_INIT(1), WEIR_SPIN_INIT(1) };

	check_refused(NULL);
	for (size_t i = 1; i < sizeof(long); i++) {
		/* volatile: keep the compiler from optimising the check. */
		char *volatile inside = (char *)two + i;

		check_refused((weir_spin *)(void *)inside);
	}
	CHECK_EQ(weir_spin_available(&two[0]), 1);
	CHECK_EQ(weir_spin_available(&two[1]), 1);
}

/* C26: the size of a weir_spin. */
TEST(c26_two_longs)
{
	CHECK_EQ(sizeof(weir_spin), 2 * sizeof(long));
	CHECK(sizeof(weir_spin) <= 64);
}

/* Several threads. */

static pthread_barrier_t gate;
static struct {
	void *(*fn)(void *);
	void *arg;
} job;

static void *after_gate(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&gate);
	return job.fn(job.arg);
}

/*
 * The barrier makes the threads overlap: otherwise one could end before the
 * next has started.
 */
static void together(void *(*fn)(void *), void *arg)
{
	check_thread threads[THREADS];

	job.fn = fn;
	job.arg = arg;
	CHECK(!pthread_barrier_init(&gate, NULL, THREADS));
	for (int i = 0; i < THREADS; i++)
		threads[i] = start(after_gate, NULL);
	for (int i = 0; i < THREADS; i++)
		finish(threads[i]);
	CHECK(!pthread_barrier_destroy(&gate));
}

static weir_spin one = WEIR_SPIN_INIT(1);
static long plain;	/* protected by `one` */

static void *add_under_permit(void *arg)
{
	long rounds = *(long *)arg;

	for (long i = 0; i < rounds; i++) {
		CHECK_OK(weir_spin_acquire(&one, 1));
		plain++;
		CHECK_OK(weir_spin_release(&one, 1));
	}
	return NULL;
}

/* C24: the next holder of a permit sees the writes of the previous one. */
TEST(c24_mutual_exclusion_of_plain_data)
{
	long rounds = 20000L * check_scale();

	plain = 0;
	together(add_under_permit, &rounds);
	CHECK_EQ(plain, THREADS * rounds);
	CHECK_EQ(weir_spin_available(&one), 1);
}

#define WEIGHTS 5
static weir_spin weighted = WEIR_SPIN_INIT(WEIGHTS);
static long in_use;
static uint64_t next_stream;

static void *hold_weights(void *arg)
{
	uint64_t random = seed_of(__atomic_fetch_add(&next_stream, 1,
						     __ATOMIC_RELAXED));
	long rounds = *(long *)arg;

	for (long i = 0; i < rounds; i++) {
		long n = (long)random_below(&random, WEIGHTS + 1);
		long used;

		if (random_below(&random, 2))
			CHECK_OK(weir_spin_acquire(&weighted, n));
		else if (weir_spin_try_acquire(&weighted, n) != WEIR_OK)
			continue;
		used = __atomic_add_fetch(&in_use, n, __ATOMIC_RELAXED);
		CHECK(used <= WEIGHTS);
		CHECK(weir_spin_available(&weighted) <= WEIGHTS - n);
		__atomic_sub_fetch(&in_use, n, __ATOMIC_RELAXED);
		CHECK_OK(weir_spin_release(&weighted, n));
	}
	return NULL;
}

/* C10, C6: at every moment at most 5 permits are held; none is lost. */
TEST(c10_weights_are_conserved)
{
	long rounds = 20000L * check_scale();

	in_use = 0;
	together(hold_weights, &rounds);
	CHECK_EQ(in_use, 0);
	CHECK_EQ(weir_spin_available(&weighted), WEIGHTS);
	CHECK_ERR(weir_spin_release(&weighted, 1), WEIR_EOVERFLOW);
}

static weir_spin ample = WEIR_SPIN_INIT(THREADS);

static void *try_must_succeed(void *arg)
{
	long rounds = *(long *)arg;

	for (long i = 0; i < rounds; i++) {
		CHECK_OK(weir_spin_try_acquire(&ample, 1));
		CHECK_OK(weir_spin_release(&ample, 1));
	}
	return NULL;
}

/*
 * C5: a try does not fail spuriously.  There is one permit per thread and each
 * thread takes at most one, so one is always free, also if other threads change
 * the word between the load and the compare-and-swap.
 */
TEST(c5_try_never_fails_spuriously)
{
	long rounds = 20000L * check_scale();

	together(try_must_succeed, &rounds);
	CHECK_EQ(weir_spin_available(&ample), THREADS);
}

#define SMALL 2
static weir_spin small = WEIR_SPIN_INIT(SMALL);
static long held;	/* successful acquires minus releases */

static void *acquire_and_release_at_random(void *arg)
{
	uint64_t random = seed_of(__atomic_fetch_add(&next_stream, 1,
						     __ATOMIC_RELAXED));
	long rounds = *(long *)arg;
	long taken = 0;

	for (long i = 0; i < rounds; i++) {
		long now;

		if (random_below(&random, 2)) {
			if (!weir_spin_try_acquire(&small, 1))
				taken++;
		} else if (!weir_spin_release(&small, 1)) {
			taken--;
		}
		now = weir_spin_available(&small);
		CHECK(now >= 0 && now <= SMALL);
	}
	__atomic_fetch_add(&held, taken, __ATOMIC_RELAXED);
	return NULL;
}

/*
 * C8: the bound is exact also if several threads release the last permit at
 * once: the check and the update are one atomic step.
 */
TEST(c8_over_release_is_exact_under_contention)
{
	long rounds = 50000L * check_scale();

	held = 0;
	together(acquire_and_release_at_random, &rounds);
	CHECK_EQ(weir_spin_available(&small), SMALL - held);
}

/* The main thread passes a semaphore in a page to the releasing thread. */
static weir_spin handed = WEIR_SPIN_INIT_UNBOUNDED(0);
static weir_spin *in_page;

static void *release_in_page(void *arg)
{
	long rounds = *(long *)arg;

	for (long i = 0; i < rounds; i++) {
		CHECK_OK(weir_spin_acquire(&handed, 1));
		CHECK_OK(weir_spin_release(in_page, 1));
	}
	return NULL;
}

/*
 * C22: the acquiring thread may reuse or unmap the semaphore's memory while the
 * release of its permit has not returned yet (BZ#12674).  A release that
 * accessed the memory again would fault after the unmap, or race with the
 * memset under ThreadSanitizer.  This test depends on timing; cortex-m3/test.c
 * tries every instruction.
 */
TEST(c22_unmap_when_acquire_returns)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	long rounds = 300L * check_scale();
	check_thread releaser = start(release_in_page, &rounds);

	for (long i = 0; i < rounds; i++) {
		void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(page != MAP_FAILED);
		in_page = page;
		CHECK_OK(weir_spin_init_unbounded(in_page, 0));
		CHECK_OK(weir_spin_release(&handed, 1));
		CHECK_OK(weir_spin_acquire(page, 1));
		memset(page, 0xff, sizeof(weir_spin));
		CHECK(!munmap(page, size));
	}
	finish(releaser);
}

/* Signal handlers, in place of interrupt handlers. */

static weir_spin arrived = WEIR_SPIN_INIT_UNBOUNDED(0);
static long arrivals;	/* written by the handler, before its release */

static void on_arrival(int number)
{
	(void)number;
	__atomic_fetch_add(&arrivals, 1, __ATOMIC_RELAXED);
	if (weir_spin_release(&arrived, 1))
		abort();
}

#define SHARED 3
static weir_spin shared = WEIR_SPIN_INIT(SHARED);
static long handler_took, handler_refused;

static void on_borrow(int number)
{
	(void)number;
	if (weir_spin_try_acquire(&shared, 2)) {
		__atomic_fetch_add(&handler_refused, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&handler_took, 1, __ATOMIC_RELAXED);
	if (weir_spin_release(&shared, 2))
		abort();
}

static pthread_t victim;
static bool stop;

static void *send_signals(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		if (pthread_kill(victim, SIGUSR1))
			abort();
		sched_yield();
	}
	return NULL;
}

static void mask_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!pthread_sigmask(how, &set, NULL));
}

static check_thread signals_begin(void (*handler)(int))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	mask_signals(SIG_UNBLOCK);
	victim = pthread_self();
	stop = false;
	return start(send_signals, NULL);
}

/* The last signal may still be pending; it stays blocked. */
static void signals_end(check_thread sender)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	finish(sender);
	mask_signals(SIG_BLOCK);
}

/* C25: a handler releases the permit that the interrupted acquire needs. */
TEST(c25_handler_releases_to_the_acquire_it_interrupted)
{
	long rounds = 300L * check_scale();
	check_thread sender = signals_begin(on_arrival);

	for (long i = 1; i <= rounds; i++) {
		CHECK_OK(weir_spin_acquire(&arrived, 1));
		CHECK(__atomic_load_n(&arrivals, __ATOMIC_RELAXED) >= i);
	}
	signals_end(sender);
	CHECK_EQ(weir_spin_available(&arrived), arrivals - rounds);
}

/* C25: a handler tries and releases during an acquire or a release. */
TEST(c25_handler_interrupts_acquire_and_release)
{
	long want = 200L * check_scale();
	check_thread sender = signals_begin(on_borrow);

	while (__atomic_load_n(&handler_took, __ATOMIC_RELAXED) < want ||
	       __atomic_load_n(&handler_refused, __ATOMIC_RELAXED) < want) {
		CHECK_OK(weir_spin_acquire(&shared, 2));
		CHECK_OK(weir_spin_release(&shared, 2));
	}
	signals_end(sender);
	CHECK_EQ(weir_spin_available(&shared), SHARED);
	CHECK_ERR(weir_spin_release(&shared, 1), WEIR_EOVERFLOW);
}
