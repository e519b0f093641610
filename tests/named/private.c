/* SPDX-License-Identifier: MIT */
/* Tables in private memory. */
#include "private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

weir_named alone;
int other_fd;

struct nm_slot *join(uint32_t index)
{
	struct nm_slot *slot = &alone.slots[index];

	slot->state = LIVE(index + 1);
	slot->alive.word = ALIVE;
	if (alone.head->slots_high <= index)
		alone.head->slots_high = index + 1;
	return slot;
}

struct nm_slot *join_dead(uint32_t index)
{
	struct nm_slot *slot = join(index);

	weir_nm_mark_dead_(slot);
	return slot;
}

void set_up(int64_t capacity)
{
	const weir_named_opts opts = { .capacity = capacity };
	static char path[300];

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("WEIR_DIR"),
		       fresh_name());
	alone = (weir_named){ .head = weir_map_zero_(NM_FILE_SIZE), .path = path };
	alone.scratch = weir_map_zero_(sizeof(*alone.scratch));
	CHECK(alone.head && alone.scratch);
	weir_nm_header_init_(alone.head, &opts);
	alone.slots = (struct nm_slot *)(void *)(alone.head + 1);
	alone.records = (struct nm_record *)(void *)(alone.slots + NM_SLOTS);
	alone.fd = open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
	other_fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(alone.fd >= 0 && other_fd >= 0);
	alone.mine = join(0);
	alone.me = 1;
	alone.state = alone.mine->state;
	alone.head->records_room = NM_RECORDS;
}

void tear_down(void)
{
	weir_unmap_(alone.head, NM_FILE_SIZE);
	weir_unmap_(alone.scratch, sizeof(*alone.scratch));
	close(alone.fd);
	close(other_fd);
	CHECK(!unlink(alone.path));
}

struct nm_record *enqueue(const struct nm_slot *slot, int64_t n)
{
	weir_err err;
	struct nm_record *record = weir_nm_record_new_(&alone, &err);

	CHECK(record);
	record->owner = nm_slot_ref(&alone, slot);
	record->owner_state = slot->state;
	record->min = record->max = n;
	weir_nm_record_wait_(&alone, record, NM_REC_WAITS);
	return record;
}

struct nm_record *decided(const struct nm_slot *slot, int64_t n,
			  uint32_t state)
{
	struct nm_record *record = enqueue(slot, n);

	weir_nm_unlink_(&alone, record);
	record->got = n;
	record->state = (record->state & ~NM_REC_MASK) | state;
	alone.head->value -= n;
	return record;
}

void hold(struct nm_slot *slot, int64_t n)
{
	slot->held += n;
	alone.head->value -= n;
}

bool is_free(const struct nm_record *record)
{
	return (record->state & NM_REC_MASK) == NM_REC_FREE && !record->owner &&
	       !record->linked;
}

void check_queue(struct nm_record *const *records)
{
	uint32_t before = 0, count = 0;

	for (; *records; records++, count++) {
		uint32_t ref = nm_record_ref(&alone, *records);

		CHECK_EQ((*records)->prev, before);
		CHECK_EQ((*records)->linked, NM_REC_WAITS);
		CHECK_EQ((*records)->state & NM_REC_MASK, NM_REC_WAITS);
		CHECK_EQ(before ? alone.records[before - 1].next :
				  alone.head->queue_first, ref);
		before = ref;
	}
	CHECK_EQ(before ? alone.records[before - 1].next : alone.head->queue_first,
		 0);
	CHECK_EQ(alone.head->queue_last, before);
	CHECK_EQ(alone.head->waiters, count);
}
