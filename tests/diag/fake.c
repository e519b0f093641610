/* SPDX-License-Identifier: MIT */
/* A registry that a test fills in by hand. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * FAKE_SECOND + now.tv_nsec;
}

static void fill_header(struct rg_header *h)
{
	memcpy(h->magic, RG_MAGIC, sizeof(h->magic));
	h->version = RG_VERSION;
	h->order = RG_ORDER;
	h->header_size = sizeof(struct rg_header);
	h->object_size = sizeof(struct rg_object);
	h->context_size = sizeof(struct rg_context);
	h->wait_size = sizeof(struct rg_wait);
	h->event_size = sizeof(struct rg_event);
	h->order_size = sizeof(struct rg_order);
	h->objects = RG_OBJECTS;
	h->contexts = RG_CONTEXTS;
	h->waits = RG_WAITS;
	h->events = RG_EVENTS;
	h->pid = (uint32_t)getpid();
	h->clock = RG_CLOCK_NS;
	h->size = RG_SIZE;
	h->ticks_per_s = (uint64_t)FAKE_SECOND;
	h->start_ns = clock_ns(CLOCK_MONOTONIC);
	h->start_ticks = (uint64_t)h->start_ns;
	h->start_realtime_ns = clock_ns(CLOCK_REALTIME);
	strcpy(h->library, "0.1.0");
	strcpy(h->program, "fake");
}

char *fake_registry(int in_memfd)
{
	int fd = in_memfd ? memfd_create(RG_FILE_NAME, MFD_CLOEXEC) : -1;
	char *base;

	if (in_memfd && (fd < 0 || ftruncate(fd, (off_t)RG_SIZE))) {
		perror("memfd");
		exit(1);
	}
	base = mmap(NULL, RG_SIZE, PROT_READ | PROT_WRITE,
		    in_memfd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (base == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	fill_header(fake_header(base));
	return base;
}

void fake_free(char *base)
{
	munmap(base, RG_SIZE);
}

struct rg_header *fake_header(char *base)
{
	return (struct rg_header *)(void *)base;
}

struct rg_object *fake_object(char *base, uint32_t i)
{
	return (struct rg_object *)(void *)(base + RG_OBJECTS_AT) + i;
}

struct rg_context *fake_context(char *base, uint32_t i)
{
	return (struct rg_context *)(void *)(base + RG_CONTEXTS_AT) + i;
}

struct rg_wait *fake_wait(char *base, uint32_t i)
{
	return (struct rg_wait *)(void *)(base + RG_WAITS_AT) + i;
}

static uint64_t new_id(char *base, uint32_t i)
{
	return ++fake_header(base)->generations << 16 | i;
}

uint64_t fake_add_object(char *base, const char *name, int64_t capacity)
{
	uint32_t i = fake_header(base)->objects_high++;
	struct rg_object *object = fake_object(base, i);

	object->state = RG_LIVE;
	object->id = new_id(base, i);
	object->address = 0x1000 * (i + 1);
	object->capacity = capacity;
	object->since = fake_header(base)->start_ticks;
	snprintf(object->name, sizeof(object->name), "%s", name);
	return object->id;
}

uint64_t fake_add_thread(char *base, uint32_t tid, const char *name)
{
	uint32_t i = fake_header(base)->contexts_high++;
	struct rg_context *context = fake_context(base, i);

	context->state = RG_LIVE;
	context->kind = RG_THREAD;
	context->tid = tid;
	context->id = new_id(base, i);
	context->since = fake_header(base)->start_ticks;
	snprintf(context->name, sizeof(context->name), "%s", name);
	return context->id;
}

void fake_hold(char *base, uint64_t context, uint64_t object, int64_t n,
	       uint64_t site, int64_t age_ns)
{
	struct rg_slot *slot = fake_context(base, context & 0xffff)->slots;
	uint64_t since = fake_header(base)->start_ticks - (uint64_t)age_ns;

	while (slot->object)
		slot++;
	slot->site = site;
	slot->taken = (uint64_t)n;
	slot->since[0] = since / (uint64_t)FAKE_SECOND;
	slot->since[1] = since % (uint64_t)FAKE_SECOND;
	slot->acquires = 1;
	slot->object = object;
}

void fake_add_order(char *base, uint64_t from, uint64_t to, int64_t age_ns)
{
	struct rg_header *header = fake_header(base);

	((struct rg_order *)(void *)(base + RG_ORDERS_AT))
		[header->orders_high++] = (struct rg_order){
			from, to, header->start_ticks - (uint64_t)age_ns, 0
		};
}

struct rg_wait *fake_add_wait(char *base, uint64_t context, uint64_t object,
			      int64_t n, uint64_t site, int64_t age_ns)
{
	struct rg_wait *wait = fake_wait(base, fake_header(base)->waits_high++);

	wait->seq = 2;
	wait->state = RG_LIVE;
	wait->context = context;
	wait->object = object;
	wait->min = wait->max = n;
	wait->site = site;
	wait->since = fake_header(base)->start_ticks - (uint64_t)age_ns;
	wait->deadline_ns = INT64_MAX;
	wait->ticket = ++fake_object(base, object & 0xffff)->next_ticket;
	return wait;
}

/* The deadlock of docs/design/diag.md: two threads, and three behind them. */
static void deadlock(char *base)
{
	uint64_t db = fake_add_object(base, "db_pool", 20);
	uint64_t smtp = fake_add_object(base, "smtp_conn", 2);
	uint64_t one = fake_add_thread(base, 8131, "worker-1");
	uint64_t two = fake_add_thread(base, 8140, "worker-7");

	fake_hold(base, one, db, 10, 0x77, 40 * FAKE_SECOND);
	fake_hold(base, two, smtp, 2, 0x12, 41 * FAKE_SECOND);
	fake_add_wait(base, one, smtp, 1, 0x40, 39 * FAKE_SECOND);
	fake_add_wait(base, two, db, 11, 0x18, 40 * FAKE_SECOND);
	for (uint32_t i = 0; i < 3; i++)
		fake_add_wait(base, fake_add_thread(base, 8151 + i, "late"),
			      db, 1, 0x118, FAKE_SECOND);
}

