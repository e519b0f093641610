/* SPDX-License-Identifier: MIT */
/*
 * An uncontended pair of acquire and release in Redis, next to the algorithms
 * that people use, in turns, each over one connection of hiredis:
 *
 *   redis-py  Lock: SET with NX and PX; a script that compares and deletes.
 *             One holder; no queue, waiters poll.
 *   Redisson  Semaphore: a script that compares and subtracts; a script that
 *             adds and publishes.  No expiry: a dead client keeps its permits.
 *   Redisson  PermitExpirableSemaphore: the same with a lease in a sorted set,
 *             which is first searched for leases that have expired.
 *
 *     peers URL [TURNS]
 *
 * None of them has an order of waiters or a fencing token.  peers.py compares
 * commands.
 */
#include <string.h>

#include "redis.h"
#include "weir/cluster.h"

#define PAIRS 200
#define MOST 1000

struct peer {
	const char *name;
	const char *scripts[2];		/* null: a plain SET */
	char sha[2][SHA_SIZE];
	double us[MOST];
};

static struct peer peers[] = {
	{ .name = "weir" },
	{ .name = "redis-py Lock",
	  .scripts = { NULL,
		"if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
		"redis.call('del', KEYS[1]) return 1" } },
	{ .name = "Redisson Semaphore",
	  .scripts = {
		"local n = redis.call('get', KEYS[1]) "
		"if n ~= false and tonumber(n) >= 1 then "
		"redis.call('decrby', KEYS[1], 1) return 1 end return 0",
		"local n = redis.call('incrby', KEYS[1], 1) "
		"redis.call('publish', KEYS[2], n) return 1" } },
	{ .name = "Redisson PermitExpirable",
	  .scripts = {
		"local old = redis.call('zrangebyscore', KEYS[2], 0, ARGV[2], "
		"'limit', 0, 1) "
		"if #old > 0 then redis.call('zrem', KEYS[2], unpack(old)) "
		"redis.call('incrby', KEYS[1], #old) end "
		"local n = redis.call('get', KEYS[1]) "
		"if n ~= false and tonumber(n) >= 1 then "
		"redis.call('decrby', KEYS[1], 1) "
		"redis.call('zadd', KEYS[2], ARGV[3], ARGV[1]) return 1 end "
		"return 0",
		"if redis.call('zrem', KEYS[2], ARGV[1]) == 0 then return 0 end "
		"local n = redis.call('incrby', KEYS[1], 1) "
		"redis.call('publish', KEYS[3], n) return 1" } },
};

#define PEERS (sizeof(peers) / sizeof(peers[0]))

static redisContext *redis;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

static void call(struct peer *peer, int which)
{
	redisReply *reply;

	if (peer->scripts[which])
		reply = redisCommand(redis, "EVALSHA %s 3 %s:n %s:l %s:c "
				     "0123456789abcdef 1000 99999999999999",
				     peer->sha[which], peer->scripts[0] ? peer->name : "l",
				     peer->name, peer->name);
	else
		reply = redisCommand(redis, "SET l:n 0123456789abcdef NX PX 30000");
	must(reply && (reply->type == REDIS_REPLY_STATUS ||
		       (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1)),
	     peer->name);
	freeReplyObject(reply);
}

static void pair(struct peer *peer, weir_cluster *c)
{
	weir_lease *lease;

	if (peer == peers) {
		must(!weir_cluster_acquire(c, 1, NULL, &lease), "acquire");
		must(!weir_lease_release(lease), "release");
		return;
	}
	call(peer, 0);
	call(peer, 1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	weir_cluster_opts opts = { .capacity = 1, .ttl_ns = 30000000000,
				   .flags = WEIR_CLUSTER_CREATE };
	int turns = argc > 2 ? atoi(argv[2]) : 20;
	weir_cluster *c;
	char url[512];

	if (argc < 2 || turns < 1 || turns > MOST)
		return 2;
	(void)snprintf(url, sizeof(url), "%sbench-peers", argv[1]);
	must(!weir_cluster_open(url, &opts, &c), "open");
	redis = redis_connect(argv[1]);
	for (size_t i = 1; i < PEERS; i++) {
		for (int k = 0; k < 2; k++)
			if (peers[i].scripts[k])
				redis_load(redis, peers[i].scripts[k],
					   peers[i].sha[k]);
		freeReplyObject(redisCommand(redis, "SET %s:n 1", peers[i].name));
	}
	for (int turn = 0; turn < turns; turn++)
		for (size_t i = 0; i < PEERS; i++) {
			int64_t started = weir_now_ns();

			for (int k = 0; k < PAIRS; k++)
				pair(&peers[i], c);
			peers[i].us[turn] = (double)(weir_now_ns() - started) /
					    PAIRS / 1000;
		}
	for (size_t i = PEERS; i-- > 0;) {
		double ratios[MOST];

		for (int turn = 0; turn < turns; turn++)
			ratios[turn] = peers[0].us[turn] / peers[i].us[turn];
		qsort(ratios, (size_t)turns, sizeof(ratios[0]), by_value);
		qsort(peers[i].us, (size_t)turns, sizeof(double), by_value);
		printf("%-26s %8.1f us; weir / it: %.2f (%.2f to %.2f)\n",
		       peers[i].name, peers[i].us[turns / 2], ratios[turns / 2],
		       ratios[turns / 10], ratios[turns - 1 - turns / 10]);
	}
	redisFree(redis);
	must(!weir_cluster_close_handle(c), "close");
	return 0;
}
