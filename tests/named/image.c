/* SPDX-License-Identifier: MIT */
/*
 * C39: private copies of the file.  The tables of these files are set up by the
 * test, up to their last elements.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/ticks.h"
#include "file.h"
#include "named/entries.h"
#include "named/image.h"
#include "named/lock.h"
#include "puppet.h"

static struct nm_record *records_of(const struct file *file)
{
	return (struct nm_record *)(void *)(file->slots + NM_SLOTS);
}

TEST(c39_sums_do_not_overflow)
{
	CHECK_EQ(nm_sum(2, 3), 5);
	CHECK_EQ(nm_sum(2, -3), 2);
	CHECK_EQ(nm_sum(-2, 3), -2);
	CHECK_EQ(nm_sum(-2, INT64_MAX), -2);
	CHECK_EQ(nm_sum(0, INT64_MAX), INT64_MAX);
	CHECK_EQ(nm_sum(1, INT64_MAX), INT64_MAX);
}

/* A semaphore without participants, its file, and an observer. */
static weir_named *observe_as(weir_named_policy policy, struct file *file)
{
	weir_named_opts opts = { .capacity = 1, .policy = policy,
				 .flags = WEIR_NAMED_CREATE };
	const char *name = fresh_name();
	weir_named *observer;

	CHECK_OK(weir_named_open(name, &opts, &observer));
	close_named(observer);
	opts.flags = WEIR_NAMED_OBSERVER;
	*file = map_file(name);
	memset(file->slots, 0, sizeof(*file->slots));
	CHECK_OK(weir_named_open(name, &opts, &observer));
	return observer;
}

static weir_named *observe(struct file *file)
{
	return observe_as(WEIR_NAMED_FAST, file);
}

static void finish_with(weir_named *observer, struct file *file)
{
	close_named(observer);
	unmap_file(file);
}

/* Elements at the ends of the table and of the parts that are read at once. */
static const uint32_t slots[] = { 0, 1, 63, 64, 65, 127, 200, NM_SLOTS - 64,
				  NM_SLOTS - 1 };
static const uint32_t records[] = { 0, 127, 128, 129, 255, 1000,
				    NM_RECORDS - 129, NM_RECORDS - 1 };
#define SLOT_COUNT (sizeof(slots) / sizeof(slots[0]))
#define RECORD_COUNT (sizeof(records) / sizeof(records[0]))

static void fill(struct file *file)
{
	for (uint32_t i = 0; i < SLOT_COUNT; i++)
		file->slots[slots[i]] = (struct nm_slot){
			.state = 4 * (i + 1) + NM_SLOT_LIVE, .pid = slots[i]
		};
	for (uint32_t i = 0; i < RECORD_COUNT; i++)
		records_of(file)[records[i]] = (struct nm_record){
			.state = NM_REC_USE * i + NM_REC_WAITS + i,
			.owner = records[i]
		};
	/* These are not in use. */
	file->slots[2] = (struct nm_slot){ .state = 8 + NM_SLOT_CLAIMED,
					   .pid = 1 };
	file->slots[3] = (struct nm_slot){ .state = 8, .pid = 1 };
	records_of(file)[1] = (struct nm_record){ .state = NM_REC_USE,
						  .owner = 1 };
}

/* The copy has the first elements of the lists above, and no others. */
static void check_copy(const struct nm_image *image, uint32_t slot_count,
		       uint32_t record_count)
{
	uint32_t sum = 0, all = 0;

	CHECK_EQ(image->slot_count, slot_count);
	CHECK_EQ(image->record_count, record_count);
	for (uint32_t i = 0; i < slot_count; i++) {
		CHECK_EQ(image->used_slots[i], slots[i]);
		CHECK_EQ(image->slots[slots[i]].state / 4, i + 1);
		CHECK_EQ(image->slots[slots[i]].pid, slots[i]);
		sum += slots[i];
	}
	for (uint32_t i = 0; i < NM_SLOTS; i++)
		all += image->slots[i].pid;
	CHECK_EQ(all, sum);
	all = sum = 0;
	for (uint32_t i = 0; i < record_count; i++) {
		CHECK_EQ(image->used_records[i], records[i]);
		CHECK_EQ(image->records[records[i]].state / NM_REC_USE, i);
		CHECK_EQ(image->records[records[i]].owner, records[i]);
		sum += records[i];
	}
	for (uint32_t i = 0; i < NM_RECORDS; i++)
		all += image->records[i].owner;
	CHECK_EQ(all, sum);
}

