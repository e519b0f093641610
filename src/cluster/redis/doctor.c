/* SPDX-License-Identifier: MIT */
/* Settings of a Redis server on which the promises depend. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/redis/redis.h"

struct finder {
	weir_cluster_finding_fn *fn;
	void *user;
	uint32_t replicas;	/* that the session requires */
};

/* Copy the value of "key:value\r\n" in the reply to INFO. */
static bool info_value(const char *info, const char *key, char *out,
		       size_t size)
{
	char line[64];
	const char *found;
	size_t length;

	(void)snprintf(line, sizeof(line), "\n%s:", key);
	found = strstr(info, line);
	if (!found)
		return false;
	found += strlen(line);
	length = strcspn(found, "\r\n");
	(void)snprintf(out, size, "%.*s", (int)length, found);
	return true;
}

/* Returns the value of a setting, or null. */
static const char *setting(const struct reply *list, const char *name)
{
	if (list->type != REPLY_LIST)
		return NULL;
	for (size_t i = 0; i + 1 < list->count; i += 2) {
		const char *key = weir_cl_reply_text_(list, i);

		if (key && !strcmp(key, name))
			return weir_cl_reply_text_(list, i + 1);
	}
	return NULL;
}

static void check_persistence(const struct finder *find,
			      const struct reply *conf)
{
	const char *aof = setting(conf, "appendonly");
	const char *fsync = setting(conf, "appendfsync");

	if (!aof)
		return;
	if (strcmp(aof, "yes"))
		find->fn("appendonly", "is not \"yes\": a restart of the server "
			 "forgets all leases while their holders go on, so more "
			 "leases than the capacity may exist until they notice",
			 find->user);
	else if (fsync && strcmp(fsync, "always"))
		find->fn("appendfsync", "is not \"always\": a crash of the "
			 "server forgets the grants of the last moment, so more "
			 "leases than the capacity may exist", find->user);
}

static void check_memory(const struct finder *find, const struct reply *conf)
{
	const char *policy = setting(conf, "maxmemory-policy");
	const char *limit = setting(conf, "maxmemory");

	if (policy && limit && strcmp(limit, "0") &&
	    !strncmp(policy, "allkeys", 7))
		find->fn("maxmemory-policy", "is \"allkeys-...\": the server may "
			 "evict the keys of the semaphore; use \"noeviction\" or "
			 "a policy for volatile keys", find->user);
}

static void check_replicas(const struct finder *find, const char *info)
{
	char count[16];
	unsigned replicas;

	if (!info_value(info, "connected_slaves", count, sizeof(count)))
		return;
	replicas = (unsigned)strtoul(count, NULL, 10);
	if (replicas && !find->replicas)
		find->fn("replicas", "the server has replicas, but the URL does "
			 "not require that they confirm grants "
			 "(\"?replicas=1\"): after a failover two holders may "
			 "have the same permit", find->user);
	else if (replicas)
		find->fn("replicas", "after a failover more leases than the "
			 "capacity may exist, also with confirmed grants: the "
			 "resource must check fencing tokens", find->user);
	if (replicas < find->replicas)
		find->fn("replicas", "fewer replicas are connected than the URL "
			 "requires: every acquire is indeterminate",
			 find->user);
}

static void check_version(const struct finder *find, const char *info)
{
	char version[32];

	if (info_value(info, "redis_version", version, sizeof(version)) &&
	    atoi(version) < 5)
		find->fn("version", "is older than 5: the script cannot run",
			 find->user);
}

enum result weir_cl_redis_doctor_(struct engine *e, weir_cluster_finding_fn *fn,
				  void *user, int64_t deadline,
				  struct fault *fault)
{
	static const struct command commands[] = {
		{ .args = { "INFO" }, .count = 1 },
		{ .args = { "CONFIG", "GET", "append*" }, .count = 3 },
		{ .args = { "CONFIG", "GET", "maxmemory*" }, .count = 3 },
	};
	struct finder find = { fn, user, e->session.replicas };
	struct reply *replies[3];
	enum result result = weir_cl_conn_call_(&e->lanes[LANE_CALL], commands,
						3, replies, deadline, fault);

	if (result)
		return result;
	if (replies[0]->type == REPLY_TEXT) {
		check_version(&find, replies[0]->text);
		check_replicas(&find, replies[0]->text);
	}
	if (replies[1]->type == REPLY_ERROR)
		fn("CONFIG", "the server does not allow CONFIG GET: the settings "
		   "for persistence and memory are unknown", user);
	check_persistence(&find, replies[1]);
	check_memory(&find, replies[2]);
	for (int i = 0; i < 3; i++)
		weir_cl_reply_free_(replies[i]);
	return RES_OK;
}
