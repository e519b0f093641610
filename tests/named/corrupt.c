/* SPDX-License-Identifier: MIT */
/*
 * C39: damaged and hostile files.  For any content of a file the result is an
 * error or a repair: no crash, no endless loop.  open.c has the files that open
 * refuses.
 *
 * A child process uses the damaged file, so that the test notices a crash, and
 * an alarm ends the child if it loops.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "named/format.h"
#include "puppet.h"
#include "weir/ctx.h"

static char path[300];

/* Create a valid file; its path is in `path`. */
static const char *make(int64_t capacity)
{
	const char *name = fresh_name();

	close_named(open_named(name, capacity));
	(void)snprintf(path, sizeof(path), "%s/%s.weir", getenv("WEIR_DIR"),
		       name);
	return name;
}

static uint32_t *map(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *memory;

	CHECK(fd >= 0);
	memory = mmap(NULL, NM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	CHECK(memory != MAP_FAILED);
	close(fd);
	return memory;
}

/* Call everything; the test only requires that every call returns. */
static void ask_everything(weir_named *sem)
{
	weir_named_entry entries[4];
	weir_named_info info;
	int64_t got;

	(void)!weir_named_try_acquire(sem, 1);
	(void)!weir_named_stat(sem, &info, entries, 4);
	(void)!weir_named_acquire_for(sem, 1, 300000);
	(void)!weir_named_acquire_for(sem, 2, 300000);
	(void)!weir_named_try_release(sem, 1);
	(void)!weir_named_resize(sem, 3, NULL);
	(void)!weir_named_acquire_upto(sem, 0, 5, NULL, &got);
	(void)!weir_named_try_release(sem, 1);
	(void)!weir_named_drain(sem, &got);
	(void)!weir_named_forget(sem, 1);
	(void)weir_named_available(sem);
	(void)weir_named_capacity(sem);
	(void)weir_named_is_closed(sem);
	weir_named_close(sem, WEIR_CLOSE_NOW);
	(void)!weir_named_stat(sem, &info, entries, 4);
}

static void *wait_a_little(void *arg)
{
	weir_named *sem = arg;

	(void)!weir_named_acquire_for(sem, 2, 400000);
	return NULL;
}

/* In a child: open the file, damage one word, call everything, close. */
static void survive(const char *name, uint32_t *words, size_t at,
		    uint32_t value)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		weir_named_opts opts = { .flags = 0 };
		weir_named *sem, *late;
		check_thread thread;

		alarm(60);
		if (weir_named_open(name, &opts, &sem) ||
		    weir_named_acquire(sem, 1, NULL))
			_exit(1);
		thread = start(wait_a_little, sem);
		__atomic_store_n(&words[at], value, __ATOMIC_SEQ_CST);
		ask_everything(sem);
		/* A later open is refused or succeeds. */
		if (!weir_named_open(name, &opts, &late)) {
			ask_everything(late);
			(void)!weir_named_close_handle(late);
		}
		finish(thread);
		(void)!weir_named_close_handle(sem);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		check_fail(__FILE__, __LINE__,
			   "word %zu set to %" PRIx32 ": status %x", at, value,
			   (unsigned)status);
}

TEST(c39_every_word_set_to_anything)
{
	static const size_t slots = sizeof(struct nm_header) / 4;
	static const size_t records = slots + NM_SLOTS *
				      sizeof(struct nm_slot) / 4;
	size_t places[400], count = 0;
	uint64_t random = seed_of(1);
	int64_t tried = 0;

	for (size_t i = 0; i < 64; i++)		/* the header's fields */
		places[count++] = i;
	places[count++] = 80;			/* sets of watched slots */
	places[count++] = 208;
	for (size_t i = 0; i < 26; i++) {	/* two participants */
		places[count++] = slots + i;
		places[count++] = slots + 64 + i;
	}
	for (size_t i = 0; i < 18; i++) {	/* two waiting calls */
		places[count++] = records + i;
		places[count++] = records + 32 + i;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t values[5] = { 0, UINT32_MAX, UINT32_C(1) << 31, 1,
				       (uint32_t)next_random(&random) };

		for (int k = 0; k < 5; k++) {
			const char *name = make(2);
			uint32_t *words = map();

			survive(name, words, places[i], values[k]);
			munmap(words, NM_FILE_SIZE);
			CHECK(!unlink(path));
			tried++;
		}
	}
	printf("evidence: damaged words survived | %" PRId64 "\n", tried);
}