/*
 * Every record is in use, and each hold and each wait has a call site of its own in
 * the code of this program or of the C library.
 */
static void fill_full(char *base)
{
	const uint64_t here = (uintptr_t)fill_full;
	const uint64_t there = (uintptr_t)printf;
	static uint64_t objects[RG_OBJECTS];
	char name[RG_NAME];

	for (uint32_t i = 0; i < RG_OBJECTS; i++) {
		snprintf(name, sizeof(name), "object-%u", i);
		objects[i] = fake_add_object(base, name, RG_SLOTS);
	}
	for (uint32_t i = 0; i < RG_CONTEXTS; i++) {
		uint64_t context = fake_add_thread(base, 1000 + i, "thread");

		for (uint32_t k = 0; k < RG_SLOTS; k++)
			fake_hold(base, context,
				  objects[(i * RG_SLOTS + k) % RG_OBJECTS], 1,
				  there + 8 * (i * RG_SLOTS + k) % 0x80000,
				  FAKE_SECOND);
		(void)fake_add_wait(base, context,
				    objects[(i + 1) % RG_OBJECTS], 1,
				    here + 8 * i % 0x2000, FAKE_SECOND);
	}
}

/* Add a reader-writer lock as the first object: its writer has all permits. */
static uint64_t add_lock(char *base)
{
	uint64_t lock = fake_add_object(base, "table", 1 << 30);

	fake_object(base, 0)->type = RG_RWLOCK;
	return lock;
}

