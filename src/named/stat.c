/* SPDX-License-Identifier: MIT */
/* A consistent snapshot of a semaphore and its participants. */
#include <errno.h>
#include <string.h>

#include "named/handle.h"
#include "named/lock.h"

/* The caller's array; entries beyond max are only counted. */
struct list {
	weir_named_entry *entries;
	uint32_t count, max;
};

static weir_named_entry *add(weir_named *h, struct list *list,
			     const struct nm_slot *slot, weir_named_role role)
{
	weir_named_entry *entry;

	if (list->count++ >= list->max || !list->entries)
		return NULL;
	entry = &list->entries[list->count - 1];
	memset(entry, 0, sizeof(*entry));
	entry->role = role;
	entry->pid = (int32_t)slot->pid;
	entry->pid_namespace = slot->pid_namespace;
	entry->id = slot->id;
	entry->mine = slot == h->mine;
	entry->dead = weir_nm_is_dead_(slot);
	/* Always NUL-terminate the copy. */
	memcpy(entry->label, slot->label, sizeof(entry->label) - 1);
	return entry;
}

static void add_record(weir_named *h, struct list *list,
		       const struct nm_record *record, weir_named_role role,
		       uint32_t place)
{
	struct nm_slot *owner = nm_slot_at(h, &record->owner);
	weir_named_entry *entry = owner ? add(h, list, owner, role) : NULL;

	if (!entry)
		return;
	entry->weight = role == WEIR_NAMED_GRANTED ? record->got : record->min;
	entry->since_ns = record->since_ns;
	entry->place = place;
}

static void add_state(weir_named *h, struct list *list, uint32_t state,
		      weir_named_role role)
{
	uint32_t high = nm_records_high(h);

	for (uint32_t i = 0; i < high; i++)
		if (h->records[i].state == state)
			add_record(h, list, &h->records[i], role, 0);
}

static void add_queue(weir_named *h, struct list *list, weir_named_info *info)
{
	struct nm_record *record = nm_record_at(h, &h->head->queue_first);
	uint32_t place = 0;

	for (; record && place < NM_RECORDS;
	     record = nm_record_at(h, &record->next)) {
		add_record(h, list, record, WEIR_NAMED_WAITS, ++place);
		if (record->min > INT64_MAX - info->waiting_permits)
			info->waiting_permits = INT64_MAX;
		else if (record->min > 0)
			info->waiting_permits += record->min;
	}
	info->waiters = place;
}

static void add_slots(weir_named *h, struct list *list, weir_named_info *info)
{
	uint32_t high = nm_slots_high(h);

	for (uint32_t i = 0; i < high; i++) {
		struct nm_slot *slot = &h->slots[i];
		weir_named_entry *entry;

		if (!weir_nm_is_live_(slot) && !weir_nm_is_dead_(slot))
			continue;
		info->participants++;
		if (slot->held <= 0)
			continue;
		info->held = nm_plus(info->held, slot->held);
		entry = add(h, list, slot, WEIR_NAMED_HOLDS);
		if (entry) {
			entry->weight = slot->held;
			entry->since_ns = slot->since_ns;
		}
	}
}

/*
 * Take the lock.  An observer has no slot, so it takes the lock as a joining
 * process does, under the lock on the join byte.
 */
static weir_err lock_for_stat(weir_named *sem)
{
	if (!(sem->flags & WEIR_NAMED_OBSERVER))
		return weir_nm_enter_(sem);
	/* The description of the file is shared by the threads. */
	weir_nm_lock_opens_();
	if (sem->fd < 0) {
		errno = ESTALE;
	} else if (weir_nm_byte_lock_(sem->fd, NM_BYTE_JOIN, true)) {
		weir_nm_lock_joining_(sem);
		return WEIR_OK;
	}
	weir_nm_unlock_opens_();
	return WEIR_ESYSTEM;
}

static void unlock_for_stat(weir_named *sem)
{
	nm_unlock(sem);
	if (sem->flags & WEIR_NAMED_OBSERVER) {
		weir_nm_byte_unlock_(sem->fd, NM_BYTE_JOIN);
		weir_nm_unlock_opens_();
	}
}

weir_err weir_named_stat(weir_named *sem, weir_named_info *info,
			 weir_named_entry *entries, uint32_t max)
{
	struct list list = { entries, 0, max };
	weir_err err;

	if (!sem || !info)
		return WEIR_EINVAL;
	err = lock_for_stat(sem);
	if (err)
		return err;
	weir_nm_sweep_all_(sem);
	weir_nm_grant_all_(sem);
	*info = (weir_named_info){
		.capacity = sem->head->capacity,
		.free = sem->head->value > 0 ? sem->head->value : 0,
		.debt = sem->head->value < 0 ? nm_minus(0, sem->head->value) :
					       0,
		.oversized = sem->head->oversized + sem->head->idlers,
		.policy = sem->strict ? WEIR_NAMED_STRICT : WEIR_NAMED_FAST,
		.closed = nm_is_closed(sem),
		.paused = nm_is_paused(sem),
	};
	add_slots(sem, &list, info);
	info->granted = nm_minus(nm_minus(info->capacity, sem->head->value),
				 info->held);
	add_state(sem, &list, NM_REC_GRANTED, WEIR_NAMED_GRANTED);
	add_queue(sem, &list, info);
	add_state(sem, &list, NM_REC_OVERSIZED, WEIR_NAMED_OVERSIZED);
	add_state(sem, &list, NM_REC_IDLE, WEIR_NAMED_IDLE);
	info->entries = list.count;
	unlock_for_stat(sem);
	info->renamed = !weir_nm_is_current_(sem);
	return WEIR_OK;
}
