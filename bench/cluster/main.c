/* SPDX-License-Identifier: MIT */
/*
 * Semaphores between machines: the cost of calls, next to one bare round trip to
 * the same server, interleaved.
 *
 *     cluster URL [ROUNDS]
 *
 * Prints a line "what median p99" in microseconds for each measurement, and
 * ratios of medians.
 * The bare round trip is an empty script in Redis, and one update of a row with
 * its commit in PostgreSQL.  tests/cluster/serve.py starts a server:
 *
 *     tests/cluster/serve.py redis sh -c 'build/bench/bench-cluster $WEIR_TEST_URL'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#ifdef HAVE_HIREDIS
#include "redis.h"
#endif
#ifdef HAVE_LIBPQ
#include <libpq-fe.h>
#endif

void series_add(struct series *s, int64_t started)
{
	if (s->count < MOST)
		s->us[s->count++] = (double)(weir_now_ns() - started) / 1000;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the series. */
static double median_of(struct series *s)
{
	if (!s->count)
		return 0;
	qsort(s->us, (size_t)s->count, sizeof(s->us[0]), by_value);
	return s->us[s->count / 2];
}

static double print(struct series *s)
{
	double median = median_of(s);

	if (!s->count)
		return 0;
	printf("%-28s %8.1f %8.1f\n", s->name, median,
	       s->us[s->count * 99 / 100]);
	return median;
}

void must(weir_err err, const char *what)
{
	if (err) {
		fprintf(stderr, "%s: %s\n", what, weir_err_name(err));
		exit(1);
	}
}

weir_cluster *open_it(const char *url)
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
	series_add(s, started);
}

#ifdef HAVE_HIREDIS
static redisContext *bare;
static char sha[SHA_SIZE];

static void round_trip_redis(struct series *s)
{
	int64_t started = weir_now_ns();

	freeReplyObject(redisCommand(bare, "EVALSHA %s 0", sha));
	series_add(s, started);
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
	series_add(s, started);
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

void round_trip(struct series *s)
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

/* The cost of a pair at the beginning and at the end of 100,000 operations. */
static double growth(const char *url, struct series *first, struct series *last)
{
	static struct series between;
	weir_cluster *c = open_it(url);

	for (int i = 0; i < 50000; i++) {
		between.count = 0;
		pair(c, i < 100 ? &between : i < 2100 ? first :
		     i < 48000 ? &between : last);
	}
	must(weir_cluster_close_handle(c), "close");
	return print(first);
}

static const char *name_of(const char *base, const char *name)
{
	static char url[512];

	(void)snprintf(url, sizeof(url), "%sbench-%s", base, name);
	return url;
}

static void ratio(const char *what, double a, double b)
{
	if (b > 0)
		printf("%-28s %8.2f\n", what, a / b);
}

int main(int argc, char **argv)
{
	static struct series trip = { .name = "bare round trip" };
	static struct series pairs = { .name = "uncontended pair" };
	static struct series between = { .name = "bare, between hand-offs" };
	static struct series hand = { .name = "hand-off" };
	static struct series hand10 = { .name = "passed around by 10" };
	static struct series hand1000 = { .name = "passed around by 1000" };
	static struct series ten = { .name = "queue and leave, 10 wait" };
	static struct series thousand = { .name = "queue and leave, 1000 wait" };
	static struct series dead = { .name = "SIGKILL to grant" };
	static struct series first = { .name = "pair, first of 50,000" };
	static struct series last = { .name = "pair, last of 50,000" };
	int rounds = argc > 2 ? atoi(argv[2]) : 2000;
	weir_cluster *c;
	double one, two;

	if (argc == 3 && !strcmp(argv[1], "--hold"))
		return hold(argv[2]);
	if (argc < 2)
		return 2;
	connect_bare(argv[1]);
	c = open_it(name_of(argv[1], "pair"));
	for (int i = 0; i < rounds; i += BATCH) {
		for (int k = 0; k < BATCH; k++)
			round_trip(&trip);
		for (int k = 0; k < BATCH; k++)
			pair(c, &pairs);
	}
	one = print(&trip);
	ratio("pair / round trip", print(&pairs), one);
	hand_off(name_of(argv[1], "hand"), rounds / 4, &between, &hand);
	ratio("hand-off / round trip", print(&hand), median_of(&between));
	for (int i = 0; i < 4; i++) {
		pass_around(name_of(argv[1], "ring"), 10, rounds / 8, &hand10);
		pass_around(name_of(argv[1], "ring"), 1000, rounds / 8,
			    &hand1000);
	}
	two = print(&hand10);
	ratio("passed around, 1000 / 10", print(&hand1000), two);
	long_queue(name_of(argv[1], "queue"), rounds / 10, &ten, &thousand);
	two = print(&ten);
	ratio("queue and leave, 1000 / 10", print(&thousand), two);
	if (!strncmp(argv[1], "postgres", 8)) {
		death(name_of(argv[1], "death"), rounds / 40, &dead);
		(void)print(&dead);
	}
	if (strncmp(argv[1], "etcd", 4)) {
		two = growth(name_of(argv[1], "growth"), &first, &last);
		ratio("pair, last / first", print(&last), two);
	}
	return 0;
}
