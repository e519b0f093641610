/* SPDX-License-Identifier: MIT */
/*
 * Many clients, by default 64, of one semaphore in Redis: pairs per second, and CPU time of the
 * server for each pair, next to bare scripts that execute the same commands on
 * the same server, in turns of half a second.  If the clients run on the machine
 * of the server, then the rates depend on the clients as well; the CPU time of
 * the server does not.
 *
 *     clients URL [TURNS [CLIENTS]]
 *
 * A client is a handle with a thread that acquires and releases.  The bare
 * scripts execute the commands of an uncontended pair, with as many keys,
 * arguments, fields and bytes, but without its logic: HMGET, TIME and HSET for
 * an acquire, HDEL and HINCRBY for a release.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "redis.h"
#include "weir/cluster.h"

#define MOST 1000
#define TURN_NS 500000000

enum mode { BARE, WEIR, MODES, STOP = MODES };

static const char *const scripts[] = {
	"local s = redis.call('HMGET', KEYS[1], 'c', 'y') redis.call('TIME') "
	"redis.call('HSET', KEYS[1], 'c', ARGV[1], 'y', '1', ARGV[3], ARGV[2]) "
	"return 'H 1 1 1'",
	"redis.call('HDEL', KEYS[1], ARGV[2]) "
	"redis.call('HINCRBY', KEYS[1], 'y', '-1') return 'R'",
};

/* The arguments of the bare scripts: state, lease, id; then small ones. */
static const char *const formats[] = {
	"EVALSHA %s 6 {b}:e {b}:x {b}:q {b}:o {b}:w: {b}:r %b %b %s 1 1 30000000000 0",
	"EVALSHA %s 6 {b}:e {b}:x {b}:q {b}:o {b}:w: {b}:r release %s 0 1",
};

static atomic_int mode = BARE;
static atomic_long done[MODES];
static pthread_barrier_t ready;
static const char *server;
static int clients = 64;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

static void bare_pair(redisContext *redis, char sha[2][SHA_SIZE], const char *id)
{
	static const char state[100], lease[80];

	for (int i = 0; i < 2; i++) {
		redisReply *reply = i ?
			redisCommand(redis, formats[i], sha[i], id) :
			redisCommand(redis, formats[i], sha[i], state,
				     sizeof(state), lease, sizeof(lease), id);

		must(reply && reply->type == REDIS_REPLY_STRING, "EVALSHA");
		freeReplyObject(reply);
	}
}

static void weir_pair(weir_cluster *c)
{
	weir_lease *lease;

	must(!weir_cluster_acquire(c, 1, NULL, &lease), "acquire");
	must(!weir_lease_release(lease), "release");
}

static redisContext *connect_bare(char sha[2][SHA_SIZE])
{
	redisContext *redis = redis_connect(server);

	for (int i = 0; i < 2; i++)
		redis_load(redis, scripts[i], sha[i]);
	return redis;
}

static void *client(void *arg)
{
	weir_cluster_opts opts = { .capacity = clients, .ttl_ns = 30000000000,
				   .flags = WEIR_CLUSTER_CREATE };
	char url[512], id[32], sha[2][SHA_SIZE];
	redisContext *redis = connect_bare(sha);
	weir_cluster *c;
	int now;

	(void)snprintf(id, sizeof(id), "0123456789abcdef.%lx",
		       (unsigned long)(uintptr_t)arg);
	(void)snprintf(url, sizeof(url), "%sbench-clients", server);
	must(!weir_cluster_open(url, &opts, &c), "open");
	pthread_barrier_wait(&ready);
	/* relaxed: the counts are approximate at the end of a turn. */
	while ((now = atomic_load_explicit(&mode, memory_order_relaxed)) !=
	       STOP) {
		if (now == BARE)
			bare_pair(redis, sha, id);
		else
			weir_pair(c);
		atomic_fetch_add_explicit(&done[now], 1, memory_order_relaxed);
	}
	redisFree(redis);
	must(!weir_cluster_close_handle(c), "close");
	return NULL;
}

/* The CPU time of the server, in microseconds. */
static double server_us(redisContext *redis)
{
	static const char *const names[] = { "used_cpu_user:",
					     "used_cpu_sys:" };
	redisReply *reply = redisCommand(redis, "INFO cpu");
	double seconds = 0;

	must(reply && reply->type == REDIS_REPLY_STRING, "INFO");
	for (int i = 0; i < 2; i++) {
		const char *found = strstr(reply->str, names[i]);

		must(found, names[i]);
		seconds += strtod(found + strlen(names[i]), NULL);
	}
	freeReplyObject(reply);
	return seconds * 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static const struct timespec turn = { 0, TURN_NS };
	int turns = argc > 2 ? atoi(argv[2]) : 10;
	pthread_t threads[MOST];
	double ratios[100], costs[100];
	char sha[2][SHA_SIZE];
	redisContext *redis;

	if (argc > 3)
		clients = atoi(argv[3]);
	if (argc < 2 || clients < 1 || clients > MOST || turns < 1 || turns > 100)
		return 2;
	server = argv[1];
	redis = connect_bare(sha);
	pthread_barrier_init(&ready, NULL, (unsigned)clients + 1);
	for (int i = 0; i < clients; i++)
		must(!pthread_create(&threads[i], NULL, client,
				     (void *)(uintptr_t)i),
		     "pthread_create");
	pthread_barrier_wait(&ready);
	for (int i = 0; i < turns; i++) {
		double rates[MODES], us[MODES];

		for (int m = BARE; m < MODES; m++) {
			int64_t started = weir_now_ns();
			double cpu = server_us(redis), pairs;
			long before = atomic_load(&done[m]);

			atomic_store(&mode, m);
			(void)nanosleep(&turn, NULL);
			pairs = (double)(atomic_load(&done[m]) - before);
			us[m] = (server_us(redis) - cpu) / pairs;
			rates[m] = pairs * 1e9 /
				   (double)(weir_now_ns() - started);
		}
		ratios[i] = rates[WEIR] / rates[BARE];
		costs[i] = us[BARE] / us[WEIR];
		printf("pairs/s: bare %.0f, weir %.0f (%.2f); server us/pair: "
		       "bare %.1f, weir %.1f (%.2f)\n", rates[BARE],
		       rates[WEIR], ratios[i], us[BARE], us[WEIR], costs[i]);
	}
	atomic_store(&mode, STOP);
	for (int i = 0; i < clients; i++)
		pthread_join(threads[i], NULL);
	qsort(ratios, (size_t)turns, sizeof(ratios[0]), by_value);
	qsort(costs, (size_t)turns, sizeof(costs[0]), by_value);
	redisFree(redis);
	printf("%d clients: pairs/s, weir / bare scripts: %.2f (%.2f to "
	       "%.2f)\n", clients, ratios[turns / 2], ratios[0], ratios[turns - 1]);
	printf("%d clients: CPU time of the server, bare scripts / weir: %.2f "
	       "(%.2f to %.2f)\n", clients, costs[turns / 2], costs[0],
	       costs[turns - 1]);
	return 0;
}
