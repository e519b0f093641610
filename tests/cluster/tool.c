/* SPDX-License-Identifier: MIT */
/*
 * Single calls for the tests:
 *
 *     tool URL create N | resize N | close | unlink | stat | doctor | idle
 *     tool URL try W     acquire or fail; release at the end of standard input
 *     tool URL take W    the same, waiting
 *     tool URL crowd W N N calls wait on N threads; ends with standard input
 *
 * Each result is a line on standard output.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir/cluster.h"

static weir_cluster *cluster;
static weir_ctx ctx = WEIR_CTX_INIT;

static int say(const char *what, weir_err err)
{
	char why[256] = "";
	int errnum = errno;

	if (err && cluster)
		weir_cluster_why(cluster, why, sizeof(why));
	printf("%s %s %s%s%s\n", what, weir_err_name(err),
	       err == WEIR_ESYSTEM ? strerrorname_np(errnum) : "",
	       *why ? ": " : "", why);
	fflush(stdout);
	return err != WEIR_OK;
}

static void finding(const char *setting, const char *text, void *user)
{
	(void)user;
	printf("finding %s: %s\n", setting, text);
}

static int print_stat(void)
{
	static weir_cluster_entry entries[2000];
	weir_cluster_info info;
	weir_err err = weir_cluster_stat(cluster, &info, entries, 2000);

	if (err)
		return say("stat", err);
	printf("capacity %lld free %lld held %lld waiters %u oversized %u "
	       "closed %d\n", (long long)info.capacity, (long long)info.free,
	       (long long)info.held, info.waiters, info.oversized, info.closed);
	for (uint32_t i = 0; i < info.entries && i < 2000; i++)
		printf("entry %d weight %lld fence %llu pid %d host %s lease "
		       "%lld label %s\n", entries[i].role,
		       (long long)entries[i].weight,
		       (unsigned long long)entries[i].fence, entries[i].pid,
		       entries[i].host, (long long)entries[i].lease_ms,
		       entries[i].label);
	return 0;
}

static long long realtime_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void lost(weir_lease *lease, void *user)
{
	(void)lease;
	(void)user;
	printf("callback\n");
	fflush(stdout);
}

/* Hold until standard input ends; report a loss. */
static int hold(weir_lease *lease)
{
	struct pollfd fds[2] = { { .fd = 0, .events = POLLIN },
				 { .events = POLLIN } };

	printf("got %lld fence %llu time %lld\n",
	       (long long)weir_lease_weight(lease),
	       (unsigned long long)weir_lease_fence(lease), realtime_us());
	fflush(stdout);
	weir_lease_on_lost(lease, lost, NULL);
	if (weir_lease_lost_fd(lease, &fds[1].fd))
		return 1;
	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (fds[1].revents) {
			printf("lost time %lld check %s\n", realtime_us(),
			       weir_err_name(weir_lease_check(lease)));
			fflush(stdout);
			fds[1].fd = -1;
		}
		if (fds[0].revents)
			break;
	}
	return say("released", weir_lease_release(lease));
}

static void *wait_one(void *arg)
{
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(cluster, (int64_t)(intptr_t)arg,
					    &ctx, &lease);

	if (!err)
		(void)!weir_lease_release(lease);
	return NULL;
}

static int crowd(int64_t weight, int count)
{
	pthread_t *ids = calloc((size_t)count, sizeof(*ids));
	pthread_attr_t small;
	char byte;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; ids && i < count; i++)
		if (pthread_create(&ids[i], &small, wait_one,
				   (void *)(intptr_t)weight))
			return 1;
	while (read(0, &byte, 1) > 0)
		;
	weir_ctx_cancel(&ctx);
	for (int i = 0; ids && i < count; i++)
		pthread_join(ids[i], NULL);
	free(ids);
	return 0;
}

static int run(const char *verb, int64_t value, int count)
{
	weir_lease *lease;
	weir_err err;

	if (!strcmp(verb, "create"))
		return 0;
	if (!strcmp(verb, "stat"))
		return print_stat();
	if (!strcmp(verb, "resize"))
		return say("resize", weir_cluster_resize(cluster, value, NULL));
	if (!strcmp(verb, "close"))
		return say("close", weir_cluster_close(cluster, WEIR_CLOSE_NOW));
	if (!strcmp(verb, "unlink"))
		return say("unlink", weir_cluster_unlink(cluster));
	if (!strcmp(verb, "idle"))
		return say("idle", weir_cluster_wait_idle(cluster, NULL));
	if (!strcmp(verb, "doctor"))
		return say("doctor", weir_cluster_doctor(cluster, finding,
							 NULL));
	if (!strcmp(verb, "crowd"))
		return crowd(value, count);
	if (strcmp(verb, "try") && strcmp(verb, "take"))
		return 2;
	err = *verb == 't' && verb[1] == 'r' ?
	      weir_cluster_try_acquire(cluster, value, &lease) :
	      weir_cluster_acquire(cluster, value, NULL, &lease);
	return err ? say(verb, err) : hold(lease);
}

int main(int argc, char **argv)
{
	char why[256] = "";
	bool create = argc > 2 && !strcmp(argv[2], "create");
	weir_cluster_opts opts = {
		.capacity = create ? atoll(argv[3]) : 0, .label = "tool",
		.flags = create ? WEIR_CLUSTER_CREATE : 0,
		.why = why, .why_size = sizeof(why),
	};
	weir_err err;
	int status;

	if (argc < 3)
		return 2;
	err = weir_cluster_open(argv[1], &opts, &cluster);
	if (err) {
		printf("open %s %s: %s\n", weir_err_name(err),
		       err == WEIR_ESYSTEM ? strerrorname_np(errno) : "", why);
		return 1;
	}
	status = run(argv[2], argc > 3 ? atoll(argv[3]) : 0,
		     argc > 4 ? atoi(argv[4]) : 0);
	err = weir_cluster_close_handle(cluster);
	return err ? say("close_handle", err) : status;
}