static void check_image(weir_named *observer, uint32_t slot_count,
			uint32_t record_count)
{
	struct nm_image image;

	/* An errno of the past does not matter. */
	errno = ENXIO;
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK(image.consistent);
	CHECK(!image.stuck);
	check_copy(&image, slot_count, record_count);
	/* The lists and tables do not overlap. */
	CHECK((char *)image.records >= (char *)(image.slots + NM_SLOTS));
	CHECK((char *)image.places >= (char *)(image.records + NM_RECORDS));
	CHECK((char *)image.used_slots >= (char *)(image.places + NM_RECORDS));
	CHECK(image.used_records >= image.used_slots + NM_SLOTS);
	weir_nm_image_free_(&image);
	CHECK(!image.slots);
}

TEST(c39_a_copy_has_the_elements_in_use)
{
	struct file file;
	weir_named *observer = observe(&file);

	check_image(observer, 0, 0);
	fill(&file);
	/* The header limits the tables, and the tables limit the header. */
	file.head->slots_high = 0;
	file.head->records_high = 0;
	check_image(observer, 0, 0);
	file.head->slots_high = 1;
	file.head->records_high = 1;
	check_image(observer, 1, 1);
	file.head->slots_high = 65;
	file.head->records_high = 129;
	check_image(observer, 4, 3);
	file.head->slots_high = NM_SLOTS - 1;
	file.head->records_high = NM_RECORDS - 1;
	check_image(observer, SLOT_COUNT - 1, RECORD_COUNT - 1);
	file.head->slots_high = NM_SLOTS;
	file.head->records_high = NM_RECORDS;
	check_image(observer, SLOT_COUNT, RECORD_COUNT);
	file.head->slots_high = file.head->records_high = UINT32_MAX;
	check_image(observer, SLOT_COUNT, RECORD_COUNT);
	finish_with(observer, &file);
}

/* Storage is reserved for all elements: there are no holes. */
TEST(c39_a_copy_of_a_file_without_holes)
{
	struct file file;
	weir_named *observer = observe(&file);

	memset(file.slots, 0, NM_FILE_SIZE - sizeof(struct nm_header));
	fill(&file);
	file.head->slots_high = NM_SLOTS;
	file.head->records_high = NM_RECORDS;
	check_image(observer, SLOT_COUNT, RECORD_COUNT);
	finish_with(observer, &file);
}

/* The first elements have no storage. */
TEST(c39_a_copy_of_a_table_that_begins_with_a_hole)
{
	struct file file;
	weir_named *observer = observe(&file);
	struct nm_image image;

	records_of(&file)[1000].state = NM_REC_WAITS;
	records_of(&file)[1200].state = NM_REC_WAITS;
	file.head->records_high = NM_RECORDS;
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK_EQ(image.record_count, 2);
	CHECK_EQ(image.used_records[0], 1000);
	CHECK_EQ(image.used_records[1], 1200);
	weir_nm_image_free_(&image);
	finish_with(observer, &file);
}

/*
 * The file has grown since it was opened.  Behind the tables is a hole, and its next
 * data is 2^32 slots away, which as a number of 32 bits is 0.  A reader that
 * returned to the first slot would not end, and write behind its lists.
 */
TEST(c39_a_copy_of_a_file_that_has_grown)
{
	struct file file;
	weir_named *observer = observe(&file);
	off_t far = (off_t)sizeof(struct nm_header) +
		    ((off_t)1 << 32) * (off_t)sizeof(struct nm_slot);
	struct nm_image image;

	for (uint32_t i = 0; i < 64; i++)
		file.slots[i].state = 4 + NM_SLOT_LIVE;
	file.head->slots_high = NM_SLOTS;
	if (pwrite(file.fd, "", 1, far) != 1) {
		/* The file system has no files of this size. */
		CHECK_EQ(errno, EFBIG);
		finish_with(observer, &file);
		check_skip("the file system has no large files");
		return;
	}
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK_EQ(image.slot_count, 64);
	CHECK_EQ(image.record_count, 0);
	weir_nm_image_free_(&image);
	finish_with(observer, &file);
}

