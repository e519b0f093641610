/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of a semaphore and its participants, without the lock.
 *
 * The counts come from the source of truth: the capacity, the permits that the
 * slots hold, and the records.  So they add up even while a process changes the
 * file, or after a process has died with the lock.  Dead participants that the
 * next process with the lock would bury do not count.  entries.c lists the
 * processes.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/panic.h"
#include "named/entries.h"
#include "named/record.h"
#include "named/table.h"

/*
 * The number of copies that must all contradict themselves: a contradiction in
 * a single copy may come from a change of the file during the copy.
 */
#define CHECKS 2

/*
 * Returns the index of the slot that the permits of a record belong to, or
 * NM_SLOTS if the record has no permits or no owner any more.
 */
static uint32_t holder_of(const struct nm_image *image,
			  const struct nm_record *record)
{
	return nm_has_permits(record->state) ? nm_image_owner(image, record) :
					       NM_SLOTS;
}

/*
 * Set `lingers`, in the copy, of the slots that would keep permits if their
 * owners were dead and held on.  The condition is that of holds_permits in
 * table.c, for all slots in one pass: a scan of the records for each dead slot
 * of a hostile file would take too long.
 */
static void find_holders(struct nm_image *image)
{
	for (uint32_t i = 0; i < image->slot_count; i++) {
		struct nm_slot *slot = &image->slots[image->used_slots[i]];

		slot->lingers = slot->held > 0;
	}
	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = holder_of(
			image, &image->records[image->used_records[i]]);

		if (index < NM_SLOTS)
			image->slots[index].lingers = 1;
	}
}

/*
 * Free the slots, in the copy, whose permits the next lock holder would free.
 * Returns the permits that these slots held.
 */
static int64_t bury_dead(const weir_named *h, struct nm_image *image)
{
	int64_t held = 0;

	find_holders(image);
	for (uint32_t i = 0; i < image->slot_count; i++) {
		uint32_t index = image->used_slots[i];
		struct nm_slot *slot = &image->slots[index];

		if (weir_nm_is_dead_(slot) &&
		    !(h->strict && slot->lingers &&
		      weir_nm_image_is_held_on_(h, image, index))) {
			held = nm_sum(held, slot->held);
			slot->state = 0;
		}
	}
	return held;
}

/* Count the permits of calls that have returned as held by their slots. */
static void fold(struct nm_image *image)
{
	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = image->used_records[i];
		struct nm_record *record = &image->records[index];
		uint32_t owner = nm_image_owner(image, record);

		if (nm_image_state(image, index) != NM_REC_TAKEN ||
		    owner == NM_SLOTS)
			continue;
		if (!image->slots[owner].held)
			image->slots[owner].since_ticks = record->since;
		image->slots[owner].held = nm_sum(image->slots[owner].held,
						  record->got);
		record->state = NM_REC_ENDED;
	}
}

/*
 * Returns the permits of granted calls that have not returned.  Calls whose
 * owner has been buried count only if `of_all` is set.
 */
static int64_t granted(const struct nm_image *image, bool of_all)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < image->record_count; i++) {
		const struct nm_record *record =
			&image->records[image->used_records[i]];

		if (of_all ? nm_has_permits(record->state) :
			     holder_of(image, record) < NM_SLOTS)
			total = nm_sum(total, record->got);
	}
	return total;
}

/*
 * Returns true if the copy contradicts itself: a count is out of bounds, or the
 * permits do not add up although no process was changing them.
 */
static bool is_damaged(const struct nm_image *image)
{
	int64_t out = granted(image, true);

	if (image->head.capacity < 0 || image->head.capacity > WEIR_SEM_MAX)
		return true;
	for (uint32_t i = 0; i < image->slot_count; i++) {
		int64_t held = image->slots[image->used_slots[i]].held;

		if (held < 0 || held > WEIR_SEM_MAX)
			return true;
		out = nm_sum(out, held);
	}
	return image->consistent && !image->head.stale &&
	       nm_minus(image->head.capacity, image->head.value) != out;
}

