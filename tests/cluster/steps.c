/* SPDX-License-Identifier: MIT */
/*
 * Calls in several steps, for the tests:
 *
 *     steps URL again W     acquire and release; then acquire, until standard
 *                           input ends
 *     steps URL until W MS  acquire within MS milliseconds; report the validity
 *     steps URL reduce W K  acquire; then reduce to K; then release
 *     steps URL more W N    acquire; then acquire N more within 500 ms; then
 *                           report the validity and release
 *     steps URL vanish W K  acquire; then reduce to K; report the validity when
 *                           the lease is lost, or after 30 s
 *     steps URL async W     submit one operation, report its result
 *     steps URL lose W      acquire; then submit one operation for one permit
 *                           and report its result; "lost" when the lease is lost
 *     steps URL pass W      acquire; submit one operation; then release the lease,
 *                           and report the result of the operation
 *     steps URL both W      submit one operation; then acquire meanwhile; then
 *                           report the validity of both leases and release them
 *     steps URL cancel W N  acquire; submit N operations for one permit and
 *                           cancel them; then report the validity
 *     steps URL flood W N   acquire; submit N operations for one permit; report
 *                           the validity when all of them have ended
 *
 * "then": after a byte of standard input.  Each step prints a line.  If the
 * variable STEPS_ALARM is set, then a signal handler runs every 50 ms.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "weir/cluster.h"

static weir_cluster *cluster;

static int say(const char *what, weir_err err)
{
	printf("%s %s\n", what, weir_err_name(err));
	fflush(stdout);
	return err != WEIR_OK;
}

/* Returns false at the end of standard input. */
static bool await_byte(void)
{
	char byte;

	return read(0, &byte, 1) == 1;
}

static int release(weir_lease *lease)
{
	return say("released", weir_lease_release(lease));
}

static int again(int64_t weight)
{
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (err)
		return say("acquired", err);
	(void)release(lease);
	(void)await_byte();
	err = weir_cluster_acquire(cluster, weight, NULL, &lease);
	if (err)
		return say("acquired", err);
	(void)say("got", WEIR_OK);
	while (await_byte())
		;
	return release(lease);
}

static int until(int64_t weight, int64_t ms)
{
	weir_lease *lease;
	weir_err err = weir_cluster_acquire_for(cluster, weight, ms * 1000000,
						&lease);

	if (err)
		return say("acquired", err);
	(void)say("got", weir_lease_check(lease));
	return release(lease);
}

static int reduce(int64_t weight, int64_t keep)
{
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (err)
		return say("acquired", err);
	(void)say("got", WEIR_OK);
	(void)await_byte();
	(void)say("reduced", weir_lease_reduce(lease, keep));
	(void)await_byte();
	return release(lease);
}

static int vanish(int64_t weight, int64_t keep)
{
	struct pollfd lost = { .events = POLLIN };
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (err || weir_lease_lost_fd(lease, &lost.fd))
		return say("acquired", err);
	(void)say("got", WEIR_OK);
	(void)await_byte();
	(void)say("reduced", weir_lease_reduce(lease, keep));
	(void)poll(&lost, 1, 30000);
	(void)say("valid", weir_lease_check(lease));
	return release(lease);
}

static int more(int64_t weight, int64_t second)
{
	weir_lease *lease, *none;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (err)
		return say("acquired", err);
	(void)say("got", WEIR_OK);
	(void)await_byte();
	(void)say("more", weir_cluster_acquire_for(cluster, second, 500000000,
						   &none));
	(void)await_byte();
	(void)say("valid", weir_lease_check(lease));
	return release(lease);
}

struct operation {
	weir_cluster_op op;
	weir_lease *lease;
	weir_err err;
};

static int ended;

static void end(weir_cluster_op *op, weir_err err, weir_lease *lease, void *user)
{
	struct operation *o = user;

	(void)op;
	o->err = err;
	o->lease = lease;
	ended++;
}

/* Initialise the loop and submit operations. */
static int submit(weir_loop *loop, struct operation *list, int count,
		  int64_t weight)
{
	if (weir_loop_init(loop))
		return 1;
	for (int i = 0; i < count; i++) {
		weir_cluster_op_init(&list[i].op, cluster, loop, end, &list[i]);
		if (weir_cluster_op_submit(&list[i].op, weight, WEIR_FOREVER) !=
		    WEIR_EQUEUED)
			return 1;
	}
	return 0;
}

/* Wait until all operations have ended. */
static int finish(weir_loop *loop, int count)
{
	while (ended < count) {
		struct pollfd fd = { .fd = weir_loop_fd(loop),
				     .events = POLLIN };

		if (poll(&fd, 1, weir_loop_timeout_ms(loop)) < 0 &&
		    errno != EINTR)
			return 1;
		(void)weir_loop_dispatch(loop);
	}
	return weir_loop_destroy(loop) != WEIR_OK;
}