/* The size of the address space in bytes. */
static int64_t memory(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long long pages;

	CHECK(file);
	CHECK_EQ(fscanf(file, "%lld", &pages), 1);
	CHECK(!fclose(file));
	return pages * sysconf(_SC_PAGESIZE);
}

/* A copy is made again while the lock is held; the memory is not. */
TEST(c42_a_copy_while_the_lock_is_held)
{
	struct file file;
	weir_named *observer = observe(&file);
	uint64_t free = at_load_relaxed(&file.head->lock);
	int64_t before = memory();
	struct nm_image image;

	fill(&file);
	at_store_relaxed(&file.head->lock, free | 1);
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK(!image.consistent);
	CHECK(image.stuck);
	CHECK_EQ(image.lock, free | 1);
	weir_nm_image_free_(&image);
	CHECK(memory() - before < 1000000);
	finish_with(observer, &file);
}

TEST(c39_a_copy_of_a_file_that_is_damaged)
{
	struct file file;
	weir_named *observer = observe(&file);
	struct nm_image image;

	file.head->version++;
	errno = 0;
	CHECK_ERR(weir_nm_image_read_(observer, &image), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	file.head->version--;
	file.head->records_high = NM_RECORDS;
	records_of(&file)[NM_RECORDS - 1].state = NM_REC_WAITS;
	/* One byte of the last record is missing. */
	CHECK(!ftruncate(file.fd, NM_FILE_SIZE - 1));
	errno = 0;
	CHECK_ERR(weir_nm_image_read_(observer, &image), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK(!image.slots);
	CHECK(!ftruncate(file.fd, 0));
	/* An errno of the past does not matter. */
	errno = EINTR;
	CHECK_ERR(weir_nm_image_read_(observer, &image), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK(!ftruncate(file.fd, NM_FILE_SIZE));
	/* All is zero now. */
	errno = 0;
	CHECK_ERR(weir_nm_image_read_(observer, &image), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADMSG);
	CHECK(!image.slots);
	finish_with(observer, &file);
}

static void lock_byte(const struct file *file, uint32_t index)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
			      .l_start = (off_t)NM_BYTE_ALIVE(index),
			      .l_len = 1 };

	CHECK(!fcntl(file->fd, F_OFD_SETLK, &lock));
}

/* A dead owner that still has a thread; the queries are limited. */
TEST(c39_the_number_of_queries_is_limited)
{
	struct file file;
	weir_named *observer = observe(&file);
	struct nm_image image;
	uint32_t count = 0;

	fill(&file);
	/* No process has that lent file. */
	file.slots[65].lent = 1;
	file.head->slots_high = NM_SLOTS;
	lock_byte(&file, 63);
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK(weir_nm_image_is_held_on_(observer, &image, 63));
	CHECK(!weir_nm_image_is_held_on_(observer, &image, 64));
	CHECK(!weir_nm_image_is_held_on_(observer, &image, 65));
	/* At its end the answer is yes: the owner counts as held on. */
	while (!weir_nm_image_is_held_on_(observer, &image, 0))
		CHECK(++count < 1000);
	CHECK(count > 10);
	CHECK_EQ(image.queries, 0);
	CHECK(weir_nm_image_is_held_on_(observer, &image, 0));
	CHECK_EQ(image.queries, 0);
	weir_nm_image_free_(&image);
	finish_with(observer, &file);
}

/* Which of these slots the copy shows as those of live owners. */
static void check_alive(weir_named *observer, uint32_t first, uint32_t last,
			uint32_t index)
{
	struct nm_image image;

	CHECK_OK(weir_nm_image_read_(observer, &image));
	for (uint32_t i = first; i <= last; i++)
		CHECK_EQ(weir_is_alive_(image.slots[i].alive.word), i == index);
	weir_nm_image_free_(&image);
}

/* In a file of another boot only a locked byte shows a live owner. */
TEST(c38_a_copy_of_a_file_of_another_boot)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_OBSERVER };
	const char *name = fresh_name();
	weir_named *observer;
	struct nm_image image;
	struct file file;

	close_named(open_named(name, 1));
	file = map_file(name);
	memset(file.head->boot, 7, sizeof(file.head->boot));
	CHECK_OK(weir_named_open(name, &opts, &observer));
	for (uint32_t i = 0; i < NM_SLOTS; i++) {
		file.slots[i].state = 4 + NM_SLOT_LIVE;
		file.slots[i].alive.word = weir_alive_value_();
	}
	/* No query is needed for a file without locks. */
	file.head->slots_high = NM_SLOTS;
	check_alive(observer, 0, NM_SLOTS - 1, NM_SLOTS);
	file.head->slots_high = 8;
	lock_byte(&file, 5);
	check_alive(observer, 0, 7, 5);
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK_EQ(image.queries, 64 - 8);
	weir_nm_image_free_(&image);
	/* The queries are used up: the other owners count as alive. */
	file.head->slots_high = NM_SLOTS;
	CHECK_OK(weir_nm_image_read_(observer, &image));
	CHECK_EQ(image.queries, 0);
	CHECK(!weir_is_alive_(image.slots[0].alive.word));
	CHECK(weir_is_alive_(image.slots[NM_SLOTS - 1].alive.word));
	weir_nm_image_free_(&image);
	finish_with(observer, &file);
}

