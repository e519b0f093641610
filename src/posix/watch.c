/* SPDX-License-Identifier: MIT */
#include "posix/watch.h"

#include <stdbool.h>

#include "base/atomic.h"
#include "core/sem_word.h"
#include "record/context.h"
#include "record/record.h"
#include "record/registry.h"

void weir_posix_watch_(weir_sem *sem, const void *caller)
{
	int64_t value = weir_value_(sem->word_);
	struct weir_watched_ what = {
		.address = sem,
		.type = RG_POSIX,
		.name = sem->name_,
		.capacity = value,
		.site = (uintptr_t)caller,
	};
	const char *name;

	if (sem->state_ & WEIR_STATE_BARGING_)
		what.flags |= RG_BARGING;
	if (!value)
		what.flags |= RG_UNBOUNDED;
	else if (value > 1)
		what.flags |= RG_MOVED;
	name = weir_record_add_(&what, false);
	/* In a build without the recorder the name is always null. */
	// cppcheck-suppress knownConditionTrueFalse
	if (!name)
		return;
	/* As watch() of core/sem_admin.c. */
	sem->name_ = name;
	sem->state_ |= WEIR_STATE_TRACKED_;
	sem->word_ |= WEIR_SHUT_;
}

/* Returns true if this thread holds permits of the object. */
static bool is_holder(uint64_t id)
{
	/* relaxed: this thread alone writes its contexts. */
	char *base = at_load_relaxed(&weir_registry_->base);
	const struct rg_context *context = weir_mine_.context;

	if (!base || weir_mine_.base != base)
		return false;
	for (; context; context = weir_context_more_(base, context))
		for (unsigned i = 0; i < RG_SLOTS; i++) {
			const struct rg_slot *slot = &context->slots[i];

			/* relaxed: as above. */
			if (at_load_relaxed(&slot->object) == id &&
			    weir_slot_holds_(slot) > 0)
				return true;
		}
	return false;
}

void weir_posix_watch_wait_(const weir_sem *sem)
{
	uint64_t id = weir_record_of_(sem);

	if (id && is_holder(id))
		weir_record_moved_(id);
}
