/* SPDX-License-Identifier: MIT */
/*
 * The groups of a verdict (verdict.h): the contexts that block each other.  All
 * contexts that are left, and that wait for the same object or hold it, are in
 * one group: union-find over the objects.  A wait for more than the capacity is in
 * no queue: neither the holders of the object nor its other waiters block it, and it
 * blocks none of them.  A context of a group is behind if
 * the group would be blocked without it as well.
 */
#include "diag/verdict.h"

static uint32_t root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

/* Put the waiters and holders of an object that are left into one group. */
static void join_object(struct dg_model *model, const struct dg_object *object)
{
	uint32_t *parent = model->work->parent, first = DG_NONE;

	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		uint32_t c = model->waits[w].context;

		if (!weir_diag_left_under_(model, c, DG_PLAIN) ||
		    model->waits[w].flags & RG_OVERSIZED)
			continue;
		if (first == DG_NONE)
			first = c;
		parent[root(parent, c)] = root(parent, first);
	}
	if (first == DG_NONE)
		return;
	for (uint32_t h = object->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_object) {
		uint32_t c = model->holds[h].context;

		if (weir_diag_left_under_(model, c, DG_PLAIN))
			parent[root(parent, c)] = root(parent, first);
	}
}

void weir_diag_number_groups_(struct dg_model *model)
{
	uint32_t *parent = model->work->parent, *number = model->work->needed;

	for (uint32_t i = 0; i < model->used.contexts; i++) {
		parent[i] = i;
		number[i] = 0;
	}
	for (uint32_t i = 0; i < model->used.objects; i++)
		join_object(model, &model->objects[i]);
	model->groups = 0;
	for (uint32_t i = 0; i < model->used.contexts; i++) {
		uint32_t first = root(parent, i);

		model->contexts[i].group = 0;
		if (!weir_diag_left_under_(model, i, DG_PLAIN) ||
		    model->contexts[i].receives)
			continue;
		if (!number[first])
			number[first] = ++model->groups;
		model->contexts[i].group = number[first];
	}
}

/*
 * Returns true if the context holds no permits of an awaited object, and
 * another waiter is before it in each of its queues.
 */
static bool is_behind(const struct dg_model *model, uint32_t context)
{
	const struct dg_context *c = &model->contexts[context];

	for (uint32_t h = c->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context)
		if (model->work->is_changed[model->holds[h].object])
			return false;
	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context)
		if (model->waits[w].place < 2)
			return false;
	return true;
}

void weir_diag_mark_behind_(struct dg_model *model)
{
	for (uint32_t i = 0; i < model->used.contexts; i++)
		model->contexts[i].behind = model->contexts[i].group &&
					    is_behind(model, i);
}

enum dg_verdict weir_diag_group_verdict_(const struct dg_model *model,
					 uint32_t group)
{
	enum dg_verdict gravest = DG_FINE, behind = DG_FINE;

	/* Contexts that are behind count only if there are no others. */
	for (uint32_t i = 0; i < model->used.contexts; i++) {
		const struct dg_context *c = &model->contexts[i];

		if (c->group != group)
			continue;
		if (c->behind && c->verdict > behind)
			behind = c->verdict;
		else if (!c->behind && c->verdict > gravest)
			gravest = c->verdict;
	}
	return gravest ? gravest : behind;
}