static void check_damaged(weir_named *observer, bool damaged)
{
	weir_named_info info;

	errno = 0;
	CHECK_ERR(weir_named_stat(observer, &info, NULL, 0),
		  damaged ? WEIR_ESYSTEM : WEIR_OK);
	CHECK(!damaged || errno == EBADMSG);
}

/* Stat frees its copies, also those of a damaged file. */
TEST(c39_stat_keeps_no_memory)
{
	struct file file;
	weir_named *observer = observe(&file);
	int64_t before = memory();

	for (int i = 0; i < 10; i++)
		check_damaged(observer, false);
	file.head->value++;
	for (int i = 0; i < 10; i++)
		check_damaged(observer, true);
	CHECK(memory() - before < 1000000);
	finish_with(observer, &file);
}

static void set_counts(struct file *file, int64_t capacity, int64_t held)
{
	file->head->capacity = capacity;
	file->head->value = nm_minus(capacity, held);
	file->slots[0].held = held;
}

TEST(c39_stat_of_counts_out_of_range)
{
	struct file file;
	weir_named *observer = observe(&file);

	file.slots[0].state = 4 + NM_SLOT_LIVE;
	file.slots[0].alive.word = weir_alive_value_();
	set_counts(&file, 0, 0);
	check_damaged(observer, false);
	set_counts(&file, WEIR_SEM_MAX, WEIR_SEM_MAX);
	check_damaged(observer, false);
	CHECK_EQ(look_at(observer).held, WEIR_SEM_MAX);
	CHECK_EQ(weir_named_capacity(observer), WEIR_SEM_MAX);
	set_counts(&file, WEIR_SEM_MAX + 1, 0);
	check_damaged(observer, true);
	set_counts(&file, -1, 0);
	check_damaged(observer, true);
	CHECK_EQ(weir_named_capacity(observer), 0);
	CHECK_EQ(weir_named_available(observer), 0);
	set_counts(&file, 3, WEIR_SEM_MAX + 1);
	check_damaged(observer, true);
	set_counts(&file, 3, -1);
	check_damaged(observer, true);
	/* A process may have died before it has computed the free permits. */
	set_counts(&file, 3, 1);
	file.head->value++;
	check_damaged(observer, true);
	file.head->stale = 1;
	check_damaged(observer, false);
	file.head->stale = 0;
	at_store_relaxed(&file.head->lock, 1);
	check_damaged(observer, false);
	CHECK_EQ(look_at(observer).free, 2);
	at_store_relaxed(&file.head->lock, 0);
	/* A negative number of granted permits counts as 0. */
	set_counts(&file, 3, 0);
	file.head->records_high = 1;
	*records_of(&file) = (struct nm_record){
		.state = NM_REC_GRANTED, .owner = 1,
		.owner_state = file.slots[0].state, .got = -1
	};
	check_damaged(observer, false);
	CHECK_EQ(look_at(observer).granted, 0);
	CHECK_EQ(look_at(observer).free, 3);
	finish_with(observer, &file);
}

