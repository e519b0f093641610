/* SPDX-License-Identifier: MIT */
/*
 * The entries of a snapshot: the process that has the lock, the holders, and the
 * waiting calls.  stat.c has the counts.
 */
#include <string.h>

#include "base/ticks.h"
#include "named/entries.h"
#include "named/lock.h"
#include "named/record.h"
#include "named/table.h"

static weir_named_entry *add(const weir_named *h, struct nm_list *list,
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

void weir_nm_add_lock_holder_(const weir_named *h, struct nm_list *list,
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

void weir_nm_add_holders_(const weir_named *h, struct nm_list *list,
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
		info->held = nm_sum(info->held, slot->held);
		entry = add(h, list, image, index, WEIR_NAMED_HOLDS);
		if (entry) {
			entry->weight = slot->held;
			entry->since_ns = weir_ticks_ns_(slot->since_ticks);
		}
	}
}

static void add_record(const weir_named *h, struct nm_list *list,
		       const struct nm_image *image, uint32_t index,
		       weir_named_role role, uint32_t place)
{
	const struct nm_record *record = &image->records[index];
	weir_named_entry *entry =
		add(h, list, image, nm_image_owner(image, record), role);

	if (!entry)
		return;
	entry->weight = role == WEIR_NAMED_GRANTED ? record->got : record->min;
	entry->since_ns = record->since;
	entry->place = place;
}

uint32_t weir_nm_add_state_(const weir_named *h, struct nm_list *list,
			    const struct nm_image *image, uint32_t state,
			    weir_named_role role)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = image->used_records[i];

		if (nm_image_state(image, index) != state ||
		    nm_image_owner(image, &image->records[index]) == NM_SLOTS)
			continue;
		add_record(h, list, image, index, role, 0);
		count++;
	}
	return count;
}

void weir_nm_add_queue_(const weir_named *h, struct nm_list *list,
			struct nm_image *image, weir_named_info *info)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->record_count; i++) {
		uint32_t index = image->used_records[i];
		const struct nm_record *record = &image->records[index];

		if (nm_image_state(image, index) == NM_REC_WAITS &&
		    nm_image_owner(image, record) < NM_SLOTS)
			image->places[count++] = (struct nm_place){
				record->ticket, index
			};
	}
	weir_nm_sort_(image->places, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = image->places[i].index;

		add_record(h, list, image, index, WEIR_NAMED_WAITS, i + 1);
		info->waiting_permits = nm_sum(info->waiting_permits,
					       image->records[index].min);
	}
	info->waiters = count;
}