/* One process writes random words to the file while another uses it. */
TEST(c39_concurrent_random_writes)
{
	for (int round = 0; round < 6 * check_scale(); round++) {
		const char *name = make(2);
		uint64_t random = seed_of((uint64_t)round);
		uint32_t *words = map();
		int64_t until;
		int status;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			weir_named_opts opts = { .flags = 0 };

			alarm(60);
			for (int i = 0; i < 60; i++) {
				weir_named *sem;

				if (weir_named_open(name, &opts, &sem))
					continue;
				ask_everything(sem);
				(void)!weir_named_close_handle(sem);
			}
			_exit(0);
		}
		until = weir_deadline_after(INT64_C(20000000000));
		while (!waitpid(pid, &status, WNOHANG)) {
			/* Not the constant fields: open would refuse. */
			size_t at = 32 + (size_t)random_below(&random, 2000);
			uint32_t value = random_below(&random, 2) ?
				(uint32_t)random_below(&random, 10) :
				(uint32_t)next_random(&random);

			/* The lock may never come free: clear it. */
			if (weir_now_ns() > until)
				__atomic_store_n(&words[32], 0,
						 __ATOMIC_SEQ_CST);
			else
				__atomic_store_n(&words[at], value,
						 __ATOMIC_SEQ_CST);
		}
		if (status)
			check_fail(__FILE__, __LINE__, "status %x",
				   (unsigned)status);
		munmap(words, NM_FILE_SIZE);
		CHECK(!unlink(path));
	}
}