int fake_scenario(char *base, const char *name)
{
	uint64_t object, one, two;

	if (!strcmp(name, "empty"))
		return 1;
	if (!strcmp(name, "deadlock")) {
		deadlock(base);
		return 1;
	}
	if (!strcmp(name, "accents")) {
		/* The 80th byte of its row is the middle of a character. */
		fake_add_object(base, "caf\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
				      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
				      "\xc3\xa9\xc3\xa9\xc3\xa9", 1);
		return 1;
	}
	if (!strcmp(name, "beside")) {
		deadlock(base);
		fake_hold(base, fake_add_thread(base, 8160, "other"),
			  fake_add_object(base, "cache", 4), 1, 0x9,
			  FAKE_SECOND);
		return 1;
	}
	if (!strcmp(name, "lock")) {
		object = add_lock(base);
		one = fake_add_thread(base, 101, "one");
		fake_hold(base, one, object, 1, 0x10, 5 * FAKE_SECOND);
		fake_add_wait(base, one, object, 1 << 30, 0x11, FAKE_SECOND);
		return 1;
	}
	if (!strcmp(name, "upgraded")) {
		object = add_lock(base);
		one = fake_add_thread(base, 101, "one");
		fake_hold(base, one, object, 1, 0x10, 5 * FAKE_SECOND);
		fake_hold(base, one, object, (1 << 30) - 1, 0x11, FAKE_SECOND);
		return 1;
	}
	if (!strcmp(name, "rate")) {
		object = fake_add_object(base, "mail", 1);
		fake_object(base, 0)->type = RG_RATE;
		fake_object(base, 0)->acquires[RG_IMMEDIATE] = 7;
		fake_object(base, 0)->acquires[RG_TIMEOUT] = 2;
		fake_object(base, 0)->releases = 6;
		fake_hold(base, fake_add_thread(base, 1, "one"), object, 1, 0x10,
			  5 * FAKE_SECOND);
		fake_add_wait(base, fake_add_thread(base, 2, "two"), object, 1,
			      0x20, FAKE_SECOND);
		return 1;
	}
	if (!strcmp(name, "unknown")) {
		(void)add_lock(base);
		fake_object(base, 0)->handed_over = -1;
		return 1;
	}
	if (!strcmp(name, "writer")) {
		object = add_lock(base);
		one = fake_add_thread(base, 101, "one");
		fake_hold(base, one, object, 1 << 30, 0x10, FAKE_SECOND);
		fake_context(base, one & 0xffff)->state = RG_ENDED;
		two = fake_add_thread(base, 102, "two");
		fake_add_wait(base, two, object, 1, 0x20, FAKE_SECOND);
		return 1;
	}
	if (!strcmp(name, "full")) {
		fill_full(base);
		return 1;
	}
	object = fake_add_object(base, "limit", 2);
	one = fake_add_thread(base, 101, "one");
	two = fake_add_thread(base, 102, "two");
	if (!strcmp(name, "unsatisfiable")) {
		fake_add_wait(base, one, object, 3, 0x1, 0)->flags =
			RG_OVERSIZED;
		return 1;
	}
	fake_hold(base, one, object, 2, 0x10, 5 * FAKE_SECOND);
	if (!strcmp(name, "nested")) {
		fake_add_wait(base, one, object, 1, 0x11, FAKE_SECOND);
		return 1;
	}
	fake_add_wait(base, two, object, 1, 0x20, FAKE_SECOND);
	if (!strcmp(name, "slow"))
		return 1;
	if (!strcmp(name, "leaked")) {
		fake_context(base, one & 0xffff)->state = RG_ENDED;
		fake_context(base, one & 0xffff)->ended =
			fake_header(base)->start_ticks - FAKE_SECOND;
		return 1;
	}
	fake_add_wait(base, one, fake_add_object(base, "signal", 0), 1, 0x30, 0);
	if (!strcmp(name, "signal")) {
		fake_object(base, 1)->flags = RG_UNBOUNDED;
		return 1;
	}
	if (!strcmp(name, "handed")) {
		fake_object(base, 1)->flags = RG_HANDED_OVER;
		fake_object(base, 1)->capacity = 1;
		fake_hold(base, two, fake_object(base, 1)->id, 1, 0x31, 0);
		return 1;
	}
	return 0;
}