static int run_operations(struct operation *list, int count, int64_t weight)
{
	weir_loop loop;

	return submit(&loop, list, count, weight) || finish(&loop, count);
}

static int both(int64_t weight)
{
	struct operation one = { .lease = NULL };
	weir_lease *lease;
	weir_loop loop;
	weir_err err;

	if (submit(&loop, &one, 1, weight))
		return 1;
	(void)await_byte();
	err = weir_cluster_acquire(cluster, weight, NULL, &lease);
	if (err)
		return say("acquired", err);
	if (finish(&loop, 1))
		return 1;
	(void)say("got", one.err);
	(void)await_byte();
	(void)say("operation", weir_lease_check(one.lease));
	(void)say("call", weir_lease_check(lease));
	(void)release(one.lease);
	return release(lease);
}

static int async(int64_t weight)
{
	struct operation one = { .lease = NULL };

	if (run_operations(&one, 1, weight))
		return 1;
	(void)say("ended", one.err);
	return one.err ? 1 : release(one.lease);
}

static void lost(weir_lease *lease, void *user)
{
	(void)user;
	(void)say("lost", weir_lease_check(lease));
}

static int lose(int64_t weight)
{
	struct operation one = { .lease = NULL };
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (err)
		return say("acquired", err);
	weir_lease_on_lost(lease, lost, NULL);
	(void)say("got", WEIR_OK);
	(void)await_byte();
	if (run_operations(&one, 1, 1))
		return 1;
	(void)say("ended", one.err);
	if (!one.err)
		(void)release(one.lease);
	return release(lease);
}

static int pass(int64_t weight)
{
	struct operation one = { .lease = NULL };
	weir_lease *lease;
	weir_loop loop;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (err || submit(&loop, &one, 1, weight))
		return say("acquired", err);
	(void)say("got", WEIR_OK);
	(void)await_byte();
	(void)release(lease);
	if (finish(&loop, 1))
		return 1;
	(void)say("ended", one.err);
	return one.err ? 1 : release(one.lease);
}

static int flood(int64_t weight, int count)
{
	struct operation *list = calloc((size_t)count, sizeof(*list));
	weir_lease *lease;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);
	int failed = 0;

	if (!list || err)
		return say("acquired", err);
	if (run_operations(list, count, 1))
		return 1;
	(void)say("flooded", weir_lease_check(lease));
	for (int i = 0; i < count; i++)
		failed += list[i].err || weir_lease_release(list[i].lease);
	printf("failed %d\n", failed);
	free(list);
	return release(lease);
}

static int cancel(int64_t weight, int count)
{
	struct operation *list = calloc((size_t)count, sizeof(*list));
	weir_lease *lease;
	weir_loop loop;
	weir_err err = weir_cluster_acquire(cluster, weight, NULL, &lease);

	if (!list || err)
		return say("acquired", err);
	if (submit(&loop, list, count, 1))
		return 1;
	for (int i = 0; i < count; i++)
		if (weir_cluster_op_cancel(&list[i].op))
			return 1;
	(void)say("cancelled", WEIR_OK);
	if (weir_loop_destroy(&loop))
		return 1;
	(void)await_byte();
	(void)say("valid", weir_lease_check(lease));
	free(list);
	return release(lease);
}

static int run(const char *verb, int64_t first, int64_t second)
{
	if (!strcmp(verb, "again"))
		return again(first);
	if (!strcmp(verb, "until"))
		return until(first, second);
	if (!strcmp(verb, "reduce"))
		return reduce(first, second);
	if (!strcmp(verb, "vanish"))
		return vanish(first, second);
	if (!strcmp(verb, "more"))
		return more(first, second);
	if (!strcmp(verb, "async"))
		return async(first);
	if (!strcmp(verb, "lose"))
		return lose(first);
	if (!strcmp(verb, "pass"))
		return pass(first);
	if (!strcmp(verb, "both"))
		return both(first);
	if (!strcmp(verb, "cancel"))
		return cancel(first, (int)second);
	if (!strcmp(verb, "flood"))
		return flood(first, (int)second);
	return 2;
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void start_alarms(void)
{
	static const struct itimerval often = { { 0, 50000 }, { 0, 50000 } };
	struct sigaction action = { .sa_handler = on_alarm,
				    .sa_flags = SA_RESTART };

	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
	weir_cluster_opts opts = { .label = "steps" };
	int status;

	if (argc < 4)
		return 2;
	if (getenv("STEPS_ALARM"))
		start_alarms();
	if (weir_cluster_open(argv[1], &opts, &cluster))
		return say("open", WEIR_ESYSTEM);
	status = run(argv[2], atoll(argv[3]), argc > 4 ? atoll(argv[4]) : 0);
	return weir_cluster_close_handle(cluster) || status;
}
