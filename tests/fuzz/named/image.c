/* SPDX-License-Identifier: MIT */
/*
 * Fuzz C39: bytes are interpreted as damage to the file of a named semaphore
 * and as calls on it.  Each call may return an error or repair the file.  A
 * crash, a panic or a call that does not return is a failure.
 *
 * The file starts as a file in use: two participants hold permits, and calls
 * wait in the queue, on the oversized list and for idle.  The first byte marks
 * participants as dead.  Then follow steps of STEP bytes each:
 *
 *     what   place (2)   value (4)
 *
 * Half of the steps set a word, the others call.  Words set before the first
 * call are in the file when it is opened; later ones change the open file.
 *
 * One kind of damage is not tried: a lock held by a participant that seems to
 * be alive.  A process that may write the file can keep it locked; the library
 * does not prevent that.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../sequence.h"
#include "check.h"
#include "named/format.h"
#include "named/lock.h"
#include "weir/ctx.h"
#include "weir/named.h"

#define STEP 7
#define STEPS_MAX 64
#define THREADS_MAX 2

/* Damaged words: of the header, of some slots, of some records. */
#define SLOTS 8
#define RECORDS 8
#define HEADER_WORDS (sizeof(struct nm_header) / 4)
#define SLOT_WORDS (sizeof(struct nm_slot) / 4)
#define RECORD_WORDS (sizeof(struct nm_record) / 4)
#define WORDS (HEADER_WORDS + SLOTS * SLOT_WORDS + RECORDS * RECORD_WORDS)

static char folder[] = "/dev/shm/weir-fuzz-XXXXXX";
static char path[64];
static int file = -1;
static struct nm_header *head;
static struct nm_slot *slots;
static struct nm_record *records;

/* A copy of the file in use. */
static struct {
	struct nm_header head;
	struct nm_slot slots[SLOTS];
	struct nm_record records[RECORDS];
} image;

static int64_t steps;

int64_t sequence_steps(void)
{
	return steps;
}

/* The image. */

struct call {
	weir_named *sem;
	weir_ctx *ctx;
	int64_t n;
	check_thread thread;
};

static void *acquire(void *arg)
{
	struct call *call = arg;

	(void)!weir_named_acquire(call->sem, call->n, call->ctx);
	return NULL;
}

static void *wait_idle(void *arg)
{
	struct call *call = arg;

	(void)!weir_named_wait_idle(call->sem, call->ctx);
	return NULL;
}

static uint32_t count_waiting(weir_named *sem)
{
	weir_named_info info;

	CHECK_OK(weir_named_stat(sem, &info, NULL, 0));
	return info.waiters + info.oversized;
}

static void unmap_file(void)
{
	if (file < 0)
		return;
	munmap(head, NM_FILE_SIZE);
	close(file);
	file = -1;
}

static void map_file(int flags)
{
	file = open(path, flags | O_CLOEXEC, 0600);
	CHECK(file >= 0);
	if (flags & O_CREAT)
		CHECK(!ftruncate(file, (off_t)NM_FILE_SIZE));
	head = mmap(NULL, NM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    file, 0);
	CHECK(head != MAP_FAILED);
	slots = (struct nm_slot *)(void *)(head + 1);
	records = (struct nm_record *)(void *)(slots + NM_SLOTS);
}

static void take_image(void)
{
	weir_named_opts opts = { .capacity = 5, .flags = WEIR_NAMED_CREATE,
				 .label = "image" };
	weir_ctx ctx = WEIR_CTX_INIT;
	weir_named *one, *two;
	struct call calls[4];

	CHECK_OK(weir_named_open("image", &opts, &one));
	CHECK_OK(weir_named_open("image", &opts, &two));
	CHECK_OK(weir_named_acquire(one, 3, NULL));
	CHECK_OK(weir_named_acquire(two, 1, NULL));
	calls[0] = (struct call){ .sem = one, .n = 2 };	/* the queue */
	calls[1] = (struct call){ .sem = two, .n = 1 };
	calls[2] = (struct call){ .sem = two, .n = 9 };	/* oversized */
	calls[3] = (struct call){ .sem = one };		/* for idleness */
	for (uint32_t i = 0; i < 4; i++) {
		calls[i].ctx = &ctx;
		calls[i].thread = start(i < 3 ? acquire : wait_idle, &calls[i]);
		while (count_waiting(one) != i + 1)
			sched_yield();
	}
	map_file(O_RDWR);
	memcpy(&image.head, head, sizeof(image.head));
	memcpy(image.slots, slots, sizeof(image.slots));
	memcpy(image.records, records, sizeof(image.records));
	image.head.lock = 0;	/* the threads may be inside */
	weir_ctx_cancel(&ctx);
	for (int i = 0; i < 4; i++)
		finish(calls[i].thread);
	CHECK_OK(weir_ctx_destroy(&ctx));
	CHECK_OK(weir_named_close_handle(one));
	CHECK_OK(weir_named_close_handle(two));
}

