/* SPDX-License-Identifier: MIT */
/*
 * Items through a bounded channel: nanoseconds for each item, with threads=
 * senders and as many receivers, and capacity= slots.  Items are 64-bit
 * numbers; the sums of sent and received items must be equal.
 */
#include <semaphore.h>

#include "patterns.h"

#include "weir/chan.h"

#define BATCH 16

struct kind {
	const char *name;
	void (*init)(int64_t slots);
	void (*send)(struct share *mine);	/* until stopped() */
	void (*recv)(struct share *mine);	/* until the channel ends */
	void (*end)(int receivers);		/* all senders have returned */
};

/*
 * weir: single items, and batches of sixteen.
 */
static weir_chan chan;

static void weir_init(int64_t slots)
{
	must(!weir_chan_init(&chan, NULL, slots, sizeof(uint64_t)), "init");
}

static void weir_send(struct share *mine)
{
	uint64_t sum = 0;

	for (uint64_t item = 1; !stopped(); item++) {
		must(!weir_chan_send(&chan, &item, NULL), "send");
		sum += item;
	}
	mine->sum = sum;
}

static void weir_recv(struct share *mine)
{
	uint64_t item, sum = 0;
	weir_err err;

	while (!(err = weir_chan_recv(&chan, &item, NULL))) {
		sum += item;
		count(mine, 1);
	}
	must(err == WEIR_ECLOSED, "recv");
	mine->sum = sum;
}

static void batch_send(struct share *mine)
{
	uint64_t items[BATCH], item = 1, sum = 0;

	while (!stopped()) {
		size_t sent;

		for (size_t i = 0; i < BATCH; i++) {
			sum += item;
			items[i] = item++;
		}
		must(!weir_chan_send_many(&chan, items, BATCH, NULL, &sent),
		     "send_many");
	}
	mine->sum = sum;
}

static void batch_recv(struct share *mine)
{
	uint64_t items[BATCH], sum = 0;
	size_t got;
	weir_err err;

	while (!(err = weir_chan_recv_many(&chan, items, BATCH, NULL, &got))) {
		for (size_t i = 0; i < got; i++)
			sum += items[i];
		count(mine, got);
	}
	must(err == WEIR_ECLOSED, "recv_many");
	mine->sum = sum;
}

static void weir_end(int receivers)
{
	(void)receivers;
	weir_chan_close(&chan);
}

/*
 * The textbook channel: three POSIX semaphores around a ring.  It cannot be
 * closed: an item of 0 ends a receiver.
 */
static struct {
	sem_t empty, full, mutex;
	uint64_t *ring;
	int64_t slots, head, tail;
} textbook;

static void textbook_init(int64_t slots)
{
	textbook.slots = slots;
	textbook.ring = calloc((size_t)slots, sizeof(uint64_t));
	must(textbook.ring && !sem_init(&textbook.empty, 0, (unsigned)slots) &&
	     !sem_init(&textbook.full, 0, 0) &&
	     !sem_init(&textbook.mutex, 0, 1), "init");
}

static void textbook_put(uint64_t item)
{
	sem_wait(&textbook.empty);
	sem_wait(&textbook.mutex);
	textbook.ring[textbook.tail++] = item;
	if (textbook.tail == textbook.slots)
		textbook.tail = 0;
	sem_post(&textbook.mutex);
	sem_post(&textbook.full);
}

static uint64_t textbook_take(void)
{
	uint64_t item;

	sem_wait(&textbook.full);
	sem_wait(&textbook.mutex);
	item = textbook.ring[textbook.head++];
	if (textbook.head == textbook.slots)
		textbook.head = 0;
	sem_post(&textbook.mutex);
	sem_post(&textbook.empty);
	return item;
}

static void textbook_send(struct share *mine)
{
	uint64_t sum = 0;

	for (uint64_t item = 1; !stopped(); item++) {
		textbook_put(item);
		sum += item;
	}
	mine->sum = sum;
}

static void textbook_recv(struct share *mine)
{
	uint64_t item, sum = 0;

	while ((item = textbook_take()) != 0) {
		sum += item;
		count(mine, 1);
	}
	mine->sum = sum;
}

static void textbook_end(int receivers)
{
	for (int i = 0; i < receivers; i++)
		textbook_put(0);
}

static const struct kind kinds[] = {
	{ "weir", weir_init, weir_send, weir_recv, weir_end },
	{ "weir-batch", weir_init, batch_send, batch_recv, weir_end },
	{ "textbook", textbook_init, textbook_send, textbook_recv,
	  textbook_end },
};

static const struct kind *kind;
static int pairs;
static int sending;

static void work(void *arg, int number)
{
	struct share *mine = &crowd.shares[number];

	(void)arg;
	if (number >= pairs) {
		kind->recv(mine);
		return;
	}
	kind->send(mine);
	if (__atomic_sub_fetch(&sending, 1, __ATOMIC_ACQ_REL) == 0)
		kind->end(pairs);
}

void measure_chan(const struct bench_args *args)
{
	uint64_t sent = 0, received = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(args->kind, kinds[i].name))
			kind = &kinds[i];
	if (!kind)
		bench_cannot(args->kind);
	must(args->threads <= SHARES_MAX / 2, "too many threads");
	pairs = (int)args->threads;
	sending = pairs;
	kind->init(args->capacity);
	crowd_measure(args, 2 * pairs, work);
	for (int i = 0; i < pairs; i++) {
		sent += crowd.shares[i].sum;
		received += crowd.shares[pairs + i].sum;
	}
	must(sent == received, "items were lost");
}
