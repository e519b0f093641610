/* SPDX-License-Identifier: MIT */
/*
 * The textbook semaphore: a mutex, a condition variable and a count.
 *
 *     textbook              run it, and show that the limit holds
 *     textbook --if         show the effect of mistake 1
 *     textbook --outside    show the effect of mistake 2
 *
 * It has twenty lines and is good enough for many programs.  It lacks the
 * features that weir adds: order among the waiters, cancelling, weights,
 * closing, a release that a signal handler may call.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct semaphore {
	pthread_mutex_t lock;
	pthread_cond_t freed;
	long count;
	long sleeps;				/* how often a thread slept */
	void (*between)(struct semaphore *);	/* check and sleep */
};

#define SEMAPHORE_INIT(count)                                                  \
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, (count), 0, NULL }

static void wait_for_change(struct semaphore *s)
{
	s->sleeps++;
	if (s->between)
		s->between(s);
	pthread_cond_wait(&s->freed, &s->lock);
}

static void acquire(struct semaphore *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->count == 0)
		wait_for_change(s);
	s->count--;
	pthread_mutex_unlock(&s->lock);
}

static void release(struct semaphore *s)
{
	pthread_mutex_lock(&s->lock);
	s->count++;
	pthread_cond_signal(&s->freed);
	pthread_mutex_unlock(&s->lock);
}

/*
 * Mistake 1: `if` instead of `while`.
 *
 * A wake-up means "check again", not "the permit is yours".  Before the woken
 * thread has the mutex again, a newcomer may have taken the permit, and
 * pthread_cond_wait may also wake spuriously.  With `if` the thread does not
 * check again and takes a permit that does not exist.
 */
static void acquire_if(struct semaphore *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->count == 0)
		wait_for_change(s);
	s->count--;
	pthread_mutex_unlock(&s->lock);
}

/*
 * Mistake 2: counting and notifying outside the lock.
 *
 * The mutex makes the check of the count and the sleep one step.  A release
 * that does not take the mutex can happen in between: no thread sleeps yet, so
 * its signal wakes none, and then the waiter sleeps for ever beside a free
 * permit.
 *
 * Counting under the lock and signalling after the unlock loses no wake-up,
 * but is not safe either: a thread that gets the permit may destroy the
 * semaphore and free its memory before the signal is sent. glibc's sem_post
 * had that bug until 2015.  Signal before the unlock; weir promises this as
 * C22.
 */
static void release_outside(struct semaphore *s)
{
	s->count++;
	pthread_cond_signal(&s->freed);
}

static pthread_t spawn(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg) != 0) {
		fputs("textbook: cannot make a thread\n", stderr);
		exit(2);
	}
	return thread;
}

static void *run_acquire(void *s)    { acquire(s); return NULL; }
static void *run_acquire_if(void *s) { acquire_if(s); return NULL; }
static void *run_release(void *s)    { release(s); return NULL; }
static void *run_outside(void *s)    { release_outside(s); return NULL; }

/* A snapshot.  A sleeping thread has released the lock, so it is counted. */
static struct semaphore look(struct semaphore *s)
{
	sched_yield();
	pthread_mutex_lock(&s->lock);
	struct semaphore seen = { .count = s->count, .sleeps = s->sleeps };
	pthread_mutex_unlock(&s->lock);
	return seen;
}

/*
 * Demonstration 1.  A waiter sleeps; a permit is released, and a newcomer
 * takes it before the waiter has run.  Here the release and the newcomer share
 * one critical section, so that this order occurs in every run.
 */
static bool show_if(void *(*waiter)(void *))
{
	struct semaphore s = SEMAPHORE_INIT(0), seen;
	pthread_t thread = spawn(waiter, &s);

	while (look(&s).sleeps == 0)
		continue;
	pthread_mutex_lock(&s.lock);
	s.count++;
	pthread_cond_signal(&s.freed);
	s.count--;			/* the newcomer */
	pthread_mutex_unlock(&s.lock);

	do	/* until the waiter has a permit, or sleeps again */
		seen = look(&s);
	while (seen.count == 0 && seen.sleeps == 1);
	printf("while or if: one permit, and a newcomer took it; the waiter %s\n",
	       seen.count < 0 ? "IS IN AS WELL (count -1)" : "looked and sleeps");

	release(&s);			/* the newcomer leaves */
	pthread_join(thread, NULL);
	return seen.count == 0;
}

/* Demonstration 2.  A release between the check of the count and the sleep. */
static pthread_t releaser;

static void release_between(struct semaphore *s)
{
	s->between = NULL;
	releaser = spawn(run_release, s);	/* it waits for the lock */
}

static void slip_in_between(struct semaphore *s)
{
	s->between = NULL;
	releaser = spawn(run_outside, s);
	pthread_join(releaser, NULL);		/* nothing stops it */
}

static bool show_outside(bool mistake)
{
	struct semaphore s = SEMAPHORE_INIT(0);

	s.between = mistake ? slip_in_between : release_between;
	pthread_t thread = spawn(run_acquire, &s);

	fputs("inside or outside: released between look and sleep; ", stdout);
	if (!mistake) {
		pthread_join(thread, NULL);
		pthread_join(releaser, NULL);
		puts("the waiter was woken");
		return true;
	}
	while (look(&s).sleeps == 0)
		continue;
	/* The waiter sleeps, and the only signal was sent before. */
	printf("the waiter SLEEPS FOR GOOD (count %ld)\n", look(&s).count);
	release(&s);				/* wake it, to be able to end */
	pthread_join(thread, NULL);
	return false;
}

/* The correct semaphore: at most three of eight threads are inside. */
#define PERMITS 3
static struct semaphore gate = SEMAPHORE_INIT(PERMITS);
static atomic_int inside, most, entries;

static void *visit(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		acquire(&gate);
		int now = atomic_fetch_add(&inside, 1) + 1, seen = most;
		while (now > seen && !atomic_compare_exchange_weak(&most, &seen,
								   now))
			continue;
		/* The first visitors stay until all permits are in use. */
		do
			sched_yield();
		while (most < PERMITS);
		atomic_fetch_add(&entries, 1);
		atomic_fetch_sub(&inside, 1);
		release(&gate);
	}
	return arg;
}

static bool show_gate(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		threads[i] = spawn(visit, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	printf("8 threads, %d permits: %d entries, at most %d at once\n",
	       PERMITS, entries, most);
	return most <= PERMITS && entries == 16000 && gate.count == PERMITS;
}

int main(int argc, char **argv)
{
	const char *option = argc == 2 ? argv[1] : "";
	bool held;

	if (argc == 1) {
		held = show_gate();
		held = show_if(run_acquire) && held;
		held = show_outside(false) && held;
	} else if (strcmp(option, "--if") == 0) {
		held = show_if(run_acquire_if);
	} else if (strcmp(option, "--outside") == 0) {
		held = show_outside(true);
	} else {
		fputs("usage: textbook [--if | --outside]\n", stderr);
		return 2;
	}
	puts(held ? "the semaphore held" : "the semaphore BROKE");
	return held ? 0 : 1;
}
