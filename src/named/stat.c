/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of a semaphore and its participants, without the lock.
 *
 * The counts come from the source of truth: the capacity, the permits that the
 * slots hold, and the records.  So they add up also while a process changes the
 * file, or after a process has died with the lock.  Dead participants that the
 * next process with the lock would bury do not count.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/panic.h"
#include "named/image.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"

/* A contradiction must be found this often; otherwise the file has changed. */
#define CHECKS 2

/* The caller's array; entries beyond max are only counted. */
struct list {
	weir_named_entry *entries;
	uint32_t count, max;
};

/* Add counts of the file without overflow; negative ones count as 0. */
static int64_t sum(int64_t a, int64_t b)
{
	if (b < 0)
		return a;
	return b > INT64_MAX - a ? INT64_MAX : a + b;
}

static weir_named_entry *add(const weir_named *h, struct list *list,
			     const struct nm_image *image, uint32_t index,
			     weir_named_role role)
{
	const struct nm_slot *slot = &image->slots[index];
	weir_named_entry *entry;

	if (list->count++ >= list->max || !list->entries)
		return NULL;
	entry = &list->entries[list->count - 1];
	memset(entry, 0, sizeof(*entry));
	entry->role = role;
	entry->pid = (int32_t)slot->pid;
	entry->pid_namespace = slot->pid_namespace;
	entry->id = slot->id;
	entry->mine = h->me == index + 1;
	entry->dead = weir_nm_is_dead_(slot);
	/* Always NUL-terminate the copy. */
	memcpy(entry->label, slot->label, sizeof(entry->label) - 1);
	return entry;
}

/* Returns the owner of a record, or NM_SLOTS if it is gone. */
static uint32_t owner_of(const struct nm_image *image,
			 const struct nm_record *record)
{
	uint32_t index = nm_index(&record->owner, NM_SLOTS);

	return index < NM_SLOTS &&
	       image->slots[index].state == record->owner_state ?
		       index : NM_SLOTS;
}

static void add_record(const weir_named *h, struct list *list,
		       const struct nm_image *image, uint32_t index,
		       weir_named_role role, uint32_t place)
{
	const struct nm_record *record = &image->records[index];
	weir_named_entry *entry = add(h, list, image, owner_of(image, record),
				      role);

	if (!entry)
		return;
	entry->weight = role == WEIR_NAMED_GRANTED ? record->got : record->min;
	entry->since_ns = record->since;
	entry->place = place;
}

static uint32_t state_of(const struct nm_image *image, uint32_t index)
{
	return image->records[index].state & NM_REC_MASK;
}

/* Returns the number of records in this state. */
static uint32_t add_state(const weir_named *h, struct list *list,
			  const struct nm_image *image, uint32_t state,
			  weir_named_role role)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = image->used_records[i];

		if (state_of(image, index) != state ||
		    owner_of(image, &image->records[index]) == NM_SLOTS)
			continue;
		add_record(h, list, image, index, role, 0);
		count++;
	}
	return count;
}

/* The queue, sorted by ticket. */
static void add_queue(const weir_named *h, struct list *list,
		      struct nm_image *image, weir_named_info *info)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = image->used_records[i];
		const struct nm_record *record = &image->records[index];

		if (state_of(image, index) == NM_REC_WAITS &&
		    owner_of(image, record) < NM_SLOTS)
			image->places[count++] = (struct nm_place){
				record->ticket, index
			};
	}
	weir_nm_sort_(image->places, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = image->places[i].index;

		add_record(h, list, image, index, WEIR_NAMED_WAITS, i + 1);
		info->waiting_permits = sum(info->waiting_permits,
					    image->records[index].min);
	}
	info->waiters = count;
}

/* Forget the dead owners whose permits the next lock holder would free. */
static void bury_dead(const weir_named *h, struct nm_image *image)
{
	for (uint32_t i = 0; i < image->slot_count; i++) {
		uint32_t index = image->used_slots[i];
		struct nm_slot *slot = &image->slots[index];

		if (weir_nm_is_dead_(slot) &&
		    !(h->strict && slot->held > 0 &&
		      weir_nm_image_is_held_on_(h, image, index)))
			slot->state = 0;
	}
}

