/* SPDX-License-Identifier: MIT */
/*
 * How long an item takes through a channel: nanoseconds for each, from the first
 * send to the last receive.
 *
 *     bench-chan KIND SLOTS SENDERS RECEIVERS ITEMS
 *
 * KIND: weir; weir-batch, sixteen at a time; textbook, three POSIX semaphores
 * around a ring.  Items are 64-bit numbers, and their sum is checked.
 */
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir/chan.h"

#define BATCH 16
#define THREADS_MAX 64

static void must(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "bench-chan: %s\n", what);
		exit(1);
	}
}

/*
 * The three ways.
 */
struct way {
	const char *name;
	void (*begin)(int64_t slots);
	void (*send)(uint64_t from, uint64_t to);
	uint64_t (*recv)(uint64_t n);		/* their sum */
};

static weir_chan chan;

static void weir_begin(int64_t slots)
{
	must(!weir_chan_init(&chan, NULL, slots, sizeof(uint64_t)), "init");
}

static void weir_send(uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		must(!weir_chan_send(&chan, &from, NULL), "send");
}

static uint64_t weir_recv(uint64_t n)
{
	uint64_t item, sum = 0;

	for (; n; n--, sum += item)
		must(!weir_chan_recv(&chan, &item, NULL), "recv");
	return sum;
}

static void batch_send(uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t items[BATCH];
		size_t n = 0, sent;

		while (n < BATCH && from < to)
			items[n++] = from++;
		must(!weir_chan_send_many(&chan, items, n, NULL, &sent),
		     "send_many");
	}
}

static uint64_t batch_recv(uint64_t n)
{
	uint64_t items[BATCH], sum = 0;
	size_t got;

	for (; n; n -= got) {
		must(!weir_chan_recv_many(&chan, items, n < BATCH ? n : BATCH,
					  NULL, &got), "recv_many");
		for (size_t i = 0; i < got; i++)
			sum += items[i];
	}
	return sum;
}

static sem_t empty, full, mutex;
static uint64_t *ring;
static int64_t head, tail, capacity;

static void textbook_begin(int64_t slots)
{
	capacity = slots;
	ring = calloc((size_t)slots, sizeof(*ring));
	must(ring && !sem_init(&empty, 0, (unsigned)slots) &&
	     !sem_init(&full, 0, 0) && !sem_init(&mutex, 0, 1), "init");
}

static void textbook_send(uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		sem_wait(&empty);
		sem_wait(&mutex);
		ring[tail] = from;
		tail = tail + 1 == capacity ? 0 : tail + 1;
		sem_post(&mutex);
		sem_post(&full);
	}
}

static uint64_t textbook_recv(uint64_t n)
{
	uint64_t sum = 0;

	for (; n; n--) {
		sem_wait(&full);
		sem_wait(&mutex);
		sum += ring[head];
		head = head + 1 == capacity ? 0 : head + 1;
		sem_post(&mutex);
		sem_post(&empty);
	}
	return sum;
}

static const struct way ways[] = {
	{ "weir", weir_begin, weir_send, weir_recv },
	{ "weir-batch", weir_begin, batch_send, batch_recv },
	{ "textbook", textbook_begin, textbook_send, textbook_recv },
};

static const struct way *way;
static uint64_t total;		/* of all sums */

struct part {
	pthread_t thread;
	uint64_t from, to;
};

static void *sender(void *arg)
{
	const struct part *part = arg;

	way->send(part->from, part->to);
	return NULL;
}

static void *receiver(void *arg)
{
	const struct part *part = arg;
	uint64_t sum = way->recv(part->to - part->from);

	__atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
	return NULL;
}

static void start(struct part *parts, int n, uint64_t items, void *(*run)(void *))
{
	for (int i = 0; i < n; i++) {
		parts[i].from = items * (uint64_t)i / (uint64_t)n;
		parts[i].to = items * (uint64_t)(i + 1) / (uint64_t)n;
		must(!pthread_create(&parts[i].thread, NULL, run, &parts[i]),
		     "thread");
	}
}

int main(int argc, char **argv)
{
	struct part senders[THREADS_MAX], receivers[THREADS_MAX];
	struct timespec begun, ended;
	int in = argc == 6 ? atoi(argv[3]) : 0;
	int out = argc == 6 ? atoi(argv[4]) : 0;
	uint64_t items;

	for (size_t i = 0; in && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(argv[1], ways[i].name))
			way = &ways[i];
	must(way && in > 0 && in <= THREADS_MAX && out > 0 &&
	     out <= THREADS_MAX && atoll(argv[2]) > 0 && atoll(argv[5]) > 0,
	     "KIND SLOTS SENDERS RECEIVERS ITEMS");
	items = strtoull(argv[5], NULL, 10);
	way->begin(atoll(argv[2]));
	clock_gettime(CLOCK_MONOTONIC, &begun);
	start(senders, in, items, sender);
	start(receivers, out, items, receiver);
	for (int i = 0; i < in; i++)
		pthread_join(senders[i].thread, NULL);
	for (int i = 0; i < out; i++)
		pthread_join(receivers[i].thread, NULL);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	must(total == items * (items - 1) / 2, "items were lost");
	printf("%.1f\n", ((double)(ended.tv_sec - begun.tv_sec) * 1e9 +
			  (double)(ended.tv_nsec - begun.tv_nsec)) /
				 (double)items);
	return 0;
}
