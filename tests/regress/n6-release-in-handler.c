/* SPDX-License-Identifier: MIT */
/*
 * N6: a release in a signal handler deadlocks when the signal interrupted an
 * acquire or a release of the same semaphore.
 *
 * Threads: one thread and its signal handler.
 *
 *   1. thread: acquire, release or a timeout locks the queue.
 *   2. handler, on the same thread: release waits for the queue's lock, whose
 *      holder cannot run before the handler returns.
 *
 * In weir (C25) a release never blocks and is async-signal-safe, also in this
 * case.  The permit is granted, and the counts are exact afterwards.
 *
 * The handler runs in three situations: while the thread is parked; at
 * arbitrary points, with many signals; and, by ptrace, after exactly k
 * instructions, for every k.  ThreadSanitizer defers signals until the next
 * call into libc, so under it the second test proves less, and a sanitized
 * program is not single-stepped.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "race.h"
#include "waiter.h"

static weir_sem *subject;
static int64_t given_by_handler;	/* atomic */

static void release_here(int signo)
{
	int saved = errno;

	(void)signo;
	errno = 12345;
	weir_sem_release(subject, 1);
	/* A handler must preserve errno, so a release must preserve it. */
	if (errno != 12345)
		_exit(3);
	errno = saved;
	__atomic_add_fetch(&given_by_handler, 1, __ATOMIC_RELEASE);
}

static int64_t given(void)
{
	return __atomic_load_n(&given_by_handler, __ATOMIC_ACQUIRE);
}

static void handle(weir_sem *sem, bool really)
{
	struct sigaction action;

	subject = sem;
	given_by_handler = 0;
	memset(&action, 0, sizeof(action));
	action.sa_handler = release_here;
	CHECK_EQ(really ? real_sigaction(SIGUSR2, &action, NULL) :
			  sigaction(SIGUSR2, &action, NULL), 0);
}

/* C25: the handler of a parked waiter releases what the waiter waits for. */
static void wake_itself(weir_policy policy)
{
	weir_sem_opts opts = { .capacity = 3, .policy = policy };
	weir_sem sem;
	struct waiter w = { .sem = &sem, .n = 3 };
	struct waiter behind = { .sem = &sem, .n = 1 };

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	/*
	 * A parked thread is not inside a sanitizer's runtime, so the signal
	 * need not be deferred.
	 */
	handle(&sem, true);
	queue_up(&w);
	for (int i = 1; i <= 3; i++) {
		AWAIT(asleep(w.tid));
		CHECK_EQ(pthread_kill(w.thread.id, SIGUSR2), 0);
		AWAIT(given() == i);
	}
	CHECK_OK(result_of(&w));
	queue_up(&behind);
	weir_sem_release(&sem, 1);
	CHECK_OK(result_of(&behind));
	CHECK_EQ(stat_of(&sem).held, 3);
	CHECK_IDENTITY(&sem);
}

TEST(c25_asleep_in_acquire)
{
	wake_itself(WEIR_FIFO);
	wake_itself(WEIR_BARGING);
}

struct storm {
	weir_sem sem;
	uint32_t stop;		/* atomic */
	int64_t taken, given;	/* counted by the interrupted thread */
};

static bool stopped(struct storm *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE);
}

/* Every entry into the semaphore, with signals arriving at any time. */
static void *be_interrupted(void *arg)
{
	struct storm *s = arg;
	uint64_t random = seed_of(1);

	while (!stopped(s)) {
		int64_t got = 0;

		switch (random_below(&random, 6)) {
		case 0:
			got = !weir_sem_acquire_for(&s->sem, 1, 2000);
			break;
		case 1:
			got = 2 * !weir_sem_acquire_until(&s->sem, 2, 1);
			break;
		case 2:
			got = !weir_sem_try_acquire(&s->sem, 1);
			break;
		case 3:
			CHECK_OK(weir_sem_acquire_upto(&s->sem, 0, 5, NULL,
						       &got));
			break;
		case 4:
			CHECK(waiters_of(&s->sem) <= 2);
			break;
		default:
			weir_sem_release(&s->sem, 1);
			s->given++;
			CHECK_OK(weir_sem_acquire(&s->sem, 1, NULL));
			got = 1;
		}
		s->taken += got;
	}
	return NULL;
}

/* Keep the queue busy, so that the slow paths are taken. */
static void *contend(void *arg)
{
	struct storm *s = arg;

	while (!stopped(s))
		if (!weir_sem_acquire_for(&s->sem, 2, 5000))
			weir_sem_release(&s->sem, 2);
	return NULL;
}

static void storm(weir_policy policy)
{
	weir_sem_opts opts = { .permits = 2, .policy = policy,
			       .flags = WEIR_SEM_UNBOUNDED };
	struct storm s = { .stop = 0 };
	check_thread victim, rival;
	struct rounds r = rounds(20000);

	CHECK_OK(weir_sem_init_opts(&s.sem, &opts));
	handle(&s.sem, false);
	victim = start(be_interrupted, &s);
	rival = start(contend, &s);
	while (again(&r)) {
		CHECK_EQ(pthread_kill(victim.id, SIGUSR2), 0);
		AWAIT(given() == r.done);
	}
	__atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
	finish(victim);
	finish(rival);
	CHECK_EQ(weir_sem_available(&s.sem),
		 2 + given() + s.given - s.taken);
	CHECK_EQ(waiters_of(&s.sem), 0);
	CHECK_EQ(stat_of(&s.sem).granted, 0);
}

