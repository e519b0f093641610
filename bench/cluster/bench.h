/* SPDX-License-Identifier: MIT */
/* Parts of the program bench-cluster. */
#ifndef BENCH_CLUSTER_BENCH_H
#define BENCH_CLUSTER_BENCH_H

#include "weir/cluster.h"

#define MOST 20000
#define BATCH 20	/* calls in a turn */

/* Times in microseconds. */
struct series {
	const char *name;
	double us[MOST];
	int count;
};

/* Add the time since `started`. */
void series_add(struct series *s, int64_t started);
/* End the program if err is an error. */
void must(weir_err err, const char *what);
/* One bare round trip to the server, if the program knows one for the engine. */
void round_trip(struct series *s);
/* Open the semaphore; create it with one permit. */
weir_cluster *open_it(const char *url);

/* queue.c */
/*
 * Release to grant: one request of another handle waits.  trip: bare round trips,
 * in turns with the hand-offs.
 */
void hand_off(const char *url, int rounds, struct series *trip,
	      struct series *s);
/*
 * Release to grant in a queue of constant length: `count` threads of two handles
 * pass one permit around and join again.  A release may wait until its handle
 * has sent the request of another thread.
 */
void pass_around(const char *url, int count, int rounds, struct series *s);
/*
 * Join and leave a queue of 10 and another one of 1,000 waiters, in turns: a
 * request with a deadline that has passed.
 */
void long_queue(const char *url, int rounds, struct series *ten,
		struct series *thousand);
/* SIGKILL of a holder, which is a process of its own, to the grant. */
void death(const char *url, int rounds, struct series *s);
/* The process that holds a permit until it is killed. */
int hold(const char *url);

#endif