void sequence_start(int64_t patience_ns)
{
	(void)patience_ns;
	CHECK(mkdtemp(folder));
	CHECK(!setenv("WEIR_DIR", folder, 1));
	(void)snprintf(path, sizeof(path), "%s/image.weir", folder);
	take_image();
	(void)atexit(sequence_stop);
}

void sequence_stop(void)
{
	if (file < 0)
		return;
	unmap_file();
	unlink(path);
	rmdir(folder);
}

/* Damage. */

static uint32_t *word_at(size_t place)
{
	size_t i = place % WORDS;

	if (i < HEADER_WORDS)
		return (uint32_t *)(void *)head + i;
	i -= HEADER_WORDS;
	if (i < SLOTS * SLOT_WORDS)
		return (uint32_t *)(void *)slots + i;
	return (uint32_t *)(void *)records + (i - SLOTS * SLOT_WORDS);
}

/* Clear the lock if its holder seems to be alive; see above. */
static void free_lock(void)
{
	uint64_t lock = at_load_relaxed(&head->lock);
	uint32_t index = ((uint32_t)lock & NM_LOCK_SLOT_MASK) - 1;

	if (index < NM_SLOTS &&
	    weir_is_alive_(at_load_relaxed(&slots[index].alive.word)))
		at_store_release(&head->lock, (lock | UINT32_MAX) + 1);
}

static bool is_damage(uint8_t what)
{
	return what % 16 < 8;
}

static void damage(uint8_t what, size_t place, uint32_t value)
{
	uint32_t *word = word_at(place);
	uint32_t old = at_load_relaxed(word);

	switch (what % 8) {
	case 0:
		break;
	case 1:			/* references near the end of a table */
		value = (value & 1 ? NM_SLOTS : NM_RECORDS) + value % 7 - 3;
		break;
	case 2:			/* plausible references and states */
		value %= 10;
		break;
	case 3:
		value = old + value % 16 - 8;
		break;
	case 4:
		value = old ^ UINT32_C(1) << value % 32;
		break;
	case 5:
		value = 0;
		break;
	case 6:
		value = UINT32_MAX;
		break;
	default:
		value = UINT32_C(1) << 31;
	}
	at_store_release(word, value);
	/* The lock was changed, or the liveness of its holder. */
	if ((void *)word == &head->lock ||
	    (void *)word == (char *)&head->lock + 4 ||
	    (void *)word >= (void *)slots)
		free_lock();
}

/* Calls. */

struct world {
	weir_named *sems[2];	/* null: not open */
	struct call calls[THREADS_MAX];
	int threads;
};

static void open_one(weir_named **sem, bool create)
{
	weir_named_opts opts = { .capacity = 3, .label = "reader" };
	char why[200] = "";

	opts.flags = create ? WEIR_NAMED_CREATE : 0;
	opts.why = why;
	opts.why_size = sizeof(why);
	/* A failed open must explain the reason. */
	if (weir_named_open("image", &opts, sem)) {
		CHECK(*why);
		*sem = NULL;
	}
}

static void *acquire_for_a_while(void *arg)
{
	struct call *call = arg;

	(void)!weir_named_acquire_for(call->sem, call->n, 300000);
	return NULL;
}

static void start_acquire(struct world *world, weir_named *sem, int64_t n)
{
	struct call *call = &world->calls[world->threads];

	if (world->threads == THREADS_MAX)
		return;
	*call = (struct call){ .sem = sem, .n = n };
	call->thread = start(acquire_for_a_while, call);
	world->threads++;
}