static void fill_in(const weir_named *h, struct nm_image *image,
		    weir_named_info *info, struct nm_list *list)
{
	uint32_t closed = image->head.closed;
	int64_t left, reclaimed;

	*info = (weir_named_info){
		.capacity = image->head.capacity,
		.policy = h->strict ? WEIR_NAMED_STRICT : WEIR_NAMED_FAST,
		.closed = closed & (NM_DRAIN | NM_CLOSED),
		.paused = closed == NM_PAUSED,
		.inconsistent = !image->consistent,
		.misuses = image->head.misuses,
	};
	weir_nm_add_lock_holder_(h, list, image);
	reclaimed = granted(image, false);
	reclaimed = nm_sum(reclaimed, bury_dead(h, image));
	weir_nm_add_holders_(h, list, image, info);
	info->granted = granted(image, false);
	/* With the permits that the next lock holder will count. */
	info->reclaimed = image->head.reclaimed +
			  (uint64_t)nm_minus(reclaimed, info->granted);
	left = nm_minus(nm_minus(info->capacity, info->held), info->granted);
	info->free = left > 0 ? left : 0;
	info->debt = left < 0 ? nm_minus(0, left) : 0;
	(void)weir_nm_add_state_(h, list, image, NM_REC_GRANTED,
				 WEIR_NAMED_GRANTED);
	(void)weir_nm_add_state_(h, list, image, NM_REC_REVOKED,
				 WEIR_NAMED_GRANTED);
	weir_nm_add_queue_(h, list, image, info);
	info->oversized = weir_nm_add_state_(h, list, image, NM_REC_OVERSIZED,
					     WEIR_NAMED_OVERSIZED);
	info->oversized += weir_nm_add_state_(h, list, image, NM_REC_IDLE,
					      WEIR_NAMED_IDLE);
	info->entries = list->count;
}

weir_err weir_named_stat(weir_named *sem, weir_named_info *info,
			 weir_named_entry *entries, uint32_t max)
{
	struct nm_list list = { entries, 0, max };
	struct nm_image image;
	bool damaged = true;

	if (!sem || !info)
		return WEIR_EINVAL;
	for (int i = 0; i < CHECKS && damaged; i++) {
		weir_err err;

		errno = ESTALE;
		err = sem->fd < 0 ? WEIR_ESYSTEM :
				    weir_nm_image_read_(sem, &image);
		if (err)
			return err;
		fold(&image);
		damaged = is_damaged(&image);
		if (!damaged)
			fill_in(sem, &image, info, &list);
		weir_nm_image_free_(&image);
	}
	if (damaged) {
		errno = EBADMSG;
		return WEIR_ESYSTEM;
	}
	info->renamed = !weir_nm_is_current_(sem);
	return WEIR_OK;
}

/* Read a field of the header from the file.  Returns false on failure. */
static bool peek(const weir_named *sem, size_t offset, void *to, size_t size)
{
	return pread(sem->fd, to, size, (off_t)offset) == (ssize_t)size;
}

bool weir_named_is_closed(weir_named *sem)
{
	uint32_t closed = 0;

	if (!sem) {
		weir_panic_("weir_named_is_closed: %p is not a semaphore", sem);
		return true;
	}
	if (sem->head)
		/* relaxed: for display; a closed semaphore stays closed. */
		closed = at_load_relaxed(&sem->head->closed);
	else if (!peek(sem, offsetof(struct nm_header, closed), &closed,
		       sizeof(closed)))
		return false;
	return closed & (NM_DRAIN | NM_CLOSED);
}

int64_t weir_named_capacity(weir_named *sem)
{
	int64_t capacity;

	if (!sem) {
		weir_panic_("weir_named_capacity: %p is not a semaphore", sem);
		return -1;
	}
	/* The mapped field is protected by the lock, which this call avoids. */
	if (!peek(sem, offsetof(struct nm_header, capacity), &capacity,
		  sizeof(capacity)))
		return -1;
	return capacity > 0 ? capacity : 0;
}

int64_t weir_named_available(weir_named *sem)
{
	weir_named_info info;
	int64_t value = 0;

	if (!sem) {
		weir_panic_("weir_named_available: %p is not a semaphore", sem);
		return 0;
	}
	if (sem->head && !weir_nm_any_dead_(sem))
		/* relaxed: for display; it may be outdated on return. */
		value = at_load_relaxed(&sem->head->value);
	else if (!weir_named_stat(sem, &info, NULL, 0))
		value = info.free;
	return value > 0 ? value : 0;
}
