/* SPDX-License-Identifier: MIT */
/* Measurements of requests that wait. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

extern char **environ;

/* Hand-off: a thread of another handle waits; the time until it has the lease. */
struct waiter {
	weir_cluster *c;
	weir_sem ask, got, back;
	int64_t granted;
	int rounds;
};

static void *wait_for_it(void *arg)
{
	struct waiter *w = arg;

	for (int i = 0; i < w->rounds; i++) {
		weir_lease *lease;

		must(weir_sem_acquire(&w->ask, 1, NULL), "ask");
		must(weir_cluster_acquire(w->c, 1, NULL, &lease), "acquire");
		w->granted = weir_now_ns();
		weir_sem_release(&w->got, 1);
		must(weir_sem_acquire(&w->back, 1, NULL), "back");
		must(weir_lease_release(lease), "release");
		weir_sem_release(&w->got, 1);
	}
	return NULL;
}

static void await_waiters(weir_cluster *c, uint32_t count)
{
	weir_cluster_info info;

	do
		must(weir_cluster_stat(c, &info, NULL, 0), "stat");
	while (info.waiters < count);
}

void hand_off(const char *url, int rounds, struct series *trip,
	      struct series *s)
{
	struct waiter w = { .c = open_it(url), .rounds = rounds };
	weir_cluster *c = open_it(url);
	pthread_t thread;

	must(weir_sem_init_opts(&w.ask, &(weir_sem_opts){
		.flags = WEIR_SEM_UNBOUNDED }), "init");
	w.got = w.back = w.ask;
	pthread_create(&thread, NULL, wait_for_it, &w);
	for (int i = 0; i < rounds; i++) {
		weir_lease *lease;
		int64_t started;

		for (int k = 0; k < BATCH && i % BATCH == 0; k++)
			round_trip(trip);
		must(weir_cluster_acquire(c, 1, NULL, &lease), "acquire");
		weir_sem_release(&w.ask, 1);
		await_waiters(c, 1);
		started = weir_now_ns();
		must(weir_lease_release(lease), "release");
		must(weir_sem_acquire(&w.got, 1, NULL), "got");
		if (s->count < MOST)
			s->us[s->count++] =
				(double)(w.granted - started) / 1000;
		weir_sem_release(&w.back, 1);
		must(weir_sem_acquire(&w.got, 1, NULL), "got");
	}
	pthread_join(thread, NULL);
	must(weir_cluster_close_handle(c), "close");
	must(weir_cluster_close_handle(w.c), "close");
}

/* The permit that is passed around.  Its holder uses the fields. */
struct ring {
	weir_cluster *handles[2];
	struct series *series;
	int64_t released;	/* the last release has begun then; 0: none */
	int rounds;		/* to be measured */
	int threads;
	pthread_barrier_t ready;
};

struct member {
	struct ring *ring;
	int number;
};

static void *pass_on(void *arg)
{
	const struct member *member = arg;
	struct ring *ring = member->ring;
	bool more = true;

	pthread_barrier_wait(&ring->ready);
	while (more) {
		weir_lease *lease;

		must(weir_cluster_acquire(ring->handles[member->number % 2], 1,
					  NULL, &lease), "acquire");
		/* Not before every thread has waited. */
		if (ring->threads > 0)
			ring->threads--;
		else if (ring->released && ring->rounds > 0)
			series_add(ring->series, ring->released);
		more = ring->threads || --ring->rounds > 0;
		ring->released = weir_now_ns();
		must(weir_lease_release(lease), "release");
	}
	return NULL;
}

void pass_around(const char *url, int count, int rounds, struct series *s)
{
	struct ring ring = {
		.handles = { open_it(url), open_it(url) }, .series = s,
		.rounds = rounds, .threads = count,
	};
	struct member *members = calloc((size_t)count, sizeof(*members));
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	pthread_attr_t small;

	must(members && threads ? WEIR_OK : WEIR_ENOMEM, "calloc");
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 131072);
	pthread_barrier_init(&ring.ready, NULL, (unsigned)count);
	for (int i = 0; i < count; i++) {
		members[i] = (struct member){ .ring = &ring, .number = i };
		pthread_create(&threads[i], &small, pass_on, &members[i]);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(members);
	free(threads);
	for (int i = 0; i < 2; i++)
		must(weir_cluster_close_handle(ring.handles[i]), "close");
}