static void join_threads(struct world *world)
{
	while (world->threads)
		finish(world->calls[--world->threads].thread);
}

static void check_stat(weir_named *sem)
{
	weir_named_entry entries[6];
	weir_named_info info;

	if (weir_named_stat(sem, &info, entries, 6))
		return;
	/* The entries can be printed. */
	for (uint32_t i = 0; i < info.entries && i < 6; i++) {
		CHECK(memchr(entries[i].label, 0, sizeof(entries[i].label)));
		CHECK(entries[i].role <= WEIR_NAMED_LOCKS);
	}
}

static void do_call(struct world *world, uint8_t what, uint32_t value)
{
	weir_named **place = &world->sems[value & 1], *sem = *place;
	int64_t n = value >> 1 & 7, got;
	weir_ctx ctx;

	if (!sem) {
		open_one(place, value & 2);
		return;
	}
	switch (what % 8) {
	case 0:
		(void)!weir_named_try_acquire(sem, n);
		break;
	case 1:
		(void)!weir_named_acquire_for(sem, n, 50000);
		break;
	case 2:
		(void)!weir_named_try_release(sem, n);
		break;
	case 3:
		if (value & 16)
			(void)!weir_named_resize(sem, n, NULL);
		else
			(void)!weir_named_forget(sem, n);
		break;
	case 4:
		if (value & 16)
			(void)!weir_named_drain(sem, &got);
		else
			(void)!weir_named_acquire_upto(sem, 0, n, NULL, &got);
		break;
	case 5:
		check_stat(sem);
		break;
	case 6:
		if (!(value & 16)) {
			start_acquire(world, sem, n);
			break;
		}
		CHECK_OK(weir_ctx_init(&ctx, NULL, weir_deadline_after(50000)));
		(void)!weir_named_wait_idle(sem, &ctx);
		CHECK_OK(weir_ctx_destroy(&ctx));
		break;
	default:
		if (value & 16) {
			weir_named_close(sem, value & 32 ? WEIR_CLOSE_NOW :
							   WEIR_CLOSE_DRAIN);
			break;
		}
		join_threads(world);
		CHECK_OK(weir_named_close_handle(sem));
		*place = NULL;
	}
}

/* Write the image to the file and mark participants as dead. */
static void write_image(uint8_t dead)
{
	struct stat ours, there;

	/* An open may have replaced the file. */
	CHECK(!fstat(file, &ours));
	if (stat(path, &there) || there.st_ino != ours.st_ino) {
		unmap_file();
		(void)unlink(path);
		map_file(O_RDWR | O_CREAT | O_EXCL);
	}
	CHECK(!ftruncate(file, 0));
	CHECK(!ftruncate(file, (off_t)NM_FILE_SIZE));
	memcpy(head, &image.head, sizeof(image.head));
	memcpy(slots, image.slots, sizeof(image.slots));
	memcpy(records, image.records, sizeof(image.records));
	for (int i = 0; i < 2; i++)
		if (dead & 1 << i)
			slots[i].alive.word |= WEIR_DIED_;
}

void sequence_run(const uint8_t *bytes, size_t size)
{
	struct world world = { .threads = 0 };
	bool opened = false;

	if (!size)
		return;
	write_image(bytes[0]);
	for (size_t at = 1; at + STEP <= size && at < STEPS_MAX * STEP;
	     at += STEP) {
		uint8_t what = bytes[at];
		size_t place = bytes[at + 1] | (size_t)bytes[at + 2] << 8;
		uint32_t value;

		memcpy(&value, bytes + at + 3, sizeof(value));
		steps++;
		if (is_damage(what)) {
			damage(what, place, value);
			continue;
		}
		if (!opened)
			open_one(&world.sems[0], value & 2);
		opened = true;
		do_call(&world, what, value);
	}
	if (!opened)
		open_one(&world.sems[0], false);
	join_threads(&world);
	for (int i = 0; i < 2; i++)
		if (world.sems[i]) {
			check_stat(world.sems[i]);
			CHECK_OK(weir_named_close_handle(world.sems[i]));
		}
}
