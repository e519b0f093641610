/* SPDX-License-Identifier: MIT */
/*
 * Correct programs that are hard on an implementation of <semaphore.h>: very many
 * semaphores, copies, signals, forks, cancellations and races of sem_open.  As
 * sem.c, it runs with libweir-posix preloaded, and without it.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int value_of(sem_t *s)
{
	int value = -1;

	CHECK_EQ(sem_getvalue(s, &value), 0);
	return value;
}

static struct timespec in_us(clockid_t clock, long us)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_nsec += us * 1000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/*
 * Rounds of a race: `most`, or on a slow machine as many as begin within five
 * seconds, at least ten.
 */
struct rounds {
	int most, done;
	int64_t until_ns;
};

static struct rounds rounds(int most)
{
	return (struct rounds){ .most = most, .until_ns = weir_deadline_after(
						      INT64_C(5000000000)) };
}

static bool again(struct rounds *r)
{
	return r->done++ < (weir_now_ns() < r->until_ns ? r->most : 10);
}

struct job {
	int number;
	sem_t done;
};

static struct job made(int number)
{
	struct job job = { .number = number };

	CHECK_EQ(sem_init(&job.done, 0, (unsigned)number), 0);
	return job;
}

/* Semaphores that move in memory before their first use. */
TEST(copied_before_use)
{
	struct job *jobs = NULL, *twice;
	sem_t original, copy, second;

	for (int i = 0; i < 3000; i++) {
		jobs = realloc(jobs, (size_t)(i + 1) * sizeof(*jobs));
		CHECK(jobs);
		jobs[i] = made(i);
	}
	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(value_of(&jobs[i].done), i);
		CHECK_EQ(sem_post(&jobs[i].done), 0);
	}
	for (int i = 0; i < 3000; i++)
		CHECK_EQ(value_of(&jobs[i].done), i + 1);
	free(jobs);
	/* A copy of a copy; the original does not exist any more. */
	CHECK_EQ(sem_init(&original, 0, 5), 0);
	copy = original;
	CHECK_EQ(sem_destroy(&original), 0);
	memset(&original, 0x55, sizeof(original));
	second = copy;
	CHECK_EQ(sem_wait(&second), 0);
	CHECK_EQ(value_of(&second), 4);
	CHECK_EQ(value_of(&copy), 5);
	/* A copy onto a semaphore that has been used. */
	CHECK_EQ(sem_init(&original, 0, 7), 0);
	second = original;
	CHECK_EQ(value_of(&second), 7);
	twice = calloc(2, sizeof(*twice));
	CHECK(twice);
	twice[1] = twice[0];
	CHECK_EQ(sem_post(&twice[1].done), 0);
	CHECK_EQ(value_of(&twice[1].done), 1);
	CHECK_EQ(value_of(&twice[0].done), 0);
	free(twice);
}

static int asleep;

static void *wait_once(void *s)
{
	__atomic_store_n(&asleep, gettid(), __ATOMIC_RELEASE);
	CHECK_EQ(sem_wait(s), 0);
	return NULL;
}

/*
 * POSIX: a semaphore may be destroyed if no thread is blocked on it.  The post has
 * unblocked the waiter, which may not have returned yet.
 */
TEST(destroyed_after_the_post)
{
	struct rounds r = rounds(500);

	while (again(&r)) {
		check_thread thread;
		sem_t s;

		asleep = 0;
		CHECK_EQ(sem_init(&s, 0, 0), 0);
		thread = start(wait_once, &s);
		AWAIT(__atomic_load_n(&asleep, __ATOMIC_ACQUIRE));
		AWAIT(check_asleep(asleep));
		CHECK_EQ(sem_post(&s), 0);
		CHECK_EQ(sem_destroy(&s), 0);
		finish(thread);
	}
}

static sem_t rung;
static volatile long posts;

static void ring(int number)
{
	int before = errno;

	(void)number;
	if (sem_post(&rung) == 0)
		posts = posts + 1;
	errno = before;
}

