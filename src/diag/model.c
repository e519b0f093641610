/* SPDX-License-Identifier: MIT */
/* The model: its memory, its lists, and the order of its queues. */
#include "diag/model.h"

#include <string.h>

#include "diag/verdict.h"

static size_t rounded(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

size_t weir_diag_model_size_(const struct dg_limits *limits)
{
	return rounded(limits->objects * sizeof(struct dg_object)) +
	       rounded(limits->contexts * sizeof(struct dg_context)) +
	       rounded(limits->holds * sizeof(struct dg_hold)) +
	       rounded(limits->waits * sizeof(struct dg_wait)) +
	       rounded(limits->objects * sizeof(uint32_t)) +
	       rounded(limits->contexts * sizeof(uint32_t)) +
	       rounded(limits->objects * sizeof(uint64_t)) +
	       weir_diag_work_size_(limits);
}

void weir_diag_model_init_(struct dg_model *model,
			   const struct dg_limits *limits, void *memory)
{
	char *at = memory;

	memset(model, 0, sizeof(*model));
	model->max = *limits;
	model->objects = (struct dg_object *)(void *)at;
	at += rounded(limits->objects * sizeof(struct dg_object));
	model->contexts = (struct dg_context *)(void *)at;
	at += rounded(limits->contexts * sizeof(struct dg_context));
	model->holds = (struct dg_hold *)(void *)at;
	at += rounded(limits->holds * sizeof(struct dg_hold));
	model->waits = (struct dg_wait *)(void *)at;
	at += rounded(limits->waits * sizeof(struct dg_wait));
	model->object_of = (uint32_t *)(void *)at;
	at += rounded(limits->objects * sizeof(uint32_t));
	model->context_of = (uint32_t *)(void *)at;
	at += rounded(limits->contexts * sizeof(uint32_t));
	model->prints = (uint64_t *)(void *)at;
	at += rounded(limits->objects * sizeof(uint64_t));
	model->work_memory = at;
}

int64_t weir_diag_add_(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

uint32_t weir_diag_add_object_(struct dg_model *model)
{
	uint32_t i = model->used.objects;
	struct dg_object *object = &model->objects[i];

	if (i >= model->max.objects) {
		model->incomplete = true;
		return DG_NONE;
	}
	model->used.objects++;
	memset(object, 0, sizeof(*object));
	object->first_hold = object->first_wait = DG_NONE;
	object->age_ns = object->last_release_ns = DG_UNKNOWN;
	return i;
}

uint32_t weir_diag_add_context_(struct dg_model *model)
{
	uint32_t i = model->used.contexts;
	struct dg_context *context = &model->contexts[i];

	if (i >= model->max.contexts) {
		model->incomplete = true;
		return DG_NONE;
	}
	model->used.contexts++;
	memset(context, 0, sizeof(*context));
	context->first_hold = context->first_wait = DG_NONE;
	context->age_ns = context->ended_ns = DG_UNKNOWN;
	return i;
}

uint32_t weir_diag_add_hold_(struct dg_model *model, uint32_t context,
			     uint32_t object, int64_t weight)
{
	uint32_t i = model->used.holds;
	struct dg_hold *hold = &model->holds[i];

	if (i >= model->max.holds) {
		model->incomplete = true;
		return DG_NONE;
	}
	model->used.holds++;
	memset(hold, 0, sizeof(*hold));
	hold->context = context;
	hold->object = object;
	hold->weight = weight;
	hold->age_ns = DG_UNKNOWN;
	hold->next_of_context = model->contexts[context].first_hold;
	model->contexts[context].first_hold = i;
	hold->next_of_object = model->objects[object].first_hold;
	model->objects[object].first_hold = i;
	return i;
}

uint32_t weir_diag_add_wait_(struct dg_model *model, uint32_t context,
			     uint32_t object, int64_t min, int64_t max)
{
	uint32_t i = model->used.waits;
	struct dg_wait *wait = &model->waits[i];

	if (i >= model->max.waits) {
		model->incomplete = true;
		return DG_NONE;
	}
	model->used.waits++;
	memset(wait, 0, sizeof(*wait));
	wait->context = context;
	wait->object = object;
	wait->min = min;
	wait->max = max;
	wait->age_ns = DG_UNKNOWN;
	wait->left_ns = DG_NO_DEADLINE;
	wait->next_of_context = model->contexts[context].first_wait;
	model->contexts[context].first_wait = i;
	wait->next_of_object = DG_NONE;
	return i;
}

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

/* The order of arrival.  Waits of one object are adjacent. */
static bool is_earlier(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_wait *x = &model->waits[a], *y = &model->waits[b];

	if (x->object != y->object)
		return x->object < y->object;
	return x->ticket != y->ticket ? x->ticket < y->ticket : a < b;
}

/*
 * The order of granting: the waiters that no request passes, by arrival; then
 * those that may be passed, the smallest first.
 */
static bool is_granted_before(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_wait *x = &model->waits[a], *y = &model->waits[b];
	uint32_t x_passable = x->flags & DG_PASSABLE;

	if (x->object != y->object)
		return x->object < y->object;
	if (x_passable != (y->flags & DG_PASSABLE))
		return !x_passable;
	if (x_passable && x->min != y->min)
		return x->min < y->min;
	return is_earlier(a, b, user);
}

/* Holds of one object are adjacent, the oldest first. */
static bool is_older(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_hold *x = &model->holds[a], *y = &model->holds[b];

	if (x->object != y->object)
		return x->object < y->object;
	return x->age_ns != y->age_ns ? x->age_ns > y->age_ns : a < b;
}

static void count_hold(struct dg_model *model, const struct dg_hold *hold)
{
	struct dg_object *object = &model->objects[hold->object];

	if (!hold->weight)
		return;
	object->holders++;
	object->held = weir_diag_add_(object->held, hold->weight);
	if (model->contexts[hold->context].ended)
		object->leaked = weir_diag_add_(object->leaked, hold->weight);
}

static void count_wait(struct dg_model *model, struct dg_wait *wait)
{
	struct dg_object *object = &model->objects[wait->object];

	if (wait->flags & RG_GRANTED) {
		object->held = weir_diag_add_(object->held, wait->min);
		return;
	}
	object->waiters++;
	object->waiting_permits = weir_diag_add_(object->waiting_permits,
						 wait->min);
	if (!(wait->flags & (RG_OVERSIZED | RG_IDLE)))
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
	}
}

const char *weir_diag_verdict_name_(enum dg_verdict verdict)
{
	static const char *const names[DG_VERDICTS] = {
		"FINE", "SLOW", "STALLED", "STARVED", "STRANDED",
		"NO KNOWN RELEASER", "UNSATISFIABLE", "LEAKED", "SELF-NESTED",
		"DEADLOCK"
	};

	return verdict < DG_VERDICTS ? names[verdict] : "?";
}

const char *weir_diag_type_name_(uint32_t type)
{
	static const char *const names[RG_TYPES] = {
		"semaphore", "group", "pool", "channel", "rate limit",
		"reader-writer lock", "limits", "adaptive limit",
		"circuit breaker", "sem_t"
	};

	return type < RG_TYPES ? names[type] : "object";
}

const char *weir_diag_kind_name_(uint32_t kind)
{
	static const char *const names[RG_KINDS + 1] = {
		"thread", "operation", "task", "loan", "process"
	};

	return kind <= RG_KINDS ? names[kind] : "context";
}
