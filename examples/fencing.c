/* SPDX-License-Identifier: MIT */
/*
 * Fencing tokens: why a resource has to check them.
 *
 *     fencing URL             two holders, one of them paused past its TTL
 *
 * The first holder is paused (here: it does not notice that its lease is lost,
 * as after a suspended machine).  The second holder gets the permit and writes.
 * Then the first one goes on and writes, too.  The plain store ends with the
 * old value; the store that checks tokens keeps the new one.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weir/cluster.h>

struct store {
	const char *value;
	uint64_t fence;		/* the largest token so far */
	bool checks;
};

static bool store_write(struct store *store, const char *value, uint64_t fence)
{
	if (store->checks && fence < store->fence)
		return false;
	store->value = value;
	store->fence = fence;
	return true;
}

static weir_cluster *open_limit(const char *url)
{
	weir_cluster_opts opts = { .capacity = 1, .ttl_ns = 300000000,
				   .flags = WEIR_CLUSTER_CREATE };
	weir_cluster *limit;

	return weir_cluster_open(url, &opts, &limit) ? NULL : limit;
}

/* A process that acquires, sends its token, and is stopped without a release. */
static uint64_t stopped_holder(const char *url)
{
	uint64_t fence = 0;
	int fds[2];

	if (pipe(fds))
		return 0;
	if (!fork()) {
		weir_cluster *limit = open_limit(url);
		weir_lease *lease;

		if (!limit || weir_cluster_acquire(limit, 1, NULL, &lease))
			_exit(1);
		fence = weir_lease_fence(lease);
		if (write(fds[1], &fence, sizeof(fence)) < 0)
			_exit(1);
		_exit(0);	/* no release: as if it were paused for long */
	}
	if (read(fds[0], &fence, sizeof(fence)) < 0)
		return 0;
	(void)wait(NULL);
	return fence;
}

int main(int argc, char **argv)
{
	struct store plain = { "empty", 0, false };
	struct store checking = { "empty", 0, true };
	uint64_t old = argc > 1 ? stopped_holder(argv[1]) : 0;
	weir_cluster *limit = old ? open_limit(argv[1]) : NULL;
	weir_lease *lease;

	if (!limit || weir_cluster_acquire(limit, 1, NULL, &lease)) {
		fprintf(stderr, "usage: fencing URL\n");
		return 1;
	}
	store_write(&plain, "new", weir_lease_fence(lease));
	store_write(&checking, "new", weir_lease_fence(lease));
	/* The first holder wakes up. */
	store_write(&plain, "old", old);
	store_write(&checking, "old", old);
	printf("without a check: %s\nwith a check: %s\n", plain.value,
	       checking.value);
	if (weir_lease_release(lease) || weir_cluster_close_handle(limit))
		return 1;
	return 0;
}
