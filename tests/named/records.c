/* SPDX-License-Identifier: MIT */
/* C38, C39: records and the lists that link them, step by step (private.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "private.h"

TEST(c38_a_change_of_state_keeps_the_rest_of_the_word)
{
	struct nm_record record = { .state = WORD(3, NM_REC_CHECK |
						     NM_REC_WAITS) };
	uint32_t seen = WORD(2, NM_REC_WAITS);

	CHECK(!weir_nm_change_(&record, &seen, NM_REC_LEFT));
	CHECK_EQ(record.state, WORD(3, NM_REC_CHECK | NM_REC_WAITS));
	CHECK_EQ(seen, record.state);
	/* The CAS may fail spuriously. */
	while (!weir_nm_change_(&record, &seen, NM_REC_LEFT))
		CHECK_EQ(seen, WORD(3, NM_REC_CHECK | NM_REC_WAITS));
	CHECK_EQ(record.state, WORD(3, NM_REC_CHECK | NM_REC_LEFT));
}

/* Many wake-ups become one of all decided records. */
TEST(c6_the_wake_ups_of_a_critical_section)
{
	set_up(1);
	for (uint32_t i = 0; i < NM_WAKES; i++) {
		CHECK_EQ(alone.wakes.due, i);
		weir_nm_wake_later_(&alone, &alone.records[2 * i]);
		CHECK_EQ(alone.wakes.index[i], 2 * i);
	}
	CHECK_EQ(alone.wakes.due, NM_WAKES);
	weir_nm_wake_later_(&alone, &alone.records[1]);
	CHECK_EQ(alone.wakes.due, NM_WAKES | NM_WAKE_ALL);
	weir_nm_wake_every_later_(&alone);
	CHECK_EQ(alone.wakes.due, NM_WAKES | NM_WAKE_ALL | NM_WAKE_EVERY);
	alone.wakes.due = 3 | NM_WAKE_ALL;
	weir_nm_wake_later_(&alone, &alone.records[7]);
	CHECK_EQ(alone.wakes.due, 4 | NM_WAKE_ALL);
	CHECK_EQ(alone.wakes.index[3], 7);
	tear_down();
}

/* The array of a critical section has no element after the last one. */
TEST(c6_the_last_wake_up)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = weir_map_zero_(2 * page);
	struct nm_wakes *wakes = (struct nm_wakes *)(void *)
		(memory + page - sizeof(*wakes));

	CHECK(memory && !mprotect(memory + page, page, PROT_NONE));
	set_up(1);
	wakes->due = NM_WAKES;
	weir_nm_wake_now_(&alone, wakes);
	tear_down();
	weir_unmap_(memory, 2 * page);
}

/* The file ends after the last record. */
TEST(c6_the_last_record)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = NM_RECORDS * sizeof(struct nm_record);
	char *memory = weir_map_zero_(size + page);
	const struct nm_wakes wakes = { .due = NM_WAKE_ALL | NM_WAKE_EVERY };

	CHECK(memory && !mprotect(memory + size, page, PROT_NONE));
	set_up(1);
	alone.records = (struct nm_record *)(void *)memory;
	alone.head->records_high = NM_RECORDS;
	weir_nm_wake_now_(&alone, &wakes);
	tear_down();
	weir_unmap_(memory, size + page);
}

static void check_room(uint32_t before, uint32_t room)
{
	struct stat info;

	alone.head->records_room = before;
	CHECK(!ftruncate(alone.fd, 0));
	CHECK_OK(weir_nm_make_room_(&alone));
	CHECK_EQ(alone.head->records_room, room);
	CHECK(!fstat(alone.fd, &info));
	CHECK_EQ(info.st_size, (char *)&alone.records[room] - (char *)alone.head);
}

/* C39: a page of records at a time, and never more than the table has. */
TEST(c39_storage_for_records)
{
	set_up(1);
	check_room(0, 32);
	check_room(32, 64);
	check_room(NM_RECORDS - 33, NM_RECORDS - 1);
	check_room(NM_RECORDS - 32, NM_RECORDS);
	check_room(NM_RECORDS - 31, NM_RECORDS);
	check_room(NM_RECORDS, NM_RECORDS);
	/* A number that no process has stored stays. */
	alone.head->records_room = NM_RECORDS + 1;
	CHECK_OK(weir_nm_make_room_(&alone));
	CHECK_EQ(alone.head->records_room, NM_RECORDS + 1);
	/* C16: the file cannot be extended. */
	alone.head->records_room = 32;
	close(alone.fd);
	alone.fd = open(alone.path, O_RDONLY | O_CLOEXEC);
	errno = 0;
	CHECK_ERR(weir_nm_make_room_(&alone), WEIR_ESYSTEM);
	CHECK_EQ(errno, EBADF);
	CHECK_EQ(alone.head->records_room, 32);
	tear_down();
}