/* The handler posts what the interrupted thread waits for, at any moment. */
static void waits_meet_signals(int flags)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 }, limit;
	struct sigaction act = { .sa_flags = flags }, before;
	long taken = 0;

	act.sa_handler = ring;
	posts = 0;
	CHECK_EQ(sem_init(&rung, 0, 0), 0);
	CHECK_EQ(sigaction(SIGALRM, &act, &before), 0);
	/* The time limit of the program uses the same timer. */
	CHECK_EQ(setitimer(ITIMER_REAL, &often, &limit), 0);
	while (taken < 3000) {
		struct timespec at = in_us(CLOCK_REALTIME, 60000000);
		int result = taken % 3 ? sem_wait(&rung) :
					 sem_timedwait(&rung, &at);

		CHECK(!result || errno == EINTR);
		taken += !result;
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	CHECK_EQ(sigaction(SIGALRM, &before, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &limit, NULL), 0);
	CHECK_EQ(taken + value_of(&rung), posts);
	CHECK_EQ(sem_destroy(&rung), 0);
}

TEST(post_in_a_handler_at_any_moment)
{
	waits_meet_signals(0);
	waits_meet_signals(SA_RESTART);
}

static int over;

/* The first waits of a thread. */
static void *wait_ten_times(void *unused)
{
	for (int taken = 0; taken < 10;) {
		int result = sem_wait(&rung);

		CHECK(!result || errno == EINTR);
		taken += !result;
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	return unused;
}

/* Signals from the first instruction of a thread to its last. */
TEST(post_in_a_handler_of_a_new_thread)
{
	struct sigaction act = { 0 }, before;
	struct rounds r = rounds(200);

	act.sa_handler = ring;
	CHECK_EQ(sigaction(SIGUSR1, &act, &before), 0);
	while (again(&r)) {
		check_thread thread;

		posts = 0;
		over = 0;
		CHECK_EQ(sem_init(&rung, 0, 0), 0);
		thread = start(wait_ten_times, NULL);
		while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
			CHECK_EQ(pthread_kill(thread.id, SIGUSR1), 0);
		finish(thread);
		CHECK_EQ(value_of(&rung), posts - 10);
		CHECK_EQ(sem_destroy(&rung), 0);
	}
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
}

static sem_t busy[2];
static int stop;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* Waits of all kinds, with and without success. */
static void *work(void *arg)
{
	for (unsigned i = (unsigned)(uintptr_t)arg; !stopped(); i++) {
		sem_t *s = &busy[i % 2];
		struct timespec at = in_us(CLOCK_REALTIME, i % 50);
		int result = i % 3 ? sem_timedwait(s, &at) : sem_trywait(s);

		if (!result)
			CHECK_EQ(sem_post(s), 0);
	}
	return NULL;
}

/* The child of a fork at any moment uses its copies, and semaphores of its own. */
static int in_child(void)
{
	sem_t own;

	for (int i = 0; i < 2; i++) {
		int value = -1;

		if (sem_post(&busy[i]) || sem_wait(&busy[i]) ||
		    sem_getvalue(&busy[i], &value) || value < 0 || value > 1)
			return 1 + i;
		while (!sem_trywait(&busy[i]))
			continue;
		if (errno != EAGAIN || sem_post(&busy[i]) ||
		    sem_destroy(&busy[i]))
			return 3 + i;
	}
	return sem_init(&own, 0, 1) || sem_wait(&own) || sem_destroy(&own) ?
		       5 : 0;
}

TEST(fork_at_any_moment)
{
	check_thread threads[3];
	struct rounds r = rounds(200);

	stop = 0;
	for (int i = 0; i < 2; i++)
		CHECK_EQ(sem_init(&busy[i], 0, 1), 0);
	for (int i = 0; i < 3; i++)
		threads[i] = start(work, (void *)(uintptr_t)i);
	while (again(&r)) {
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(in_child());
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		finish(threads[i]);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(value_of(&busy[i]), 1);
		CHECK_EQ(sem_destroy(&busy[i]), 0);
	}
}

static char name[64];

/* Returns 1 if this process made the semaphore, 0 if it existed, 2 otherwise. */
static int make_named(int go)
{
	sem_t *s;
	char byte;

	if (read(go, &byte, 1) != 0)
		return 2;
	s = sem_open(name, O_CREAT | O_EXCL, 0600, 3);
	if (s == SEM_FAILED)
		return errno == EEXIST ? 0 : 2;
	return sem_wait(s) || value_of(s) != 2 || sem_close(s) ? 2 : 1;
}

/* Of the processes that create a name at the same time, one succeeds. */
TEST(sem_open_exclusively)
{
	snprintf(name, sizeof(name), "/weir-attack-%d", (int)getpid());
	/* A run that was killed may have left it, and have had the same PID. */
	(void)sem_unlink(name);
	for (int round = 0; round < 30; round++) {
		int made_by = 0, go[2];
		pid_t pids[6];
		sem_t *s;

		CHECK_EQ(pipe(go), 0);
		for (int i = 0; i < 6; i++) {
			pids[i] = fork();
			CHECK(pids[i] >= 0);
			if (!pids[i]) {
				close(go[1]);
				_exit(make_named(go[0]));
			}
		}
		/* The end of the file starts them. */
		close(go[0]);
		close(go[1]);
		for (int i = 0; i < 6; i++) {
			int status;

			CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2);
			made_by += WEXITSTATUS(status);
		}
		CHECK_EQ(made_by, 1);
		s = sem_open(name, 0);
		CHECK(s != SEM_FAILED);
		CHECK_EQ(value_of(s), 2);
		CHECK_EQ(sem_close(s), 0);
		CHECK_EQ(sem_unlink(name), 0);
	}
}

