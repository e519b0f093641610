/* SPDX-License-Identifier: MIT */
/*
 * The holders of a snapshot (reading.h): the contexts, and the permits in their
 * slots.
 *
 * The slots of an object are read at different moments.  Each slot has a
 * fingerprint of its contents; the sum over an object is its fingerprint.  The
 * contexts are read a second time and the fingerprints are subtracted.  If the
 * difference is not 0, then the holders of the object have changed meanwhile, and
 * the object is marked as approximate.
 */
#include "diag/reading.h"

/* The most holds of an object from which handed over permits are subtracted. */
#define HANDED_MAX 256

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

/* Returns the permits that the slot holds; the counts may have overflowed. */
static int64_t held_by(const struct rg_slot *raw)
{
	return (int64_t)(raw->taken - raw->given - raw->returned);
}

/* Returns the ticks of the slot's hold. */
static uint64_t since_of(const struct dg_reading *r, const struct rg_slot *raw)
{
	return rg_since(r->header->clock, raw->since[0], raw->since[1]);
}

/* Returns the fingerprint of one slot. */
static uint64_t print(const struct dg_reading *r, uint32_t record, uint32_t slot,
		      const struct rg_slot *raw)
{
	uint64_t value = mix((uint64_t)record << 32 | slot, raw->object);
	int64_t held = held_by(raw);

	value = mix(value, (uint64_t)held);
	return mix(value, held > 0 ? since_of(r, raw) : 0);
}

static void take_slots(struct dg_reading *r, uint32_t context,
		       const struct rg_context *raw, uint32_t record)
{
	for (uint32_t i = 0; i < RG_SLOTS; i++) {
		const struct rg_slot *slot = &raw->slots[i];
		uint32_t object = weir_diag_find_object_(r->model,
							 slot->object);
		uint32_t at;
		struct dg_object *o;
		int64_t held;

		if (object == DG_NONE)
			continue;
		o = &r->model->objects[object];
		o->acquires[RG_IMMEDIATE] += slot->acquires;
		o->releases += slot->releases;
		held = held_by(slot);
		if (o->type == RG_CHAN) {
			o->held = weir_diag_add_(o->held, held);
			continue;
		}
		r->model->prints[object] += print(r, record, i, slot);
		/* Negative: a release was counted before its acquire. */
		if (held <= 0)
			continue;
		held = weir_diag_permits_(r->model, held);
		at = weir_diag_add_hold_(r->model, context, object, held);
		if (at == DG_NONE)
			return;
		r->model->holds[at].site = slot->site;
		r->model->holds[at].age_ns = weir_diag_since_(r, since_of(r, slot));
	}
}

/* Returns true if the context may hold permits. */
static bool may_hold(const struct rg_context *raw)
{
	bool holds = raw->more;

	for (uint32_t i = 0; i < RG_SLOTS; i++)
		holds |= raw->slots[i].object && held_by(&raw->slots[i]) > 0;
	return holds;
}

/*
 * Returns true if the context is in use, but its thread does not exist: the
 * destructor of its key was not called (src/record/thread.c).  The record is read
 * again after the thread is gone.  Only if it is still in use then, the destructor
 * was not called, and *raw is the thread's last state.  Sets *used to false if the
 * record is not in use any more.
 */
static bool has_gone(struct dg_reading *r, uint32_t i, struct rg_context *raw,
		     bool *used)
{
	const struct dg_source *source = r->source;
	uint64_t id = raw->id;

	if (!source->has_gone || raw->state != RG_LIVE ||
	    raw->kind != RG_THREAD || raw->first || !raw->tid ||
	    raw->tid > INT32_MAX || !may_hold(raw) ||
	    !source->has_gone(source->user, raw->tid,
			      weir_diag_since_(r, raw->since)))
		return false;
	*used = weir_diag_read_context_(r, i, raw);
	return *used && raw->id == id && raw->state == RG_LIVE;
}