TEST(c25_a_storm_of_signals)
{
	storm(WEIR_FIFO);
	storm(WEIR_BARGING);
}

#if !UNDER_TSAN && !UNDER_ASAN
enum { NOT_ALLOWED = 77, STEPS_MAX = 3000 };

/* The work of the child, which is single-stepped; its handler releases one. */
struct stepped {
	weir_policy policy;
	int64_t permits;	/* free at first */
	int64_t for_other;	/* another thread waits for these; 0: none */
	int64_t acquire;	/* then: acquire so many, briefly, ... */
	int64_t release;	/* ... or release so many */
};

static int child(const struct stepped *p)
{
	weir_sem_opts opts = { .permits = p->permits, .policy = p->policy,
			       .flags = WEIR_SEM_UNBOUNDED };
	int64_t free = p->permits + p->release;
	weir_sem sem;
	struct waiter other = { .sem = &sem, .n = p->for_other };

	alarm(60);	/* alarm() is not inherited through fork */
	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	handle(&sem, false);
	if (p->for_other)
		queue_up(&other);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		return NOT_ALLOWED;
	raise(SIGSTOP);
	if (p->acquire) {
		weir_err err = weir_sem_acquire_for(&sem, p->acquire, 300000);

		if (!err)
			free -= p->acquire;
		else if (err != WEIR_ETIMEDOUT)
			return 2;
	} else {
		weir_sem_release(&sem, p->release);
	}
	/* Not interrupted so far: the single-stepping has reached the end. */
	if (given() == 0)
		raise(SIGUSR2);
	if (p->for_other) {
		if (result_of(&other))
			return 4;
		free -= p->for_other;
	}
	if (waiters_of(&sem) || stat_of(&sem).granted)
		return 5;
	/*
	 * If the signal arrived just before that raise, the handler ran twice.
	 */
	return weir_sem_available(&sem) == free + given() ? 0 : 6;
}

/* Wait until the child stops.  Returns false if it has exited instead. */
static bool stops(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	return WIFSTOPPED(*status);
}

/* Let the child run to its end; returns its exit status. */
static int run_on(pid_t pid, intptr_t signo)
{
	int status;

	do {
		CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, (void *)signo), 0);
		signo = stops(pid, &status) ? WSTOPSIG(status) : 0;
	} while (signo);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * Interrupt the child after k instructions.  Returns false if the child
 * finished earlier.
 */
static bool interrupt_after(const struct stepped *p, int k, int *result)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid)
		_exit(child(p));
	if (!stops(pid, &status)) {
		*result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		return false;
	}
	for (int i = 0; i < k; i++) {
		CHECK_EQ(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		CHECK(stops(pid, &status));
		/* The child reached its end and raised the signal itself. */
		if (WSTOPSIG(status) == SIGUSR2) {
			*result = run_on(pid, SIGUSR2);
			return false;
		}
	}
	*result = run_on(pid, SIGUSR2);
	return true;
}

/*
 * Interrupt at one instruction in five, chosen by the seed; with
 * WEIR_TEST_SCALE at every one.
 *
 * STEPS_MAX: without single-instruction atomics, a pair of load-exclusive and
 * store-exclusive never succeeds while it is single-stepped, so the child would
 * never reach its end.
 */
static void step_through(struct stepped p)
{
	uint64_t random = seed_of(9);
	int stride = check_scale() > 1 ? 1 : 5;
	int k = (int)random_below(&random, stride), result = 0;
	cpu_set_t before, one;

	/*
	 * On one CPU no thread spins, so there are fewer instructions to step.
	 */
	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	while (k < STEPS_MAX && interrupt_after(&p, k, &result)) {
		if (result)
			check_fail(__FILE__, __LINE__,
				   "after %d instructions: exit status %d", k,
				   result);
		k += stride;
	}
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
	if (result == NOT_ALLOWED) {
		printf("note: ptrace is not permitted, nothing is stepped\n");
		return;
	}
	CHECK_EQ(result, 0);
	CHECK(k > 20);
	printf("interrupted within %d instructions\n", k);
}

TEST(c25_at_every_instruction_of_release)
{
	step_through((struct stepped){ .release = 1 });
	step_through((struct stepped){ .release = 1, .for_other = 2 });
	step_through((struct stepped){ .release = 1, .for_other = 2,
				       .policy = WEIR_BARGING });
}

TEST(c25_at_every_instruction_of_acquire)
{
	step_through((struct stepped){ .permits = 1, .acquire = 1 });
	step_through((struct stepped){ .acquire = 1 });
	step_through((struct stepped){ .acquire = 1,
				       .policy = WEIR_BARGING });
}
#endif