/* The calls of a live owner, and those of an owner that has left. */
TEST(c39_stat_of_calls_without_an_owner)
{
	struct file file;
	weir_named *observer = observe(&file);
	struct nm_record *record = records_of(&file);
	weir_named_entry entries[8];
	weir_named_info info;

	file.slots[0].state = 4 + NM_SLOT_LIVE;
	file.slots[0].alive.word = weir_alive_value_();
	file.slots[0].pid = 4711;
	file.head->capacity = 9;
	file.head->records_high = 6;
	for (uint32_t i = 0; i < 6; i++)
		record[i] = (struct nm_record){
			.state = NM_REC_WAITS + i, .owner = 1,
			.owner_state = file.slots[0].state, .min = 10 + i,
			.max = 10 + i, .got = 1, .ticket = 10 - i, .since = 5
		};
	/* GRANTED, TAKEN and REVOKED have a permit each. */
	file.head->value = 6;
	CHECK_OK(weir_named_stat(observer, &info, entries, 8));
	CHECK_EQ(info.held, 1);
	CHECK_EQ(info.granted, 2);
	CHECK_EQ(info.free, 6);
	CHECK_EQ(info.waiters, 1);
	CHECK_EQ(info.waiting_permits, 10);
	CHECK_EQ(info.oversized, 2);
	CHECK_EQ(info.entries, 6);
	CHECK_EQ(entries[0].role, WEIR_NAMED_HOLDS);
	CHECK_EQ(entries[1].role, WEIR_NAMED_GRANTED);
	CHECK_EQ(entries[1].weight, 1);
	CHECK_EQ(entries[2].role, WEIR_NAMED_GRANTED);
	CHECK_EQ(entries[3].role, WEIR_NAMED_WAITS);
	CHECK_EQ(entries[3].weight, 10);
	CHECK_EQ(entries[3].place, 1);
	CHECK_EQ(entries[4].role, WEIR_NAMED_OVERSIZED);
	CHECK_EQ(entries[5].role, WEIR_NAMED_IDLE);
	for (int i = 1; i < 6; i++) {
		CHECK_EQ(entries[i].pid, 4711);
		CHECK_EQ(entries[i].since_ns, 5);
	}
	/* The sum of two calls does not overflow. */
	record[0].min = INT64_MAX;
	record[1].state = NM_REC_WAITS;
	CHECK_EQ(look_at(observer).waiting_permits, INT64_MAX);
	/* The slot has another owner since. */
	file.slots[0].state += 4;
	CHECK_OK(weir_named_stat(observer, &info, entries, 8));
	CHECK_EQ(info.held, 0);
	CHECK_EQ(info.granted, 0);
	CHECK_EQ(info.free, 9);
	CHECK_EQ(info.entries, 0);
	CHECK_EQ(info.participants, 1);
	/* A lock holder frees these records, and does not count their permits. */
	CHECK_EQ(info.reclaimed, 0);
	finish_with(observer, &file);
}

/*
 * The lock word names a slot behind the table.  The first record looks like the
 * slot of that owner.
 */
TEST(c39_stat_with_a_lock_owner_behind_the_table)
{
	struct file file;
	weir_named *observer = observe(&file);

	_Static_assert(offsetof(struct nm_slot, alive) ==
			       offsetof(struct nm_record, max),
		       "a record that looks like a slot");
	records_of(&file)[0] = (struct nm_record){
		.state = NM_SLOT_LIVE, .max = weir_alive_value_()
	};
	file.head->records_high = 1;
	at_store_relaxed(&file.head->lock, NM_LOCK_SLOT_MASK);
	CHECK_EQ(look_at(observer).entries, 0);
	finish_with(observer, &file);
}