static sem_t shared;
static int running;

/* Only the waits are cancellation points: the thread holds nothing then. */
static void *until_cancelled(void *arg)
{
	__atomic_add_fetch(&running, 1, __ATOMIC_RELEASE);
	for (uintptr_t i = (uintptr_t)arg;; i++) {
		clockid_t clock = i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
		struct timespec at = in_us(clock, (long)(i % 20));
		int result = i % 3 == 0 ? sem_wait(&shared) :
			     i % 2 ? sem_timedwait(&shared, &at) :
			     sem_clockwait(&shared, CLOCK_MONOTONIC, &at);

		if (!result)
			CHECK_EQ(sem_post(&shared), 0);
		/* A sem_clockwait of glibc that succeeds at once is none. */
		pthread_testcancel();
	}
	return NULL;
}

TEST(cancelled_at_any_moment)
{
	struct rounds r = rounds(600);

	CHECK_EQ(sem_init(&shared, 0, 1), 0);
	while (again(&r)) {
		check_thread threads[3];

		running = 0;
		for (int i = 0; i < 3; i++)
			threads[i] = start(until_cancelled,
					   (void *)(uintptr_t)(r.done + i));
		AWAIT(__atomic_load_n(&running, __ATOMIC_ACQUIRE) == 3);
		for (volatile int i = 0; i < r.done % 60 * 100; i++)
			continue;
		for (int i = 0; i < 3; i++)
			CHECK_EQ(pthread_cancel(threads[i].id), 0);
		for (int i = 0; i < 3; i++)
			CHECK(finish(threads[i]) == PTHREAD_CANCELED);
		CHECK_EQ(value_of(&shared), 1);
	}
	CHECK_EQ(sem_destroy(&shared), 0);
}

/*
 * Semaphores that are never destroyed.  table.c has the cost of each.  A slow machine
 * makes as many as it can in five seconds.
 */
TEST(half_a_million)
{
	enum { N = 500000 };
	int64_t until = weir_deadline_after(INT64_C(5000000000));
	sem_t *all = malloc(N * sizeof(*all));
	int n = 0;

	CHECK(all);
	for (; n < N && (n < 10000 || weir_now_ns() < until); n++)
		CHECK_EQ(sem_init(&all[n], 0, (unsigned)n % 3), 0);
	for (int i = 0; i < n; i++) {
		CHECK_EQ(sem_post(&all[i]), 0);
		CHECK_EQ(value_of(&all[i]), i % 3 + 1);
		CHECK_EQ(sem_wait(&all[i]), 0);
	}
	free(all);
}