static void *wait_for_ever(void *arg)
{
	errno = 0;
	CHECK_ERR(weir_named_acquire(arg, 1, NULL), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	return NULL;
}

/*
 * A call that waits when its slot is erased returns an error, and does not wait
 * forever.
 */
TEST(c39_a_wait_ends_when_its_slot_is_erased)
{
	const char *name = make(1);
	weir_named *sem = open_named(name, 1), *other = open_named(name, 1);
	struct nm_header *head = (struct nm_header *)(void *)map();
	struct nm_slot *slots = (struct nm_slot *)(void *)(head + 1);
	check_thread thread;

	CHECK_OK(weir_named_acquire(other, 1, NULL));
	thread = start(wait_for_ever, sem);
	AWAIT(look_at(other).waiters == 1);
	/* sem was opened first, so it has the first slot. */
	__atomic_store_n(&slots[0].state, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&slots[0].kick, 1, __ATOMIC_SEQ_CST);
	/* Wake the keeper, here by a change of the capacity. */
	CHECK_OK(weir_named_resize(other, 2, NULL));
	finish(thread);
	errno = 0;
	CHECK_ERR(weir_named_try_acquire(sem, 1), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	close_named(sem);
	close_named(other);
	munmap(head, NM_FILE_SIZE);
}

/* The same without another participant: the keeper of the slot ends the wait. */
TEST(c39_the_keeper_of_an_erased_slot_ends_its_waits)
{
	weir_named *sem = open_named(make(1), 1);
	struct nm_header *head = (struct nm_header *)(void *)map();
	struct nm_slot *slots = (struct nm_slot *)(void *)(head + 1);
	check_thread thread;

	CHECK_OK(weir_named_acquire(sem, 1, NULL));
	thread = start(wait_for_ever, sem);
	AWAIT(look_at(sem).waiters == 1);
	at_store_release(&slots[0].state, 0);
	at_add_acq_rel(&slots[0].kick, 1);
	weir_shared_wake_all_(&slots[0].kick);
	/* Without futex_waitv the keeper may sleep on this word. */
	weir_shared_wake_all_(&head->obituary);
	finish(thread);
	close_named(sem);
	munmap(head, NM_FILE_SIZE);
}

/* Contradictions between the head of the queue and the rest of the file. */
enum damage {
	STATE, FREED, TAKEN, NONSENSE, LINKED, MIN, MAX, VALUE, OWNER,
	OWNER_STATE, BEYOND, LEFT
};

static void damage(struct nm_header *head, struct nm_record *record,
		   enum damage what)
{
	uint32_t word = at_load_relaxed(&record->state) & ~NM_REC_MASK;

	if (what == STATE)
		at_store_relaxed(&record->state, word | NM_REC_GRANTED);
	else if (what == FREED)
		at_store_relaxed(&record->state, word | NM_REC_FREE);
	else if (what == TAKEN)
		at_store_relaxed(&record->state, word | NM_REC_TAKEN);
	else if (what == NONSENSE)
		at_store_relaxed(&record->state, word | (NM_REC_LEFT + 1));
	else if (what == LINKED)
		record->linked = NM_REC_IDLE;
	else if (what == MIN)
		record->min = 0;
	else if (what == MAX)
		record->max = 0;
	else if (what == VALUE)
		head->value = head->capacity + 1;
	else if (what == OWNER)
		record->owner = 0;
	else if (what == OWNER_STATE)
		record->owner_state += NM_SLOT_MASK + 1;
	else if (what == BEYOND) {
		/* The first record follows the last slot. */
		record->owner = NM_SLOTS + 1;
		record->owner_state = at_load_relaxed(&record->state);
	} else {
		/* No contradiction: its call has left without the lock. */
		at_store_relaxed(&record->state, word | NM_REC_LEFT);
	}
}

static void *wait_for_one(void *arg)
{
	(void)!weir_named_acquire(arg, 1, NULL);
	return NULL;
}

static void *wait_behind(void *arg)
{
	CHECK_OK(weir_named_acquire(arg, 1, NULL));
	return NULL;
}

/* A release finds the contradiction, repairs the file, and grants. */
static void release_repairs(enum damage what)
{
	const char *name = make(2);
	weir_named *sem = open_named(name, 2), *other = open_named(name, 2);
	struct nm_header *head = (struct nm_header *)(void *)map();
	struct nm_record *record = (struct nm_record *)(void *)
		((struct nm_slot *)(void *)(head + 1) + NM_SLOTS);
	check_thread first, second;

	CHECK_OK(weir_named_acquire(sem, 2, NULL));
	first = start(wait_for_one, other);
	AWAIT(look_at(sem).waiters == 1);
	second = start(wait_behind, other);
	AWAIT(look_at(sem).waiters == 2);
	CHECK_EQ(head->repairs, 0);
	record += head->queue_first - 1;
	damage(head, record, what);
	weir_named_release(sem, 2);
	CHECK_EQ(head->repairs, what != LEFT);
	finish(second);
	/* No other process wakes the thread of a damaged record. */
	finish(first);
	close_named(sem);
	close_named(other);
	munmap(head, NM_FILE_SIZE);
	CHECK(!unlink(path));
}

TEST(c39_a_contradiction_at_the_head_is_repaired)
{
	for (enum damage what = STATE; what <= LEFT; what++)
		release_repairs(what);
}

/* The record of the only waiting call. */
static struct nm_record *only_record(struct nm_header *head)
{
	CHECK_EQ(head->records_high, 1);
	return (struct nm_record *)(void *)
		((struct nm_slot *)(void *)(head + 1) + NM_SLOTS);
}

static weir_ctx ctx;

static void *wait_in_context(void *arg)
{
	CHECK_ERR(weir_named_acquire(arg, 1, &ctx), WEIR_ESYSTEM);
	return NULL;
}

/* A cancel ends the wait, whatever the file contains. */
TEST(c39_a_cancel_ends_a_wait_whose_record_was_erased)
{
	const char *name = make(1);
	weir_named *sem = open_named(name, 1), *other = open_named(name, 1);
	struct nm_header *head = (struct nm_header *)(void *)map();
	check_thread thread;

	CHECK_OK(weir_ctx_init(&ctx, NULL, WEIR_FOREVER));
	CHECK_OK(weir_named_acquire(other, 1, NULL));
	thread = start(wait_in_context, sem);
	AWAIT(look_at(other).waiters == 1);
	memset(only_record(head), 0, sizeof(struct nm_record));
	weir_ctx_cancel(&ctx);
	finish(thread);
	CHECK_OK(weir_ctx_destroy(&ctx));
	close_named(sem);
	close_named(other);
	munmap(head, NM_FILE_SIZE);
}

static void *wait_idle(void *arg)
{
	(void)!weir_named_wait_idle(arg, NULL);
	return NULL;
}

/* A wait for idle ends when the semaphore is idle, whatever its state. */
TEST(c39_a_wait_for_idle_ends_when_its_record_is_damaged)
{
	static const uint32_t states[] = { NM_REC_FREE, NM_REC_TAKEN,
					   NM_REC_LEFT, NM_REC_LEFT + 1 };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		const char *name = make(1);
		weir_named *sem = open_named(name, 1);
		weir_named *other = open_named(name, 1);
		struct nm_header *head = (struct nm_header *)(void *)map();
		check_thread thread;

		CHECK_OK(weir_named_acquire(other, 1, NULL));
		thread = start(wait_idle, sem);
		AWAIT(look_at(other).oversized == 1);
		at_store_relaxed(&only_record(head)->state, states[i]);
		weir_named_release(other, 1);
		/* LEFT is no contradiction: its call has left without the lock. */
		CHECK_EQ(head->repairs, states[i] != NM_REC_LEFT);
		finish(thread);
		close_named(sem);
		close_named(other);
		munmap(head, NM_FILE_SIZE);
		CHECK(!unlink(path));
	}
}
