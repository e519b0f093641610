/* SPDX-License-Identifier: MIT */
/*
 * The ways out: each candidate is tried by a reduction.  The number of
 * candidates is bounded.
 */
#include "diag/verdict.h"

#define CONTEXTS_TRIED 8u
#define OBJECTS_TRIED 4u

/* Returns true if the assumption lets all contexts of the group proceed. */
static bool resolves(struct dg_model *model, uint32_t group,
		     const struct dg_assume *assume)
{
	weir_diag_reduce_(model, assume);
	for (uint32_t i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].group == group &&
		    weir_diag_left_(model, i))
			return false;
	return true;
}

static bool resolves_cancel(struct dg_model *model, uint32_t group,
			    uint32_t context)
{
	struct dg_assume assume = DG_ASSUME_NOTHING;

	assume.cancelled = context;
	return resolves(model, group, &assume);
}

/* Returns the permits of the object that the group waits for; 0: none. */
static int64_t wanted(const struct dg_model *model, uint32_t group,
		      uint32_t object)
{
	int64_t sum = 0;

	for (uint32_t w = model->objects[object].first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		const struct dg_wait *wait = &model->waits[w];

		if (model->contexts[wait->context].group == group)
			sum = weir_diag_add_(sum, wait->min);
	}
	return sum;
}

/* Returns the least growth of the object that resolves the group; 0: none. */
static int64_t least_raise(struct dg_model *model, uint32_t group,
			   uint32_t object)
{
	struct dg_assume assume = DG_ASSUME_NOTHING;
	int64_t low = 0, high = wanted(model, group, object);

	/* The capacity of a reader-writer lock cannot be changed. */
	if (model->objects[object].flags & RG_UNBOUNDED ||
	    model->objects[object].type == RG_RWLOCK)
		return 0;
	/* Free permits may be below zero, and growth pays the debt first. */
	if (high && model->objects[object].free < 0)
		high = weir_diag_add_(high, -model->objects[object].free);
	assume.raised = object;
	assume.by = high;
	if (!high || !resolves(model, group, &assume))
		return 0;
	while (high - low > 1) {
		assume.by = low + (high - low) / 2;
		if (resolves(model, group, &assume))
			high = assume.by;
		else
			low = assume.by;
	}
	return high;
}

uint32_t weir_diag_ways_(struct dg_model *model, uint32_t group,
			 struct dg_way *ways, uint32_t max)
{
	uint32_t n = 0, tried = 0;

	for (uint32_t i = 0; i < model->used.contexts && n < max &&
	     tried < CONTEXTS_TRIED; i++) {
		const struct dg_context *c = &model->contexts[i];

		if (c->group != group || c->behind)
			continue;
		tried++;
		if (resolves_cancel(model, group, i))
			ways[n++] = (struct dg_way){ i, DG_NONE, 0 };
	}
	tried = 0;
	for (uint32_t i = 0; i < model->used.objects && n < max &&
	     tried < OBJECTS_TRIED; i++) {
		int64_t by;

		if (!wanted(model, group, i))
			continue;
		tried++;
		by = least_raise(model, group, i);
		if (by)
			ways[n++] = (struct dg_way){ DG_NONE, i, by };
	}
	return n;
}

/* Returns the time until a wait of the context times out; or DG_NO_DEADLINE. */
static int64_t left_ns(const struct dg_model *model, uint32_t context)
{
	int64_t least = DG_NO_DEADLINE;

	for (uint32_t w = model->contexts[context].first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context)
		if (model->waits[w].left_ns < least)
			least = model->waits[w].left_ns;
	return least;
}

int64_t weir_diag_ends_(struct dg_model *model, uint32_t group,
			uint32_t *context)
{
	struct dg_assume assume = DG_ASSUME_NOTHING;
	int64_t first = DG_NO_DEADLINE, last = -1;
	uint32_t tried = 0, last_of = DG_NONE;

	for (uint32_t i = 0; i < model->used.contexts; i++) {
		int64_t left;

		if (model->contexts[i].group != group)
			continue;
		left = left_ns(model, i);
		if (left == DG_NO_DEADLINE)
			continue;
		if (left > last) {
			last = left;
			last_of = i;
		}
		if (left < first && tried++ < CONTEXTS_TRIED &&
		    resolves_cancel(model, group, i)) {
			first = left;
			*context = i;
		}
	}
	if (first != DG_NO_DEADLINE || last_of == DG_NONE)
		return first;
	assume.timed = true;
	if (!resolves(model, group, &assume))
		return DG_NO_DEADLINE;
	*context = last_of;
	return last;
}
