/* SPDX-License-Identifier: MIT */
/*
 * Changes of a watched object between weir_record_add_ and weir_record_remove_:
 * its type, its capacity, its flags, and the calls that failed or were refused.
 * A change of an object that does not exist any more is ignored.
 */
#include "base/atomic.h"
#include "record/event.h"
#include "record/record.h"

/* Returns the object with this id; null: it does not exist any more. */
static struct rg_object *find(uint64_t id)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct rg_object *object;

	if (!id || !base)
		return NULL;
	object = weir_rg_object_(base, id);
	/* relaxed: as above. */
	return at_load_relaxed(&object->id) == id ? object : NULL;
}

void weir_record_type_(uint64_t id, enum rg_type type)
{
	struct rg_object *object = find(id);

	/* relaxed: for display. */
	if (object)
		at_store_relaxed(&object->type, type);
}

void weir_record_second_(uint64_t id, const void *sem)
{
	struct rg_object *object = find(id);

	/* relaxed: the semaphore is published later. */
	if (object)
		at_store_relaxed(&object->inner[1], (uintptr_t)sem);
}

void weir_record_capacity_(uint64_t id, int64_t capacity)
{
	struct rg_object *object = find(id);

	/* relaxed: for display. */
	if (object)
		at_store_relaxed(&object->capacity, capacity);
}

void weir_record_closed_(uint64_t id)
{
	struct rg_object *object = find(id);

	if (!object)
		return;
	weir_registry_flag_(object, RG_IS_CLOSED);
	weir_record_event_(id, WEIR_EVENT_CLOSED_, 0, WEIR_OK);
}

void weir_record_moved_(uint64_t id)
{
	struct rg_object *object = find(id);

	if (object)
		weir_registry_flag_(object, RG_MOVED);
}

/* The outcome that a reader counts; RG_OUTCOMES: none. */
static enum rg_outcome outcome_of(weir_err err)
{
	switch (err) {
	case WEIR_ETIMEDOUT:
		return RG_TIMEOUT;
	case WEIR_ECANCELED:
		return RG_CANCELLED;
	case WEIR_ECLOSED:
		return RG_CLOSED;
	case WEIR_EAGAIN:
	case WEIR_EBUSY:
		return RG_WOULD_BLOCK;
	default:
		return RG_OUTCOMES;
	}
}

void weir_record_failed_(uint64_t id, weir_err err)
{
	struct rg_object *object = find(id);
	enum rg_outcome outcome = outcome_of(err);

	/* relaxed: a count. */
	if (object && outcome != RG_OUTCOMES)
		at_add_relaxed(&object->acquires[outcome], 1);
}

void weir_record_misused_(uint64_t id, enum rg_misuse misuse)
{
	struct rg_object *object = find(id);

	/* relaxed: a count. */
	if (object)
		at_add_relaxed(&object->misuses[misuse], 1);
}
