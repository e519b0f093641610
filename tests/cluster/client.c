/* SPDX-License-Identifier: MIT */
/*
 * A client for the tests of histories: client URL LOG SEED MS [THREADS]
 *
 * Its threads acquire and release at random and append lines to LOG, each with
 * one write(2), so that the lines of all clients are in one order:
 *
 *     TIME CLIENT EVENT OPERATION NUMBER...
 *
 *     ask   weight               before a call
 *     got   weight fence ticket place
 *                                the call has returned a lease; the place in
 *                                the queue that the engine told; 0: none
 *     fail  error                the call has failed
 *     back  until                before a release; the lease is valid until then
 *     done  error                the release has returned
 *     lost  until                the lease was lost
 *
 * Times are CLOCK_REALTIME in microseconds, as are the fences of Redis.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cluster/handle.h"

static weir_cluster *cluster;
static int log_fd;
static int64_t ends;

static int64_t clock_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

__attribute__((format(printf, 3, 4)))
static void event(const char *what, const char *operation, const char *format,
		  ...)
{
	char line[256];
	va_list arguments;
	int used;

	used = snprintf(line, sizeof(line), "%lld %d %s %s ",
			(long long)clock_us(CLOCK_REALTIME), (int)getpid(),
			what, operation);
	va_start(arguments, format);
	used += vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format,
			  arguments);
	va_end(arguments);
	line[used++] = '\n';
	if (write(log_fd, line, (size_t)used) != used)
		_exit(3);
}

/*
 * The end of the lease's validity, on CLOCK_REALTIME.  CLOCK_REALTIME is read first:
 * if the thread is preempted between the two, the result is too early, not too late.
 */
static long long until_of(const weir_lease *lease)
{
	int64_t offset = clock_us(CLOCK_REALTIME);

	offset -= clock_us(CLOCK_BOOTTIME);
	pthread_mutex_lock(&lease->cluster->lock);
	offset += valid_until(lease) / 1000;
	pthread_mutex_unlock(&lease->cluster->lock);
	return offset;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t below(uint64_t *state, int64_t limit)
{
	return (int64_t)(next_random(state) % (uint64_t)limit);
}

static weir_err request(uint64_t *random, int64_t weight, weir_lease **lease)
{
	weir_ctx ctx;
	weir_err err;

	switch (below(random, 10)) {
	case 0:
		return weir_cluster_try_acquire(cluster, weight, lease);
	case 1:
		return weir_cluster_acquire_for(cluster, weight,
						below(random, 50000000), lease);
	case 2:
		(void)!weir_ctx_init(&ctx, NULL, weir_deadline_after(
				     below(random, 50000000)));
		err = weir_cluster_acquire(cluster, weight, &ctx, lease);
		(void)!weir_ctx_destroy(&ctx);
		return err;
	default:
		return weir_cluster_acquire_for(cluster, weight, ends -
						weir_now_ns(), lease);
	}
}

/* Hold the lease for a while.  Returns false if it was lost. */
static bool hold(weir_lease *lease, int64_t microseconds)
{
	struct pollfd lost = { .events = POLLIN };
	int64_t end = weir_deadline_after(microseconds * 1000);

	if (weir_lease_lost_fd(lease, &lost.fd))
		_exit(4);
	do {
		if (poll(&lost, 1, (int)(microseconds / 1000)) > 0)
			return false;
	} while (weir_now_ns() < end);
	return weir_lease_check(lease) == WEIR_OK;
}

/* Mostly short; some longer than the TTL of the tests. */
static int64_t duration(uint64_t *random)
{
	if (below(random, 5))
		return below(random, 3000);
	return below(random, 15) ? below(random, 60000) : 1500000;
}

static void round_of(uint64_t *random, const char *operation)
{
	int64_t weight = 1 + below(random, 4);
	weir_lease *lease;
	weir_err err;

	event("ask", operation, "%lld", (long long)weight);
	err = request(random, weight, &lease);
	if (err) {
		event("fail", operation, "%s", weir_err_name(err));
		return;
	}
	event("got", operation, "%lld %llu %llu %u",
	      (long long)weir_lease_weight(lease),
	      (unsigned long long)weir_lease_fence(lease),
	      (unsigned long long)lease->ticket, (unsigned)lease->place);
	if (!hold(lease, duration(random)))
		event("lost", operation, "%lld", until_of(lease));
	event("back", operation, "%lld", until_of(lease));
	err = weir_lease_release(lease);
	event("done", operation, "%s", weir_err_name(err));
}

static void *work(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15u + 1;
	char operation[64];

	for (int i = 0; weir_now_ns() < ends; i++) {
		(void)snprintf(operation, sizeof(operation), "%d.%llu.%d",
			       (int)getpid(),
			       (unsigned long long)(uintptr_t)arg, i);
		round_of(&random, operation);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	weir_cluster_opts opts = { .label = "client" };
	int threads = argc > 5 ? atoi(argv[5]) : 2;
	pthread_t ids[64];

	if (argc < 5 || threads > 64)
		return 2;
	log_fd = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	ends = weir_deadline_after(atoll(argv[4]) * 1000000);
	while (weir_cluster_open(argv[1], &opts, &cluster))
		if (weir_now_ns() > ends)
			return 1;
		else
			usleep(10000);
	for (uintptr_t i = 0; i < (uintptr_t)threads; i++)
		if (pthread_create(&ids[i], NULL, work,
				   (void *)(strtoul(argv[3], NULL, 10) * 100 +
					    i + 1)))
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return weir_cluster_close_handle(cluster) != WEIR_OK;
}
