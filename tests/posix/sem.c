/* SPDX-License-Identifier: MIT */
/*
 * <semaphore.h> as a program sees it that does not know weir.  The program runs
 * twice: with libweir-posix preloaded, and without it, on the C library.  A
 * correct program must not notice the difference.  tests/posix/preload.c has
 * the promises of the library beyond that.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define CHECK_FAILS(call, why)                                                 \
	do {                                                                   \
		errno = 0;                                                     \
		CHECK_EQ(call, -1);                                            \
		CHECK_EQ(errno, why);                                          \
	} while (0)

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec at;

	clock_gettime(clock, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	return at;
}

static int value_of(sem_t *s)
{
	int value = -1;

	CHECK_EQ(sem_getvalue(s, &value), 0);
	return value;
}

TEST(values_and_errors)
{
	struct timespec past = { 1, 0 }, invalid = { 1, 1000000000 };
	struct timespec negative = { 1, -1 };
	sem_t s;

	CHECK_FAILS(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
	CHECK_EQ(sem_init(&s, 0, 2), 0);
	CHECK_EQ(value_of(&s), 2);
	CHECK_EQ(sem_wait(&s), 0);
	CHECK_EQ(sem_trywait(&s), 0);
	CHECK_FAILS(sem_trywait(&s), EAGAIN);
	CHECK_FAILS(sem_timedwait(&s, &past), ETIMEDOUT);
	CHECK_FAILS(sem_clockwait(&s, CLOCK_MONOTONIC, &past), ETIMEDOUT);
	CHECK_FAILS(sem_timedwait(&s, &invalid), EINVAL);
	CHECK_FAILS(sem_timedwait(&s, &negative), EINVAL);
	CHECK_FAILS(sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &past), EINVAL);
	CHECK_EQ(value_of(&s), 0);
	errno = 4711;
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(errno, 4711);
	/* The deadline has passed, but the semaphore is free. */
	CHECK_EQ(sem_timedwait(&s, &past), 0);
	CHECK_EQ(sem_destroy(&s), 0);
	CHECK_EQ(sem_init(&s, 0, SEM_VALUE_MAX), 0);
	CHECK_EQ(value_of(&s), SEM_VALUE_MAX);
	CHECK_FAILS(sem_post(&s), EOVERFLOW);
	CHECK_EQ(value_of(&s), SEM_VALUE_MAX);
	CHECK_EQ(sem_destroy(&s), 0);
}

TEST(timed_waits)
{
	struct timespec until;
	sem_t s;
	int64_t start;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	for (int i = 0; i < 3; i++) {
		start = weir_now_ns();
		if (i == 0) {
			until = in_ms(CLOCK_REALTIME, 20);
			CHECK_FAILS(sem_timedwait(&s, &until), ETIMEDOUT);
		} else {
			clockid_t clock = i == 1 ? CLOCK_REALTIME :
						   CLOCK_MONOTONIC;

			until = in_ms(clock, 20);
			CHECK_FAILS(sem_clockwait(&s, clock, &until),
				    ETIMEDOUT);
		}
		CHECK(weir_now_ns() - start >= 19000000);
	}
	until.tv_sec = (time_t)1 << 40;
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(sem_timedwait(&s, &until), 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

struct waiter {
	sem_t *s;
	int kind;		/* 0 wait, 1 timedwait, 2 clockwait */
	int tid;
	int result, why;
	int cleaned;
	int disabled;
};

static int do_wait(sem_t *s, int kind)
{
	struct timespec until;

	if (kind == 0)
		return sem_wait(s);
	until = in_ms(kind == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 60000);
	return kind == 1 ? sem_timedwait(s, &until) :
			   sem_clockwait(s, CLOCK_MONOTONIC, &until);
}

static void cleaned(void *arg)
{
	struct waiter *w = arg;

	w->cleaned++;
}

static void *wait_on(void *arg)
{
	struct waiter *w = arg;
	int before;

	pthread_cleanup_push(cleaned, w);
	pthread_setcancelstate(w->disabled ? PTHREAD_CANCEL_DISABLE :
					     PTHREAD_CANCEL_ENABLE, &before);
	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->result = do_wait(w->s, w->kind);
	w->why = errno;
	pthread_cleanup_pop(0);
	return NULL;
}

static pthread_t start_waiter(struct waiter *w)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, wait_on, w), 0);
	AWAIT(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE));
	AWAIT(check_asleep(w->tid));
	return thread;
}

static void on_signal(int number)
{
	(void)number;
}

static void handle(int flags, void (*fn)(int))
{
	struct sigaction act = { .sa_flags = flags };

	act.sa_handler = fn;
	CHECK_EQ(sigaction(SIGUSR1, &act, NULL), 0);
}