TEST(c16_c31_a_new_record)
{
	struct nm_record *record;
	weir_err err = WEIR_OK;

	set_up(1);
	alone.head->records_room = 1;
	memset(&alone.records[0], 0xff, sizeof(*record));
	record = weir_nm_record_new_(&alone, &err);
	CHECK(record == &alone.records[0]);
	CHECK_EQ(record->state, WORD(0, NM_REC_FREE));
	CHECK_EQ(record->owner, 1);
	CHECK_EQ(record->owner_state, LIVE(1));
	CHECK_EQ(record->next | record->prev | record->linked, 0);
	CHECK_EQ(record->got, 0);
	CHECK_EQ(record->outcome, 0);
	CHECK_EQ(alone.head->records_high, 1);
	CHECK_EQ(alone.head->free_record, 0);
	/* The next one needs storage. */
	CHECK(!weir_nm_record_new_(&alone, &err));
	CHECK_ERR(err, WEIR_EAGAIN);
	CHECK_EQ(alone.head->records_high, 1);
	alone.head->records_room = 2;
	CHECK(weir_nm_record_new_(&alone, &err) == &alone.records[1]);
	CHECK_EQ(alone.head->records_high, 2);
	/* A freed record is used before the table grows. */
	weir_nm_record_free_(&alone, record);
	CHECK(weir_nm_record_new_(&alone, &err) == record);
	CHECK_EQ(record->state, WORD(1, NM_REC_FREE));
	CHECK_EQ(alone.head->free_record, 0);
	/* C31: the table is full. */
	alone.head->records_high = alone.head->records_room = NM_RECORDS;
	CHECK(!weir_nm_record_new_(&alone, &err));
	CHECK_ERR(err, WEIR_EBUSY);
	CHECK_EQ(alone.head->repairs, 0);
	tear_down();
}

/* C39: the free list leads to a record in use. */
TEST(c39_a_free_list_that_is_wrong)
{
	struct nm_record *waits;
	weir_err err;

	set_up(1);
	hold(alone.mine, 1);
	waits = enqueue(alone.mine, 1);
	alone.head->free_record = 1;
	CHECK(weir_nm_record_new_(&alone, &err) == &alone.records[1]);
	CHECK_EQ(alone.head->repairs, 1);
	CHECK_EQ(alone.head->records_high, 2);
	CHECK_QUEUE(waits);
	tear_down();
}

TEST(c4_c17_a_record_leaves_the_queue)
{
	struct nm_record *records[4];

	set_up(1);
	alone.head->next_ticket = 40;
	for (int i = 0; i < 4; i++) {
		records[i] = enqueue(alone.mine, 1);
		CHECK_EQ(records[i]->ticket, 40 + i);
	}
	CHECK_EQ(alone.head->next_ticket, 44);
	CHECK_QUEUE(records[0], records[1], records[2], records[3]);
	CHECK_EQ(alone.head->in_use, 4);
	weir_nm_unlink_(&alone, records[1]);
	CHECK_QUEUE(records[0], records[2], records[3]);
	CHECK_EQ(records[1]->next | records[1]->prev | records[1]->linked, 0);
	weir_nm_unlink_(&alone, records[3]);
	CHECK_QUEUE(records[0], records[2]);
	weir_nm_unlink_(&alone, records[0]);
	CHECK_QUEUE(records[2]);
	CHECK_EQ(alone.head->in_use, 1);
	/* It is not linked any more. */
	weir_nm_unlink_(&alone, records[0]);
	CHECK_EQ(alone.head->in_use, 1);
	CHECK_EQ(alone.head->waiters, 1);
	weir_nm_unlink_(&alone, records[2]);
	check_queue((struct nm_record *const[]){ NULL });
	CHECK_EQ(alone.head->in_use, 0);
	tear_down();
}