/* Returns the ticks of a moment between the boot, 0, and now, 8. */
static int64_t ticks_at(int64_t eighth)
{
	double passed_s = (double)weir_now_ns() * (double)(8 - eighth) / 8e9;

	return weir_ticks_() -
	       (int64_t)(passed_s * (double)weir_ticks_per_s_());
}

/*
 * Dead owners that still have a thread.  Only those with permits count, whatever
 * the field `lingers` says: by their slot, or by a call that was granted.
 */
TEST(c37_stat_counts_dead_owners_that_hold_permits)
{
	static const int64_t held[] = { 1, 0, 0, 2, 3, 0 };
	struct file file;
	weir_named *observer = observe_as(WEIR_NAMED_STRICT, &file);
	struct nm_record *record = records_of(&file);
	weir_named_entry entries[5];
	weir_named_info info;

	for (uint32_t i = 0; i < 6; i++) {
		file.slots[i] = (struct nm_slot){
			.state = 4 * (i + 1) + NM_SLOT_LIVE, .held = held[i],
			.since_ticks = ticks_at(3), .lingers = !held[i],
			.pid = i + 1
		};
		file.slots[i].alive.word = WEIR_DIED_;
		/* One owner has no thread. */
		if (i != 4)
			lock_byte(&file, i);
	}
	file.head->slots_high = 6;
	record[0] = (struct nm_record){ .state = NM_REC_GRANTED, .owner = 1,
					.got = 2,
					.owner_state = file.slots[0].state };
	record[1] = (struct nm_record){ .state = NM_REC_TAKEN, .owner = 3,
					.got = 4, .since = ticks_at(6),
					.owner_state = file.slots[2].state };
	record[2] = (struct nm_record){ .state = NM_REC_TAKEN, .owner = 4,
					.got = 5, .since = ticks_at(6),
					.owner_state = file.slots[3].state };
	record[3] = (struct nm_record){ .state = NM_REC_GRANTED, .owner = 6,
					.got = 1,
					.owner_state = file.slots[5].state };
	record[4] = (struct nm_record){ .state = NM_REC_WAITS };
	file.head->records_high = 5;
	file.head->capacity = 20;
	file.head->value = 20 - 1 - 2 - 3 - 4 - 5 - 2 - 1;
	CHECK_OK(weir_named_stat(observer, &info, entries, 5));
	CHECK_EQ(info.participants, 4);
	CHECK_EQ(info.held, 1 + 4 + 2 + 5);
	CHECK_EQ(info.granted, 2 + 1);
	CHECK_EQ(info.free, 5);
	CHECK_EQ(info.entries, 5);
	CHECK_EQ(entries[0].pid, 1);
	CHECK_EQ(entries[1].pid, 3);
	CHECK_EQ(entries[1].weight, 4);
	CHECK_EQ(entries[2].pid, 4);
	CHECK_EQ(entries[2].weight, 7);
	CHECK_EQ(entries[3].pid, 1);
	CHECK_EQ(entries[3].weight, 2);
	CHECK_EQ(entries[4].pid, 6);
	CHECK_EQ(entries[4].weight, 1);
	/* A hold begins with its first permits. */
	CHECK(entries[0].since_ns < weir_now_ns() / 2);
	CHECK(entries[1].since_ns > weir_now_ns() / 2);
	CHECK(entries[2].since_ns < weir_now_ns() / 2);
	CHECK_EQ(info.policy, WEIR_NAMED_STRICT);
	/* The first owner has only the permits of its slot. */
	record[0].state = NM_REC_ENDED;
	file.head->value += 2;
	CHECK_OK(weir_named_stat(observer, &info, entries, 5));
	CHECK_EQ(info.participants, 4);
	CHECK_EQ(info.held, 1 + 4 + 2 + 5);
	CHECK_EQ(info.granted, 1);
	CHECK_EQ(entries[0].pid, 1);
	finish_with(observer, &file);
}