TEST(eintr)
{
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	handle(0, on_signal);
	for (int kind = 0; kind < 3; kind++) {
		struct waiter w = { .s = &s, .kind = kind };
		pthread_t thread = start_waiter(&w);

		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(w.result, -1);
		CHECK_EQ(w.why, EINTR);
	}
	/* A wait without a deadline is restarted. */
	handle(SA_RESTART, on_signal);
	struct waiter w = { .s = &s };
	pthread_t thread = start_waiter(&w);

	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	AWAIT(check_asleep(w.tid));
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(w.result, 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

static sem_t in_handler;

static void post_it(int number)
{
	(void)number;
	CHECK_EQ(sem_post(&in_handler), 0);
}

/* The handler interrupts the wait on the semaphore that it posts. */
TEST(post_in_a_handler)
{
	struct waiter w = { .s = &in_handler };
	pthread_t thread;

	CHECK_EQ(sem_init(&in_handler, 0, 0), 0);
	handle(SA_RESTART, post_it);
	thread = start_waiter(&w);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(w.result, 0);
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	CHECK_EQ(value_of(&in_handler), 100);
	CHECK_EQ(sem_destroy(&in_handler), 0);
}

TEST(cancelled_while_it_waits)
{
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	for (int kind = 0; kind < 3; kind++) {
		struct waiter w = { .s = &s, .kind = kind };
		pthread_t thread = start_waiter(&w);
		void *result;

		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK_EQ(pthread_join(thread, &result), 0);
		CHECK(result == PTHREAD_CANCELED);
		CHECK_EQ(w.cleaned, 1);
	}
	/* The semaphore is as if they had not waited. */
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(value_of(&s), 1);
	CHECK_EQ(sem_wait(&s), 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

/* The semaphore is free, but the cancellation was there first. */
static void *cancelled_before(void *arg)
{
	struct waiter *w = arg;

	pthread_cleanup_push(cleaned, w);
	pthread_cancel(pthread_self());
	/* No cancellation points: */
	CHECK_EQ(sem_trywait(w->s), 0);
	CHECK_EQ(sem_post(w->s), 0);
	(void)do_wait(w->s, w->kind);
	CHECK(false);
	pthread_cleanup_pop(0);
	return NULL;
}

TEST(cancelled_before_it_waits)
{
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 1), 0);
	/* sem_clockwait of glibc does not check this if the value is not 0. */
	for (int kind = 0; kind < 2; kind++) {
		struct waiter w = { .s = &s, .kind = kind };
		check_thread thread = start(cancelled_before, &w);

		CHECK(finish(thread) == PTHREAD_CANCELED);
		CHECK_EQ(w.cleaned, 1);
		CHECK_EQ(value_of(&s), 1);
	}
	CHECK_EQ(sem_destroy(&s), 0);
}

TEST(cancellation_disabled)
{
	struct waiter w = { .disabled = 1 };
	pthread_t thread;
	void *result;
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	w.s = &s;
	thread = start_waiter(&w);
	CHECK_EQ(pthread_cancel(thread), 0);
	AWAIT(check_asleep(w.tid));
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(!result);
	CHECK_EQ(w.result, 0);
	CHECK_EQ(w.cleaned, 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

/* A cancellation and a post meet: the post is not lost. */
TEST(cancel_meets_post)
{
	int left = 0, taken = 0;
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	for (int i = 0; i < 300; i++) {
		struct waiter w = { .s = &s, .kind = i % 3 };
		pthread_t thread = start_waiter(&w);
		void *result;

		if (i & 1)
			pthread_cancel(thread);
		CHECK_EQ(sem_post(&s), 0);
		if (!(i & 1))
			pthread_cancel(thread);
		CHECK_EQ(pthread_join(thread, &result), 0);
		if (result != PTHREAD_CANCELED)
			taken++;
		while (sem_trywait(&s) == 0)
			left++;
	}
	CHECK_EQ(left + taken, 300);
	CHECK_EQ(sem_destroy(&s), 0);
}

static void child_waits_and_posts(sem_t *posts, sem_t *waits)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		for (int i = 0; i < 100; i++)
			if (sem_wait(waits) || sem_post(posts))
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(sem_post(waits), 0);
		CHECK_EQ(sem_wait(posts), 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* Between processes: pshared in shared memory, and by name. */
TEST(between_processes)
{
	char name[64];
	sem_t *s = mmap(NULL, 2 * sizeof(*s), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_t *a, *b;

	CHECK(s != MAP_FAILED);
	CHECK_EQ(sem_init(&s[0], 1, 0), 0);
	CHECK_EQ(sem_init(&s[1], 1, 0), 0);
	child_waits_and_posts(&s[0], &s[1]);
	CHECK_EQ(value_of(&s[0]), 0);
	CHECK_FAILS(sem_trywait(&s[0]), EAGAIN);
	CHECK_EQ(sem_destroy(&s[0]), 0);
	CHECK_EQ(sem_destroy(&s[1]), 0);
	CHECK_EQ(munmap(s, 2 * sizeof(*s)), 0);
	snprintf(name, sizeof(name), "/weir-test-%ld", (long)getpid());
	/* A run that was killed may have left it, and have had the same PID. */
	(void)sem_unlink(name);
	a = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	CHECK(a != SEM_FAILED);
	b = sem_open(name, 0);
	CHECK(b == a);
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_FAILS(sem_unlink(name), ENOENT);
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(s != MAP_FAILED);
	CHECK_EQ(sem_init(s, 1, 0), 0);
	child_waits_and_posts(a, s);
	CHECK_EQ(sem_destroy(s), 0);
	CHECK_EQ(munmap(s, sizeof(*s)), 0);
	CHECK_EQ(sem_close(a), 0);
	CHECK_EQ(sem_close(b), 0);
}

/* A thread of the parent waits at the fork; the child uses its copy. */
TEST(fork_while_a_thread_waits)
{
	struct waiter w = { 0 };
	pthread_t thread;
	int status;
	pid_t pid;
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	w.s = &s;
	thread = start_waiter(&w);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(sem_post(&s) || sem_post(&s) || sem_wait(&s) ||
		      sem_wait(&s) || sem_trywait(&s) != -1 ||
		      sem_destroy(&s));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(sem_post(&s), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(w.result, 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

/* The values survive a fork, and parent and child are independent. */
TEST(fork_copies_values)
{
	int status;
	pid_t pid;
	sem_t s;

	CHECK_EQ(sem_init(&s, 0, 3), 0);
	CHECK_EQ(sem_wait(&s), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(value_of(&s) != 2 || sem_wait(&s) || sem_wait(&s) ||
		      sem_trywait(&s) != -1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(value_of(&s), 2);
	CHECK_EQ(sem_destroy(&s), 0);
}

static pid_t forked;

static void fork_it(int number)
{
	(void)number;
	forked = fork();
}

static void *signal_main(void *main_thread)
{
	AWAIT(check_asleep(getpid()));
	CHECK_EQ(pthread_kill(*(pthread_t *)main_thread, SIGUSR1), 0);
	return NULL;
}

/* Returns 0 if two new threads wait and are cancelled. */
static int cancel_two(sem_t *s)
{
	struct waiter w[2] = { { .s = s }, { .s = s } };
	pthread_t threads[2];
	int result = 0;
	void *end;

	/* A cancel that never ends must not outlive the test. */
	alarm(60);
	/* The stacks of the parent's threads are used again. */
	for (int i = 0; i < 2; i++)
		threads[i] = start_waiter(&w[i]);
	for (int i = 0; i < 2; i++)
		result |= pthread_cancel(threads[i]) ||
			  pthread_join(threads[i], &end) ||
			  end != PTHREAD_CANCELED;
	return result;
}

/*
 * A handler forks while its thread and another one wait.  The child ends its wait, and
 * the waits of its own threads can be cancelled.  Each thread is the head of a queue:
 * with --barging, the others wake at the starvation bound.
 */
TEST(fork_in_a_handler_of_a_wait)
{
	struct waiter parents = { 0 };
	pthread_t self = pthread_self(), thread;
	check_thread other;
	int status;
	sem_t s, t;

	CHECK_EQ(sem_init(&s, 0, 0), 0);
	CHECK_EQ(sem_init(&t, 0, 0), 0);
	parents.s = &t;
	handle(0, fork_it);
	thread = start_waiter(&parents);
	other = start(signal_main, &self);
	CHECK_EQ(sem_wait(&s), -1);
	CHECK_EQ(errno, EINTR);
	CHECK(forked >= 0);
	if (!forked)
		_exit(cancel_two(&s) || sem_post(&s) || sem_wait(&s));
	finish(other);
	CHECK_EQ(waitpid(forked, &status, 0), forked);
	CHECK_EQ(status, 0);
	CHECK_EQ(sem_post(&t), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(parents.result, 0);
	CHECK_EQ(sem_destroy(&t), 0);
	CHECK_EQ(sem_destroy(&s), 0);
}

/* A small limit of the size of files (ulimit -f) ends no program. */
TEST(ulimit_f)
{
	struct rlimit before, small;
	pid_t pid = fork();
	int status;
	sem_t s;

	CHECK(pid >= 0);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 4096, before.rlim_max };
	/* The limit ends before the exit, which may write a profile. */
	if (!pid)
		_exit(setrlimit(RLIMIT_FSIZE, &small) || sem_init(&s, 0, 1) ||
		      sem_wait(&s) || sem_post(&s) || sem_destroy(&s) ||
		      setrlimit(RLIMIT_FSIZE, &before));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static sem_t zeroed[3];

/* Zeroed memory is a semaphore of value 0; a copy before use is one too. */
TEST(zeroed_and_copied)
{
	struct waiter w = { .s = &zeroed[2] };
	sem_t original, copy;
	pthread_t thread;

	CHECK_EQ(value_of(&zeroed[0]), 0);
	CHECK_FAILS(sem_trywait(&zeroed[0]), EAGAIN);
	CHECK_EQ(sem_post(&zeroed[1]), 0);
	CHECK_EQ(value_of(&zeroed[1]), 1);
	CHECK_EQ(sem_wait(&zeroed[1]), 0);
	thread = start_waiter(&w);
	CHECK_EQ(sem_post(&zeroed[2]), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(w.result, 0);
	CHECK_EQ(sem_init(&original, 0, 4), 0);
	memcpy(&copy, &original, sizeof(copy));
	CHECK_EQ(value_of(&copy), 4);
	CHECK_EQ(sem_wait(&copy), 0);
	CHECK_EQ(value_of(&copy), 3);
	CHECK_EQ(value_of(&original), 4);
	CHECK_EQ(sem_destroy(&copy), 0);
	CHECK_EQ(value_of(&original), 4);
	CHECK_EQ(sem_destroy(&original), 0);
}

static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	CHECK(f);
	CHECK_EQ(fscanf(f, "%ld %ld", &size, &pages), 2);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/*
 * Semaphores that are never destroyed: memory is bounded.  A slow machine makes
 * fewer; with 80 bytes for each pair, 30000 of them would exceed the bound.
 */
TEST(never_destroyed)
{
	int64_t until = weir_deadline_after(INT64_C(10000000000));
	long before = 0;

	for (int round = 0; round < 300000 &&
	     (round < 30000 || weir_now_ns() < until); round++) {
		sem_t on_stack, *on_heap = malloc(sizeof(*on_heap));

		CHECK(on_heap);
		CHECK_EQ(sem_init(&on_stack, 0, 1), 0);
		CHECK_EQ(sem_init(on_heap, 0, 0), 0);
		CHECK_EQ(sem_wait(&on_stack), 0);
		CHECK_EQ(sem_post(on_heap), 0);
		free(on_heap);
		if (round == 1000)
			before = resident_kb();
	}
	CHECK(resident_kb() - before < 2048);
}

static void *post_and_end(void *arg)
{
	CHECK_EQ(sem_post(arg), 0);
	return NULL;
}

/* The waiter destroys the semaphore while the post has not returned. */
TEST(destroyed_after_the_wait)
{
	for (int i = 0; i < 2000; i++) {
		pthread_t thread;
		sem_t s;

		CHECK_EQ(sem_init(&s, 0, 0), 0);
		CHECK_EQ(pthread_create(&thread, NULL, post_and_end, &s), 0);
		CHECK_EQ(sem_wait(&s), 0);
		CHECK_EQ(sem_destroy(&s), 0);
		memset(&s, 0x55, sizeof(s));
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
}

static sem_t full, empty, mutex;
static long sum;

static void *produce(void *arg)
{
	for (long i = 1; i <= 3000; i++) {
		while (sem_wait(&empty))
			;
		CHECK_EQ(sem_wait(&mutex), 0);
		sum += i;
		CHECK_EQ(sem_post(&mutex), 0);
		CHECK_EQ(sem_post(&full), 0);
	}
	return arg;
}

static void *consume(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		struct timespec until = in_ms(CLOCK_REALTIME, 60000);

		CHECK_EQ(sem_timedwait(&full, &until), 0);
		CHECK_EQ(sem_post(&empty), 0);
	}
	return arg;
}

TEST(producers_and_consumers)
{
	check_thread threads[6];

	CHECK_EQ(sem_init(&full, 0, 0), 0);
	CHECK_EQ(sem_init(&empty, 0, 4), 0);
	CHECK_EQ(sem_init(&mutex, 0, 1), 0);
	for (int i = 0; i < 6; i++)
		threads[i] = start(i % 2 ? produce : consume, NULL);
	for (int i = 0; i < 6; i++)
		finish(threads[i]);
	CHECK_EQ(sum, 3 * 3000L * 3001 / 2);
	CHECK_EQ(value_of(&full), 0);
	CHECK_EQ(value_of(&empty), 4);
}