static void add_holders(const weir_named *h, struct list *list,
			const struct nm_image *image, weir_named_info *info)
{
	for (uint32_t i = 0; i < image->slot_count; i++) {
		uint32_t index = image->used_slots[i];
		const struct nm_slot *slot = &image->slots[index];
		weir_named_entry *entry;

		if (!slot->state)
			continue;
		info->participants++;
		if (slot->held <= 0)
			continue;
		info->held = sum(info->held, slot->held);
		entry = add(h, list, image, index, WEIR_NAMED_HOLDS);
		if (entry) {
			entry->weight = slot->held;
			entry->since_ns = weir_ticks_ns_(slot->since_ticks);
		}
	}
}

/* Count the permits of calls that have returned as held by their slots. */
static void fold(struct nm_image *image)
{
	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = image->used_records[i];
		struct nm_record *record = &image->records[index];
		uint32_t owner = owner_of(image, record);

		if (state_of(image, index) != NM_REC_TAKEN || owner == NM_SLOTS)
			continue;
		if (!image->slots[owner].held)
			image->slots[owner].since_ticks = record->since;
		image->slots[owner].held = sum(image->slots[owner].held,
					       record->got);
		record->state = NM_REC_ENDED;
	}
}

/* Returns the permits of granted calls that have not returned. */
static int64_t granted(const struct nm_image *image, bool of_all)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < image->record_count; i++) {
		const struct nm_record *record =
			&image->records[image->used_records[i]];

		if (nm_has_permits(record->state) &&
		    (of_all || owner_of(image, record) < NM_SLOTS))
			total = sum(total, record->got);
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
		out = sum(out, held);
	}
	return image->consistent && !image->head.stale &&
	       nm_minus(image->head.capacity, image->head.value) != out;
}

/* The process that had the lock all the time. */
static void add_lock_holder(const weir_named *h, struct list *list,
			    const struct nm_image *image)
{
	uint32_t ref = (uint32_t)image->lock & NM_LOCK_SLOT_MASK;
	uint32_t index = nm_index(&ref, NM_SLOTS);
	weir_named_entry *entry;

	/* The owner may be dead, and its slot may have another owner. */
	if (!image->stuck || index >= NM_SLOTS ||
	    !weir_nm_is_live_(&image->slots[index]) ||
	    nm_lock_id(ref, image->slots[index].state) != (uint32_t)image->lock)
		return;
	entry = add(h, list, image, index, WEIR_NAMED_LOCKS);
	/* A process that waited for the lock has noted the time. */
	if (entry && image->head.stuck == image->lock)
		entry->since_ns = image->head.stuck_ns;
}

static void fill_in(const weir_named *h, struct nm_image *image,
		    weir_named_info *info, struct list *list)
{
	uint32_t closed = image->head.closed;
	int64_t left;

	*info = (weir_named_info){
		.capacity = image->head.capacity,
		.policy = h->strict ? WEIR_NAMED_STRICT : WEIR_NAMED_FAST,
		.closed = closed & (NM_DRAIN | NM_CLOSED),
		.paused = closed == NM_PAUSED,
		.inconsistent = !image->consistent,
	};
	add_lock_holder(h, list, image);
	bury_dead(h, image);
	add_holders(h, list, image, info);
	info->granted = granted(image, false);
	left = nm_minus(nm_minus(info->capacity, info->held), info->granted);
	info->free = left > 0 ? left : 0;
	info->debt = left < 0 ? nm_minus(0, left) : 0;
	(void)add_state(h, list, image, NM_REC_GRANTED, WEIR_NAMED_GRANTED);
	(void)add_state(h, list, image, NM_REC_REVOKED, WEIR_NAMED_GRANTED);
	add_queue(h, list, image, info);
	info->oversized = add_state(h, list, image, NM_REC_OVERSIZED,
				    WEIR_NAMED_OVERSIZED);
	info->oversized += add_state(h, list, image, NM_REC_IDLE,
				     WEIR_NAMED_IDLE);
	info->entries = list->count;
}

weir_err weir_named_stat(weir_named *sem, weir_named_info *info,
			 weir_named_entry *entries, uint32_t max)
{
	struct list list = { entries, 0, max };
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

/* An observer reads a field of the header; 0 on failure. */
static void peek(const weir_named *sem, size_t offset, void *to, size_t size)
{
	if (pread(sem->fd, to, size, (off_t)offset) != (ssize_t)size)
		memset(to, 0, size);
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
	else
		peek(sem, offsetof(struct nm_header, closed), &closed,
		     sizeof(closed));
	return closed & (NM_DRAIN | NM_CLOSED);
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