static void take_context(struct dg_reading *r, uint32_t i,
			 const struct rg_context *raw, bool gone)
{
	uint32_t at = weir_diag_add_context_(r->model);
	struct dg_context *context = &r->model->contexts[at];

	if (at == DG_NONE)
		return;
	r->model->context_of[i] = at;
	context->record = i;
	context->id = raw->id;
	context->address = raw->address;
	context->kind = raw->kind < RG_KINDS ? raw->kind : RG_THREAD;
	context->tid = raw->tid <= INT32_MAX ? raw->tid : 0;
	context->ended = gone || raw->state == RG_ENDED;
	context->age_ns = weir_diag_since_(r, raw->since);
	context->ended_ns = weir_diag_since_(r, raw->ended);
	weir_diag_clean_(context->name, sizeof(context->name), raw->name,
			 sizeof(raw->name));
	if (!context->ended)
		context->named_ns = weir_diag_since_(r, raw->named_since);
	weir_diag_clean_(context->named, sizeof(context->named), raw->named,
			 sizeof(raw->named));
	take_slots(r, at, raw, i);
}

/* Read records with further slots after the records that they continue. */
void weir_diag_take_contexts_(struct dg_reading *r)
{
	struct rg_context raw;

	for (uint32_t i = 0; i < r->model->max.contexts; i++) {
		bool used = true, gone;

		r->model->context_of[i] = DG_NONE;
		if (!weir_diag_read_context_(r, i, &raw))
			continue;
		gone = has_gone(r, i, &raw, &used);
		if (!used)
			continue;
		if (raw.first)
			r->model->context_of[i] = DG_FURTHER;
		else
			take_context(r, i, &raw, gone);
	}
	for (uint32_t i = 0; i < r->model->max.contexts; i++) {
		uint32_t first;

		if (r->model->context_of[i] != DG_FURTHER ||
		    !weir_diag_read_context_(r, i, &raw))
			continue;
		first = raw.first - 1;
		if (first >= r->model->max.contexts ||
		    r->model->context_of[first] >= DG_FURTHER) {
			r->model->incomplete = true;
			continue;
		}
		take_slots(r, r->model->context_of[first], &raw, i);
	}
}

void weir_diag_check_contexts_(struct dg_reading *r)
{
	struct dg_model *model = r->model;
	struct rg_context raw;

	for (uint32_t i = 0; i < model->max.contexts; i++) {
		if (model->context_of[i] == DG_NONE ||
		    !weir_diag_read_context_(r, i, &raw))
			continue;
		for (uint32_t k = 0; k < RG_SLOTS; k++) {
			uint32_t object = weir_diag_find_object_(
				model, raw.slots[k].object);

			if (object != DG_NONE &&
			    model->objects[object].type != RG_CHAN)
				model->prints[object] -=
					print(r, i, k, &raw.slots[k]);
		}
	}
	for (uint32_t i = 0; i < model->used.objects; i++) {
		model->objects[i].approximate = model->prints[i] != 0;
		if (model->prints[i])
			model->approximate = true;
	}
}

/* Orders holds by object, the oldest hold first. */
static bool is_older(uint32_t a, uint32_t b, const void *user)
{
	const struct dg_model *model = user;
	const struct dg_hold *x = &model->holds[a], *y = &model->holds[b];

	if (x->object != y->object)
		return x->object < y->object;
	if (x->age_ns != y->age_ns)
		return x->age_ns > y->age_ns;
	return a < b;
}

void weir_diag_hand_over_(struct dg_model *model, struct dg_object *object)
{
	/*
	 * The search for the oldest hold is repeated each time: few holds are
	 * handed over between two calls of their owner.
	 */
	for (int i = 0; i < HANDED_MAX && object->unowned < 0; i++) {
		uint32_t oldest = DG_NONE;
		struct dg_hold *hold;
		int64_t n;

		for (uint32_t h = object->first_hold; h != DG_NONE;
		     h = model->holds[h].next_of_object)
			if (model->holds[h].weight > 0 &&
			    (oldest == DG_NONE || is_older(h, oldest, model)))
				oldest = h;
		if (oldest == DG_NONE)
			break;
		hold = &model->holds[oldest];
		n = hold->weight < -object->unowned ? hold->weight :
						      -object->unowned;
		hold->weight -= n;
		object->unowned += n;
	}
	if (object->unowned < 0)
		object->unowned = 0;
}