/* A semaphore whose permit is held, and requests that wait for it. */
struct queue {
	weir_cluster *c, *crowd;
	weir_lease *lease;
	pthread_t *threads;
	int count;
};

static weir_ctx crowd_ctx = WEIR_CTX_INIT;

static void *wait_in_crowd(void *arg)
{
	weir_lease *lease;

	if (!weir_cluster_acquire(arg, 1, &crowd_ctx, &lease))
		(void)!weir_lease_release(lease);
	return NULL;
}

static void gather(struct queue *q, const char *base, int count)
{
	pthread_attr_t small;
	char url[600];

	(void)snprintf(url, sizeof(url), "%s-%d", base, count);
	q->c = open_it(url);
	q->crowd = open_it(url);
	q->count = count;
	q->threads = calloc((size_t)count, sizeof(*q->threads));
	must(q->threads ? WEIR_OK : WEIR_ENOMEM, "calloc");
	must(weir_cluster_acquire(q->c, 1, NULL, &q->lease), "acquire");
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 131072);
	for (int i = 0; i < count; i++)
		pthread_create(&q->threads[i], &small, wait_in_crowd, q->crowd);
	await_waiters(q->c, (uint32_t)count);
}

static void join_and_leave(struct queue *q, int rounds, struct series *s)
{
	for (int i = 0; i < rounds; i++) {
		int64_t started = weir_now_ns();
		weir_lease *none;

		(void)!weir_cluster_acquire_until(q->c, 1, 0, &none);
		series_add(s, started);
	}
}

static void dissolve(struct queue *q)
{
	for (int i = 0; i < q->count; i++)
		pthread_join(q->threads[i], NULL);
	free(q->threads);
	must(weir_lease_release(q->lease), "release");
	must(weir_cluster_close_handle(q->c), "close");
	must(weir_cluster_close_handle(q->crowd), "close");
}

void long_queue(const char *url, int rounds, struct series *ten,
		struct series *thousand)
{
	struct queue queues[2];

	gather(&queues[0], url, 10);
	gather(&queues[1], url, 1000);
	for (int i = 0; i < rounds; i += BATCH) {
		join_and_leave(&queues[0], BATCH, ten);
		join_and_leave(&queues[1], BATCH, thousand);
	}
	weir_ctx_cancel(&crowd_ctx);
	dissolve(&queues[0]);
	dissolve(&queues[1]);
}

int hold(const char *url)
{
	weir_lease *lease;

	must(weir_cluster_acquire(open_it(url), 1, NULL, &lease), "acquire");
	for (;;)
		pause();
}

struct heir {
	weir_cluster *c;
	int64_t granted;
};

static void *inherit(void *arg)
{
	struct heir *heir = arg;
	weir_lease *lease;

	must(weir_cluster_acquire(heir->c, 1, NULL, &lease), "acquire");
	heir->granted = weir_now_ns();
	must(weir_lease_release(lease), "release");
	return NULL;
}

void death(const char *url, int rounds, struct series *s)
{
	struct heir heir = { .c = open_it(url) };
	char self[] = "/proc/self/exe", verb[] = "--hold";
	char *copy = strdup(url);
	char *const words[] = { self, verb, copy, NULL };

	must(copy ? WEIR_OK : WEIR_ENOMEM, "strdup");
	for (int i = 0; i < rounds; i++) {
		weir_cluster_info info;
		pthread_t thread;
		int64_t killed;
		pid_t pid;

		must(posix_spawn(&pid, self, NULL, NULL, words, environ) ?
		     WEIR_ESYSTEM : WEIR_OK, "spawn");
		do
			must(weir_cluster_stat(heir.c, &info, NULL, 0), "stat");
		while (!info.held);
		pthread_create(&thread, NULL, inherit, &heir);
		await_waiters(heir.c, 1);
		killed = weir_now_ns();
		kill(pid, SIGKILL);
		pthread_join(thread, NULL);
		if (s->count < MOST)
			s->us[s->count++] =
				(double)(heir.granted - killed) / 1000;
		waitpid(pid, NULL, 0);
	}
	free(copy);
	must(weir_cluster_close_handle(heir.c), "close");
}
