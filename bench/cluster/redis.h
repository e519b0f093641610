/* SPDX-License-Identifier: MIT */
/* A connection to Redis without libweir-cluster, to compare with. */
#ifndef BENCH_CLUSTER_REDIS_H
#define BENCH_CLUSTER_REDIS_H

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#define SHA_SIZE 41

static redisContext *redis_connect(const char *url)
{
	char host[128] = "127.0.0.1";
	int port = 6379;
	redisContext *redis;

	(void)sscanf(url, "redis://%127[^:/]:%d", host, &port);
	redis = redisConnect(host, port);
	if (!redis || redis->err) {
		fprintf(stderr, "no connection to %s\n", url);
		exit(1);
	}
	return redis;
}

static void redis_load(redisContext *redis, const char *script,
		       char sha[SHA_SIZE])
{
	redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", script);

	if (!reply || reply->type != REDIS_REPLY_STRING) {
		fprintf(stderr, "SCRIPT LOAD failed\n");
		exit(1);
	}
	(void)snprintf(sha, SHA_SIZE, "%s", reply->str);
	freeReplyObject(reply);
}

#endif
