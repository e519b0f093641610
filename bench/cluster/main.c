/* SPDX-License-Identifier: MIT */
/*
 * Semaphores between machines: the cost of calls, next to one bare round trip to
 * the same server, interleaved.
 *
 *     cluster URL [ROUNDS]
 *
 * Prints a line "what median p99" in microseconds for each measurement.
 * The bare round trip is an empty script in Redis, and one update of a row with
 * its commit in PostgreSQL.  tests/cluster/serve.py starts a server:
 *
 *     tests/cluster/serve.py redis sh -c 'build/bench/bench-cluster $WEIR_TEST_URL'
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/cluster.h"
#ifdef HAVE_HIREDIS
#include "redis.h"
#endif
#ifdef HAVE_LIBPQ
#include <libpq-fe.h>
#endif

#define MOST 20000
#define BATCH 20

struct series {
	const char *name;
	double us[MOST];
	int count;
};

static void add(struct series *s, int64_t started)
{
	if (s->count < MOST)
		s->us[s->count++] = (double)(weir_now_ns() - started) / 1000;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double print(struct series *s)
{
	double median;

	if (!s->count)
		return 0;
	qsort(s->us, (size_t)s->count, sizeof(s->us[0]), by_value);
	median = s->us[s->count / 2];
	printf("%-28s %8.1f %8.1f\n", s->name, median,
	       s->us[s->count * 99 / 100]);
	return median;
}

static void must(weir_err err, const char *what)
{
	if (err) {
		fprintf(stderr, "%s: %s\n", what, weir_err_name(err));
		exit(1);
	}
}

static weir_cluster *open_it(const char *url)
{
	weir_cluster_opts opts = { .capacity = 1, .ttl_ns = 30000000000,
				   .flags = WEIR_CLUSTER_CREATE };
	weir_cluster *c;

	must(weir_cluster_open(url, &opts, &c), "open");
	return c;
}

static void pair(weir_cluster *c, struct series *s)
{
	int64_t started = weir_now_ns();
	weir_lease *lease;

	must(weir_cluster_acquire(c, 1, NULL, &lease), "acquire");
	must(weir_lease_release(lease), "release");
	add(s, started);
}

#ifdef HAVE_HIREDIS
static redisContext *bare;
static char sha[SHA_SIZE];

static void round_trip_redis(struct series *s)
{
	int64_t started = weir_now_ns();

	freeReplyObject(redisCommand(bare, "EVALSHA %s 0", sha));
	add(s, started);
}
#endif

#ifdef HAVE_LIBPQ
static PGconn *postgres;

static void connect_postgres(const char *url)
{
	char text[512];
	size_t length;

	/* Without the slash before the name. */
	(void)snprintf(text, sizeof(text), "%s", url);
	length = strlen(text);
	if (length && text[length - 1] == '/')
		text[length - 1] = 0;
	postgres = PQconnectdb(text);
	PQclear(PQexec(postgres, "CREATE TABLE bench (id int PRIMARY KEY, n int) "
		       "WITH (fillfactor = 10)"));
	PQclear(PQexec(postgres, "INSERT INTO bench VALUES (1, 0)"));
	PQclear(PQprepare(postgres, "u", "UPDATE bench SET n = n + 1 WHERE "
			  "id = 1", 0, NULL));
}

static void round_trip_postgres(struct series *s)
{
	int64_t started = weir_now_ns();
	PGresult *result = PQexecPrepared(postgres, "u", 0, NULL, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_COMMAND_OK) {
		fprintf(stderr, "%s", PQerrorMessage(postgres));
		exit(1);
	}
	PQclear(result);
	add(s, started);
}
#endif

static void connect_bare(const char *url)
{
#ifdef HAVE_HIREDIS
	if (!strncmp(url, "redis:", 6)) {
		bare = redis_connect(url);
		redis_load(bare, "return 1", sha);
	}
#endif
#ifdef HAVE_LIBPQ
	if (!strncmp(url, "postgres", 8))
		connect_postgres(url);
#endif
	(void)url;
}

static void round_trip(struct series *s)
{
#ifdef HAVE_HIREDIS
	if (bare)
		round_trip_redis(s);
#endif
#ifdef HAVE_LIBPQ
	if (postgres)
		round_trip_postgres(s);
#endif
	(void)s;
}

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

static void hand_off(const char *url, int rounds, struct series *s)
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
}

static weir_ctx crowd_ctx = WEIR_CTX_INIT;

static void *wait_in_crowd(void *arg)
{
	weir_lease *lease;

	if (!weir_cluster_acquire(arg, 1, &crowd_ctx, &lease))
		(void)!weir_lease_release(lease);
	return NULL;
}

/*
 * Join and leave the queue behind 10 and then 1,000 waiters: a request with a
 * deadline that has passed.
 */
static void long_queue(const char *url, int rounds, struct series *ten,
		       struct series *thousand)
{
	weir_cluster *c = open_it(url), *crowd = open_it(url);
	pthread_attr_t small;
	weir_lease *lease, *none;
	pthread_t threads[1000];

	must(weir_cluster_acquire(c, 1, NULL, &lease), "acquire");
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 131072);
	for (int count = 0; count < 1000;) {
		struct series *s = count ? thousand : ten;
		int until = count ? 1000 : 10;

		for (; count < until; count++)
			pthread_create(&threads[count], &small, wait_in_crowd,
				       crowd);
		await_waiters(c, (uint32_t)until);
		for (int i = 0; i < rounds; i++) {
			int64_t started = weir_now_ns();

			(void)!weir_cluster_acquire_until(c, 1, 0, &none);
			add(s, started);
		}
	}
	weir_ctx_cancel(&crowd_ctx);
	for (int i = 0; i < 1000; i++)
		pthread_join(threads[i], NULL);
	must(weir_lease_release(lease), "release");
}

int main(int argc, char **argv)
{
	static struct series trip = { .name = "bare round trip" };
	static struct series pairs = { .name = "uncontended pair" };
	static struct series hand = { .name = "hand-off" };
	static struct series ten = { .name = "queue and leave, 10 wait" };
	static struct series thousand = { .name = "queue and leave, 1000 wait" };
	int rounds = argc > 2 ? atoi(argv[2]) : 2000;
	char url[512];
	weir_cluster *c;
	double one, two, three;

	if (argc < 2)
		return 2;
	(void)snprintf(url, sizeof(url), "%sbench-pair", argv[1]);
	connect_bare(argv[1]);
	c = open_it(url);
	for (int i = 0; i < rounds; i += BATCH) {
		for (int k = 0; k < BATCH; k++)
			round_trip(&trip);
		for (int k = 0; k < BATCH; k++)
			pair(c, &pairs);
	}
	(void)snprintf(url, sizeof(url), "%sbench-hand", argv[1]);
	hand_off(url, rounds / 4, &hand);
	(void)snprintf(url, sizeof(url), "%sbench-queue", argv[1]);
	long_queue(url, rounds / 10, &ten, &thousand);
	one = print(&trip);
	two = print(&pairs);
	three = print(&hand);
	if (one > 0)
		printf("pair / round trip %.2f, hand-off / round trip %.2f\n",
		       two / one, three / one);
	one = print(&ten);
	printf("1000 waiters / 10 waiters %.2f\n", print(&thousand) / one);
	return 0;
}