TEST(c11_c20_records_outside_the_queue)
{
	struct nm_record *oversized, *idle;
	weir_err err;

	set_up(1);
	oversized = weir_nm_record_new_(&alone, &err);
	idle = weir_nm_record_new_(&alone, &err);
	weir_nm_record_wait_(&alone, oversized, NM_REC_OVERSIZED);
	weir_nm_record_wait_(&alone, idle, NM_REC_IDLE);
	CHECK_EQ(oversized->state, WORD(0, NM_REC_OVERSIZED));
	CHECK_EQ(oversized->linked, NM_REC_OVERSIZED);
	CHECK_EQ(oversized->apart, 1);
	CHECK_EQ(idle->state, WORD(0, NM_REC_IDLE));
	CHECK_EQ(idle->linked, NM_REC_IDLE);
	CHECK_EQ(alone.head->next_ticket, 2);
	CHECK_EQ(alone.head->oversized, 1);
	CHECK_EQ(alone.head->idlers, 1);
	CHECK_EQ(alone.head->waiters, 0);
	CHECK_EQ(alone.head->in_use, 2);
	weir_nm_unlink_(&alone, oversized);
	CHECK_EQ(alone.head->oversized, 0);
	CHECK_EQ(alone.head->idlers, 1);
	/* C39: these two are not used outside the queue. */
	oversized->next = oversized->prev = 2;
	weir_nm_record_wait_(&alone, oversized, NM_REC_WAITS);
	CHECK_QUEUE(oversized);
	weir_nm_unlink_(&alone, oversized);
	weir_nm_unlink_(&alone, idle);
	CHECK_EQ(alone.head->idlers, 0);
	CHECK_EQ(alone.head->in_use, 0);
	tear_down();
}

TEST(c38_a_freed_record_begins_a_new_use)
{
	struct nm_record *first, *second;

	set_up(1);
	first = enqueue(alone.mine, 1);
	second = enqueue(alone.mine, 1);
	first->state = WORD(5, NM_REC_CHECKS | NM_REC_WAITS);
	weir_nm_record_free_(&alone, first);
	CHECK_EQ(first->state, WORD(6, NM_REC_FREE));
	CHECK_EQ(first->owner, 0);
	CHECK_EQ(first->next, 0);
	CHECK_EQ(alone.head->free_record, 1);
	CHECK_QUEUE(second);
	weir_nm_record_free_(&alone, second);
	CHECK_EQ(second->next, 1);
	CHECK_EQ(alone.head->free_record, 2);
	tear_down();
}

TEST(c13_c16_a_withdrawn_record_is_cleaned)
{
	struct nm_record *left, *revoked, *taken;

	set_up(9);
	left = enqueue(alone.mine, 9);
	revoked = decided(alone.mine, 2, NM_REC_REVOKED);
	taken = decided(alone.mine, 1, NM_REC_TAKEN);
	CHECK_EQ(alone.head->value, 6);
	weir_nm_record_clean_(&alone, left);
	weir_nm_record_clean_(&alone, taken);
	CHECK_EQ(left->state, WORD(0, NM_REC_WAITS));
	CHECK_EQ(taken->state, WORD(0, NM_REC_TAKEN));
	CHECK_EQ(taken->outcome, 0);
	CHECK_QUEUE(left);
	left->state = WORD(0, NM_REC_LEFT);
	left->got = 5;
	weir_nm_record_clean_(&alone, left);
	CHECK_EQ(left->state, WORD(0, NM_REC_ENDED));
	CHECK_EQ(left->outcome, WEIR_ECANCELED);
	CHECK_EQ(alone.head->waiters, 0);
	CHECK_EQ(alone.head->value, 6);
	weir_nm_record_clean_(&alone, revoked);
	CHECK_EQ(revoked->state, WORD(0, NM_REC_ENDED));
	CHECK_EQ(revoked->outcome, WEIR_ECANCELED);
	CHECK_EQ(alone.head->value, 8);
	tear_down();
}

TEST(c39_the_last_record_of_the_table_is_linked)
{
	struct nm_record *first, *last;

	set_up(1);
	first = enqueue(alone.mine, 1);
	alone.head->records_high = NM_RECORDS - 1;
	last = enqueue(alone.mine, 1);
	CHECK(last == &alone.records[NM_RECORDS - 1]);
	CHECK_QUEUE(first, last);
	weir_nm_unlink_(&alone, first);
	CHECK_QUEUE(last);
	tear_down();
}
