/* SPDX-License-Identifier: MIT */
#include "look.h"

#include "base/atomic.h"
#include "check.h"
#include "record/context.h"
#include "record/fast.h"

void watch(weir_sem *sem, int64_t permits, const char *name)
{
	weir_sem_opts opts = { .permits = permits, .name = name };

	CHECK_OK(weir_sem_init_opts(sem, &opts));
}

struct rg_header *header(void)
{
	CHECK(weir_registry_->base);
	return weir_rg_header_(weir_registry_->base);
}

struct rg_object *object_of(const weir_sem *sem)
{
	uint64_t id = weir_record_of_(sem);

	CHECK(id);
	return weir_rg_object_(weir_registry_->base, id);
}

/* The next slot with this semaphore in a context that is in use. */
static struct rg_slot *next_slot(const weir_sem *sem, struct rg_slot *slot,
				 struct rg_context **context)
{
	char *base = weir_registry_->base;
	uint64_t id = weir_record_of_(sem);
	/* relaxed: the test has synchronised with the writers. */
	struct rg_context *end = weir_rg_context_(
		base, at_load_relaxed(&header()->contexts_high));

	if (!slot)
		*context = weir_rg_context_(base, 0);
	for (; *context < end; ++*context, slot = NULL) {
		/* relaxed: as above. */
		uint32_t state = at_load_relaxed(&(*context)->state);

		slot = slot ? slot + 1 : (*context)->slots;
		for (; slot < (*context)->slots + RG_SLOTS; slot++)
			/* relaxed: as above. */
			if ((state == RG_LIVE || state == RG_ENDED) &&
			    at_load_relaxed(&slot->object) == id)
				return slot;
	}
	return NULL;
}

static int64_t sum(const weir_sem *sem, bool all, uint32_t tid)
{
	struct rg_context *context = NULL;
	struct rg_slot *slot = NULL;
	int64_t held = 0;

	while ((slot = next_slot(sem, slot, &context)))
		if (all || context->tid == tid)
			held += weir_slot_holds_(slot);
	return held;
}

unsigned slots_with(const weir_sem *sem)
{
	struct rg_context *context = NULL;
	struct rg_slot *slot = NULL;
	unsigned count = 0;

	while ((slot = next_slot(sem, slot, &context)))
		count += weir_slot_holds_(slot) != 0;
	return count;
}

struct rg_slot *slot_with(const weir_sem *sem)
{
	struct rg_context *context = NULL;
	struct rg_slot *slot = NULL;

	while ((slot = next_slot(sem, slot, &context)))
		if (weir_slot_holds_(slot))
			return slot;
	CHECK(slot);
	return NULL;
}

uint64_t acquires_of(const weir_sem *sem)
{
	uint64_t count = object_of(sem)->acquires[RG_IMMEDIATE];
	struct rg_context *context = NULL;
	struct rg_slot *slot = NULL;

	while ((slot = next_slot(sem, slot, &context)))
		count += slot->acquires;
	return count;
}

uint64_t releases_of(const weir_sem *sem)
{
	uint64_t count = object_of(sem)->releases;
	struct rg_context *context = NULL;
	struct rg_slot *slot = NULL;

	while ((slot = next_slot(sem, slot, &context)))
		count += slot->releases;
	return count;
}

void mark_busy(bool busy)
{
	weir_mine_.busy = busy;
}

bool is_last(const weir_sem *sem)
{
	return weir_record_is_last_(sem);
}

int64_t sum_of_slots(const weir_sem *sem)
{
	return sum(sem, true, 0);
}

int64_t held_by(const weir_sem *sem, uint32_t tid)
{
	return sum(sem, false, tid);
}

int64_t recorded(const weir_sem *sem)
{
	/* relaxed: as above. */
	return sum_of_slots(sem) - at_load_relaxed(&object_of(sem)->handed_over);
}

int64_t out_of(weir_sem *sem)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_stat(sem, &info));
	return info.held;
}

unsigned waits_on(const weir_sem *sem, struct rg_wait *found)
{
	char *base = weir_registry_->base;
	uint64_t id = weir_record_of_(sem);
	unsigned count = 0;

	for (uint32_t i = 0; i < at_load_relaxed(&header()->waits_high); i++) {
		struct rg_wait *wait = weir_rg_wait_(base, i);

		if (at_load_acquire(&wait->state) != RG_LIVE ||
		    wait->object != id)
			continue;
		count++;
		if (found)
			*found = *wait;
	}
	return count;
}

void wait_of(const weir_sem *sem, uint32_t tid, struct rg_wait *found)
{
	char *base = weir_registry_->base;
	uint64_t id = weir_record_of_(sem);

	for (uint32_t i = 0; i < at_load_relaxed(&header()->waits_high); i++) {
		struct rg_wait *wait = weir_rg_wait_(base, i);

		if (at_load_acquire(&wait->state) == RG_LIVE &&
		    wait->object == id && context_of(wait->context) &&
		    context_of(wait->context)->tid == tid) {
			*found = *wait;
			return;
		}
	}
	check_fail(__FILE__, __LINE__, "thread %u does not wait", tid);
}

struct rg_context *context_of(uint64_t id)
{
	struct rg_context *context = weir_rg_context_(weir_registry_->base,
						      (uint32_t)(id & 0xffff));

	return context->id == id ? context : NULL;
}

unsigned contexts_in(enum rg_state state)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < at_load_relaxed(&header()->contexts_high); i++)
		/* relaxed: as above. */
		count += at_load_relaxed(
			&weir_rg_context_(weir_registry_->base, i)->state) ==
			 state;
	return count;
}
