/* SPDX-License-Identifier: MIT */
/* The model: its memory and its records. */
#include "diag/model.h"

#include <string.h>

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
	       rounded(limits->orders * sizeof(struct dg_order)) +
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
	model->orders = (struct dg_order *)(void *)at;
	at += rounded(limits->orders * sizeof(struct dg_order));
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
	context->named_ns = DG_UNKNOWN;
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
	hold->age_ns = hold->lease_ns = DG_UNKNOWN;
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
	wait->age_ns = wait->granted_ns = wait->limit_ns = DG_UNKNOWN;
	wait->lease_ns = DG_UNKNOWN;
	wait->left_ns = DG_NO_DEADLINE;
	wait->next_of_context = model->contexts[context].first_wait;
	model->contexts[context].first_wait = i;
	wait->next_of_object = DG_NONE;
	return i;
}

_Static_assert((int)DG_NO_RELEASER == (int)WEIR_DIAG_NO_RELEASER &&
	       (int)DG_DEADLOCK - 1 == (int)WEIR_DIAG_DEADLOCK,
	       "the numbers of weir/diag.h");

weir_diag_verdict weir_diag_number_(enum dg_verdict verdict)
{
	return (weir_diag_verdict)(verdict <= DG_NO_RELEASER ? (int)verdict :
							       (int)verdict - 1);
}

const char *weir_diag_verdict_name_(enum dg_verdict verdict)
{
	static const char *const names[DG_VERDICTS] = {
		"FINE", "SLOW", "STALLED", "STARVED", "STRANDED",
		"NO KNOWN RELEASER", "POSSIBLE DEADLOCK", "UNSATISFIABLE",
		"LEAKED", "SELF-NESTED", "DEADLOCK"
	};

	return verdict < DG_VERDICTS ? names[verdict] : "?";
}

const char *weir_diag_type_name_(uint32_t type)
{
	static const char *const names[RG_TYPES] = {
		"semaphore", "group", "pool", "channel", "rate limit",
		"reader-writer lock", "limits", "adaptive limit",
		"circuit breaker", "sem_t", "sharded semaphore"
	};

	return type < RG_TYPES ? names[type] : "object";
}

const char *weir_diag_kind_name_(uint32_t kind)
{
	static const char *const names[DG_CLIENT + 1] = {
		"thread", "operation", "task", "loan", "process", "client"
	};

	return kind <= DG_CLIENT ? names[kind] : "context";
}
