/* SPDX-License-Identifier: MIT */
/*
 * An event loop that receives results from worker threads: one operation on a
 * channel instead of a pipe and a lock, beside the other descriptors of the
 * loop.  If the loop falls behind, the workers wait.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "weir/chan_async.h"
#include "weir/loop/epoll.h"

#define WORKERS 4
#define BELOW 10000

static weir_chan found;
static weir_loop loop;
static int working = WORKERS;

static bool is_prime(long n)
{
	for (long d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

/*
 * Test every fourth number.  The last worker to finish closes the channel.
 */
static void *work(void *first)
{
	for (long n = (long)first; n < BELOW; n += WORKERS)
		if (is_prime(n) && weir_chan_send(&found, &n, NULL))
			break;
	if (__atomic_sub_fetch(&working, 1, __ATOMIC_ACQ_REL) == 0)
		weir_chan_close(&found);
	return NULL;
}

static struct {
	weir_chan_op op;
	long number;		/* the receive buffer */
	long primes, largest;
	bool over;
} inbox;

/* On the loop's thread: take this number, and all that are available. */
static void arrived(weir_chan_op *op, weir_err err, void *user)
{
	(void)user;
	while (err == WEIR_OK) {
		inbox.primes++;
		if (inbox.number > inbox.largest)
			inbox.largest = inbox.number;
		err = weir_chan_op_recv(op, &found, &inbox.number, NULL);
	}
	inbox.over = err == WEIR_ECLOSED;	/* else the operation waits */
}

int main(void)
{
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &often };
	pthread_t workers[WORKERS];
	unsigned long long ticks, all = 0;

	if (ep < 0 || timer < 0 || timerfd_settime(timer, 0, &often, NULL) ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, timer, &event) ||
	    weir_loop_init(&loop) || weir_loop_epoll_add(ep, &loop, &loop) ||
	    weir_chan_init(&found, NULL, 16, sizeof(long)))
		return 1;
	for (long i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, (void *)i))
			return 1;
	weir_chan_op_init(&inbox.op, &loop, arrived, NULL);
	arrived(&inbox.op, weir_chan_op_recv(&inbox.op, &found, &inbox.number,
					     NULL), NULL);
	while (!inbox.over) {
		int n = weir_loop_epoll_wait(ep, &loop, &event, 1, -1);

		if (n == 1 && event.data.ptr == &often &&
		    read(timer, &ticks, sizeof(ticks)) > 0)
			all += ticks;
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	close(timer);
	close(ep);
	printf("%ld primes from %d workers, the largest %ld; %llu ticks\n",
	       inbox.primes, WORKERS, inbox.largest, all);
	return weir_loop_destroy(&loop) || weir_chan_destroy(&found) ||
	       inbox.primes != 1229;
}
