/* SPDX-License-Identifier: MIT */
/* The last step that makes a model: its sums, and the order of its lists. */
#include "diag/verdict.h"

/* Move the element `at` of a heap of n elements down to its place. */
static void sift(uint32_t *heap, uint32_t at, uint32_t n, dg_before_fn *before,
		 const void *user)
{
	for (;;) {
		uint32_t child = 2 * at + 1, swap;

		if (child >= n)
			return;
		if (child + 1 < n && before(heap[child], heap[child + 1], user))
			child++;
		if (!before(heap[at], heap[child], user))
			return;
		swap = heap[at];
		heap[at] = heap[child];
		heap[child] = swap;
		at = child;
	}
}

void weir_diag_sort_(uint32_t *indexes, uint32_t n, dg_before_fn *before,
		     const void *user)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(indexes, i, n, before, user);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t swap = indexes[0];

		indexes[0] = indexes[i];
		indexes[i] = swap;
		sift(indexes, 0, i, before, user);
	}
}

/*
 * Orders waits by arrival.  Waits of one object are adjacent.  Writers that arrive
 * later pass the readers that wait for a recall.
 */
static bool is_earlier(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_wait *x = &model->waits[a], *y = &model->waits[b];

	if (x->object != y->object)
		return x->object < y->object;
	if ((x->flags ^ y->flags) & RG_RECALL)
		return y->flags & RG_RECALL;
	return x->ticket != y->ticket ? x->ticket < y->ticket : a < b;
}

/*
 * Orders waits as they are granted: by arrival.  A growth of the capacity moves
 * the requests that were above it to the end of the queue.
 */
static bool is_granted_before(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_wait *x = &model->waits[a], *y = &model->waits[b];

	if (x->object == y->object && (x->flags ^ y->flags) & RG_OVERSIZED)
		return y->flags & RG_OVERSIZED;
	return is_earlier(a, b, user);
}

/* Orders holds by object, the oldest hold first. */
static bool is_older(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_hold *x = &model->holds[a], *y = &model->holds[b];

	if (x->object != y->object)
		return x->object < y->object;
	return x->age_ns != y->age_ns ? x->age_ns > y->age_ns : a < b;
}

bool weir_diag_leaked_(const struct dg_model *model, const struct dg_hold *hold)
{
	const struct dg_object *object = &model->objects[hold->object];

	return model->contexts[hold->context].ended &&
	       (object->type != RG_POSIX || !weir_diag_open_(object));
}

static void count_hold(struct dg_model *model, const struct dg_hold *hold)
{
	struct dg_object *object = &model->objects[hold->object];

	if (!hold->weight)
		return;
	object->holders++;
	object->held = weir_diag_add_(object->held, hold->weight);
	if (weir_diag_leaked_(model, hold))
		object->leaked = weir_diag_add_(object->leaked, hold->weight);
}

/* Count the contexts that hold permits of each object. */
static void count_contexts(struct dg_model *model, uint32_t *last)
{
	for (uint32_t i = 0; i < model->used.objects; i++)
		last[i] = DG_NONE;
	for (uint32_t i = 0; i < model->used.contexts; i++)
		for (uint32_t h = model->contexts[i].first_hold; h != DG_NONE;
		     h = model->holds[h].next_of_context) {
			uint32_t object = model->holds[h].object;

			if (!model->holds[h].weight || last[object] == i)
				continue;
			last[object] = i;
			model->objects[object].contexts++;
		}
}

static void count_wait(struct dg_model *model, struct dg_wait *wait)
{
	struct dg_object *object = &model->objects[wait->object];

	if (wait->flags & RG_GRANTED) {
		object->held = weir_diag_add_(object->held,
					      object->type == RG_CHAN ||
					      wait->flags & RG_RECALL ?
						      0 : wait->min);
		return;
	}
	object->waiters++;
	object->waiting_permits = weir_diag_add_(object->waiting_permits,
						 wait->min);
	if (!(wait->flags & (RG_OVERSIZED | RG_IDLE | RG_ROOM)))
		wait->place = 1;	/* numbered in weir_diag_finish_ */
}

static void order_holds(struct dg_model *model, uint32_t *order)
{
	for (uint32_t i = 0; i < model->used.objects; i++)
		model->objects[i].first_hold = DG_NONE;
	for (uint32_t i = 0; i < model->used.holds; i++)
		order[i] = i;
	weir_diag_sort_(order, model->used.holds, is_older, model);
	for (uint32_t i = model->used.holds; i-- > 0;) {
		struct dg_hold *hold = &model->holds[order[i]];

		hold->next_of_object = model->objects[hold->object].first_hold;
		model->objects[hold->object].first_hold = order[i];
	}
}

static void order_waits(struct dg_model *model, struct dg_work *work)
{
	uint32_t *order = work->order, n = model->used.waits;

	for (uint32_t i = 0; i < model->used.objects; i++) {
		model->objects[i].first_wait = DG_NONE;
		work->first[i] = DG_NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	weir_diag_sort_(order, n, is_earlier, model);
	for (uint32_t i = n; i-- > 0;) {
		struct dg_wait *wait = &model->waits[order[i]];

		wait->next_of_object = model->objects[wait->object].first_wait;
		model->objects[wait->object].first_wait = order[i];
	}
	weir_diag_sort_(order, n, is_granted_before, model);
	for (uint32_t i = n; i-- > 0;) {
		uint32_t object = model->waits[order[i]].object;

		work->next[order[i]] = work->first[object];
		work->first[object] = order[i];
	}
}

void weir_diag_finish_(struct dg_model *model)
{
	struct dg_work *work = weir_diag_work_(model);

	for (uint32_t i = 0; i < model->used.holds; i++)
		count_hold(model, &model->holds[i]);
	count_contexts(model, work->head);
	for (uint32_t i = 0; i < model->used.waits; i++)
		count_wait(model, &model->waits[i]);
	order_holds(model, work->order);
	order_waits(model, work);
	for (uint32_t i = 0; i < model->used.objects; i++) {
		struct dg_object *object = &model->objects[i];
		uint32_t place = 0;

		for (uint32_t w = object->first_wait; w != DG_NONE;
		     w = model->waits[w].next_of_object)
			if (model->waits[w].place)
				model->waits[w].place = ++place;
		if (object->flags & RG_UNBOUNDED)
			continue;
		object->free = weir_diag_add_(object->capacity, -object->held);
		object->free = weir_diag_add_(object->free, -object->unowned);
		/* The reports negate a debt. */
		if (object->free == INT64_MIN)
			object->free = -INT64_MAX;
	}
}
