/* SPDX-License-Identifier: MIT */
/*
 * A pipeline of three stages over two channels: one thread produces numbers,
 * three select the primes, one adds them up.  After a channel is closed, its
 * receivers take the remaining items and end; the last worker closes the next
 * channel.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/chan.h>

#define LIMIT 20000
#define WORKERS 3

static weir_chan numbers, primes;
static atomic_int at_work = WORKERS;

static void must(weir_err err)
{
	if (err != WEIR_OK) {
		fprintf(stderr, "pipeline: %s\n", weir_err_text(err));
		exit(1);
	}
}

static bool is_prime(int n)
{
	for (int d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

static void *make(void *arg)
{
	(void)arg;
	for (int n = 1; n <= LIMIT; n++)
		must(weir_chan_send(&numbers, &n, NULL));
	weir_chan_close(&numbers);
	return NULL;
}

static void *keep(void *arg)
{
	int in[16], out[16];
	size_t n, sent;

	(void)arg;
	while (weir_chan_recv_many(&numbers, in, 16, NULL, &n) == WEIR_OK) {
		size_t kept = 0;

		for (size_t i = 0; i < n; i++)
			if (is_prime(in[i]))
				out[kept++] = in[i];
		must(weir_chan_send_many(&primes, out, kept, NULL, &sent));
	}
	if (atomic_fetch_sub(&at_work, 1) == 1)
		weir_chan_close(&primes);
	return NULL;
}

static pthread_t spawn(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) != 0) {
		fputs("pipeline: cannot make a thread\n", stderr);
		exit(1);
	}
	return thread;
}

int main(void)
{
	pthread_t threads[1 + WORKERS];
	int64_t sum = 0, count = 0, want = 0;
	int prime;

	must(weir_chan_init(&numbers, NULL, 64, sizeof(int)));
	must(weir_chan_init(&primes, NULL, 8, sizeof(int)));
	threads[0] = spawn(make);
	for (int i = 1; i <= WORKERS; i++)
		threads[i] = spawn(keep);
	for (; weir_chan_recv(&primes, &prime, NULL) == WEIR_OK; count++)
		sum += prime;
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (int n = 1; n <= LIMIT; n++)
		want += is_prime(n) ? n : 0;
	must(weir_chan_destroy(&numbers));
	must(weir_chan_destroy(&primes));
	printf("%" PRId64 " primes, sum %" PRId64 ": %s\n", count, sum,
	       sum == want ? "as one thread counts" : "WRONG");
	return sum != want;
}
