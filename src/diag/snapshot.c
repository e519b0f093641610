/* SPDX-License-Identifier: MIT */
/* From the bytes of a registry to a model; snapshot.h describes the order. */
#include "diag/snapshot.h"

#include <string.h>

#include "diag/verdict.h"

#define SECOND INT64_C(1000000000)

/* The most permits of a semaphore. */
#define PERMITS_MAX (INT64_C(1) << 60)

/* No starvation bound of BARGING is longer; a waiter of this age is overdue. */
#define OVERDUE_NS (17 * SECOND)

/* How often a record is read that its writer is changing. */
#define TRIES 8

/* The most holds of an object from which handed over permits are subtracted. */
#define HANDED_MAX 256

/* In context_of: a record with further slots of another context. */
#define FURTHER (DG_NONE - 1)

struct reading {
	const struct dg_source *source;
	const struct rg_header *header;
	struct dg_model *model;
	bool failed;		/* the source ended early */
};

static int64_t age(const struct reading *r, uint64_t ticks)
{
	return weir_diag_age_(r->header, r->source->now_ns, ticks);
}

/*
 * Read a record that begins with its sequence number.  Returns false if it is
 * not in use, or is being changed all the time.
 */
static bool read_record(struct reading *r, uint64_t at, void *record,
			size_t size)
{
	for (int i = 0; i < TRIES && !r->failed; i++) {
		uint32_t seq, after, state;

		if (!r->source->read(r->source->user, at, record, size) ||
		    !r->source->read(r->source->user, at, &after,
				     sizeof(after))) {
			r->failed = true;
			return false;
		}
		memcpy(&seq, record, sizeof(seq));
		memcpy(&state, (char *)record + sizeof(seq), sizeof(state));
		if (state != RG_LIVE && state != RG_ENDED)
			return false;
		if (!(seq & 1) && seq == after)
			return true;
	}
	r->model->incomplete = true;
	return false;
}

static bool read_object(struct reading *r, uint32_t i, struct rg_object *raw)
{
	return read_record(r, RG_OBJECTS_AT + i * sizeof(*raw), raw,
			   sizeof(*raw));
}

static bool read_context(struct reading *r, uint32_t i, struct rg_context *raw)
{
	return read_record(r, RG_CONTEXTS_AT + i * sizeof(*raw), raw,
			   sizeof(*raw));
}

static bool read_wait(struct reading *r, uint32_t i, struct rg_wait *raw)
{
	return read_record(r, RG_WAITS_AT + i * sizeof(*raw), raw,
			   sizeof(*raw));
}

static int64_t permits(struct dg_model *model, int64_t n)
{
	if (n >= 0 && n <= PERMITS_MAX)
		return n;
	model->incomplete = true;
	return n < 0 ? 0 : PERMITS_MAX;
}

static void take_state(struct dg_model *model, struct dg_object *object,
		       const struct rg_object *raw)
{
	object->flags = raw->flags;
	object->capacity = permits(model, raw->capacity);
	/* Until the holders are known, this is what others have released. */
	object->unowned = raw->handed_over < -PERMITS_MAX ? PERMITS_MAX :
			  raw->handed_over > PERMITS_MAX ? -PERMITS_MAX :
			  -raw->handed_over;
}

static void take_object(struct reading *r, uint32_t i,
			const struct rg_object *raw)
{
	uint32_t at = weir_diag_add_object_(r->model);
	struct dg_object *object = &r->model->objects[at];

	if (at == DG_NONE)
		return;
	r->model->object_of[i] = at;
	r->model->prints[at] = 0;
	object->record = i;
	object->id = raw->id;
	object->address = raw->address;
	object->site = raw->site;
	object->type = raw->type < RG_TYPES ? raw->type : RG_SEM;
	object->age_ns = age(r, raw->since);
	object->last_release_ns = age(r, raw->last_release);
	memcpy(object->acquires, raw->acquires, sizeof(object->acquires));
	object->releases = raw->releases;
	object->released = raw->released;
	memcpy(object->waits, raw->waits, sizeof(object->waits));
	memcpy(object->holds, raw->holds, sizeof(object->holds));
	object->wait_ns = (uint64_t)weir_diag_to_ns_(r->header, raw->wait_ticks);
	object->hold_ns = (uint64_t)weir_diag_to_ns_(r->header, raw->hold_ticks);
	weir_diag_clean_(object->name, sizeof(object->name), raw->name,
			 sizeof(raw->name));
	take_state(r->model, object, raw);
}

/* The model's object with this id; DG_NONE if there is none. */
static uint32_t find_object(const struct dg_model *model, uint64_t id)
{
	uint32_t i = (uint32_t)(id & 0xffff);

	if (!id || i >= model->max.objects || model->object_of[i] == DG_NONE ||
	    model->objects[model->object_of[i]].id != id)
		return DG_NONE;
	return model->object_of[i];
}

static uint32_t find_context(const struct dg_model *model, uint64_t id)
{
	uint32_t i = (uint32_t)(id & 0xffff);

	if (i >= model->max.contexts || model->context_of[i] >= FURTHER ||
	    model->contexts[model->context_of[i]].id != id)
		return DG_NONE;
	return model->context_of[i];
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

/* The permits that the slot holds; the counts may have overflowed. */
static int64_t held_by(const struct rg_slot *raw)
{
	return (int64_t)(raw->taken - raw->given - raw->returned);
}

/* The fingerprint of one slot; those of an object are added. */
static uint64_t print(uint32_t record, uint32_t slot, const struct rg_slot *raw)
{
	uint64_t value = mix((uint64_t)record << 32 | slot, raw->object);
	int64_t held = held_by(raw);

	value = mix(value, (uint64_t)held);
	return mix(value, held > 0 ? raw->since : 0);
}

static void take_slots(struct reading *r, uint32_t context,
		       const struct rg_context *raw, uint32_t record)
{
	for (uint32_t i = 0; i < RG_SLOTS; i++) {
		const struct rg_slot *slot = &raw->slots[i];
		uint32_t at, object = find_object(r->model, slot->object);
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
		r->model->prints[object] += print(record, i, slot);
		/* A release is counted a moment after or before its acquire. */
		if (held <= 0)
			continue;
		held = permits(r->model, held);
		at = weir_diag_add_hold_(r->model, context, object, held);
		if (at == DG_NONE)
			return;
		r->model->holds[at].site = slot->site;
		r->model->holds[at].age_ns = age(r, slot->since);
	}
}

static void take_context(struct reading *r, uint32_t i,
			 const struct rg_context *raw)
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
	context->ended = raw->state == RG_ENDED;
	context->age_ns = age(r, raw->since);
	context->ended_ns = age(r, raw->ended);
	weir_diag_clean_(context->name, sizeof(context->name), raw->name,
			 sizeof(raw->name));
	take_slots(r, at, raw, i);
}

/* The records with further slots come after those that they continue. */
static void take_contexts(struct reading *r)
{
	struct rg_context raw;

	for (uint32_t i = 0; i < r->model->max.contexts; i++) {
		r->model->context_of[i] = DG_NONE;
		if (!read_context(r, i, &raw))
			continue;
		if (raw.first)
			r->model->context_of[i] = FURTHER;
		else
			take_context(r, i, &raw);
	}
	for (uint32_t i = 0; i < r->model->max.contexts; i++) {
		uint32_t first;

		if (r->model->context_of[i] != FURTHER ||
		    !read_context(r, i, &raw))
			continue;
		first = raw.first - 1;
		if (first >= r->model->max.contexts ||
		    r->model->context_of[first] >= FURTHER) {
			r->model->incomplete = true;
			continue;
		}
		take_slots(r, r->model->context_of[first], &raw, i);
	}
}

/* Read the contexts again, and mark the objects whose holders have changed. */
static void check_contexts(struct reading *r)
{
	struct dg_model *model = r->model;
	struct rg_context raw;

	for (uint32_t i = 0; i < model->max.contexts; i++) {
		if (model->context_of[i] == DG_NONE ||
		    !read_context(r, i, &raw))
			continue;
		for (uint32_t k = 0; k < RG_SLOTS; k++) {
			uint32_t object = find_object(model,
						      raw.slots[k].object);

			if (object != DG_NONE &&
			    model->objects[object].type != RG_CHAN)
				model->prints[object] -=
					print(i, k, &raw.slots[k]);
		}
	}
	for (uint32_t i = 0; i < model->used.objects; i++) {
		model->objects[i].approximate = model->prints[i] != 0;
		if (model->prints[i])
			model->approximate = true;
	}
}

static uint32_t wait_flags(const struct reading *r, const struct dg_wait *wait,
			   const struct rg_wait *raw)
{
	uint32_t flags = raw->flags & (RG_ANY_OF | RG_HAS_CTX | RG_GRANTED |
				       RG_OVERSIZED | RG_IDLE | RG_RECEIVES);

	if (r->model->objects[wait->object].flags & RG_BARGING &&
	    wait->age_ns < OVERDUE_NS)
		flags |= DG_PASSABLE;
	return flags;
}

/*
 * How often the whole capacity was taken by contexts that came later: a lower
 * bound.  The first permits that were released since the wait began were out
 * then; the next ones may have gone to the waiters before it.
 */
static uint32_t overtaken(const struct dg_object *object,
			  const struct rg_wait *raw)
{
	uint64_t released = object->released - raw->released, turns;

	if (object->flags & RG_UNBOUNDED || object->capacity <= 0 ||
	    object->released < raw->released || raw->ahead < 0 ||
	    released < (uint64_t)raw->ahead)
		return 0;
	turns = (released - (uint64_t)raw->ahead) / (uint64_t)object->capacity;
	turns -= turns > 0;
	return turns < UINT32_MAX ? (uint32_t)turns : UINT32_MAX;
}

/* before: the sequence number that the wait had in the first pass. */
static void take_wait(struct reading *r, uint32_t i, const struct rg_wait *raw,
		      uint32_t before)
{
	uint32_t context = find_context(r->model, raw->context), at;
	uint32_t object = find_object(r->model, raw->object);
	struct dg_wait *wait;

	if (context == DG_NONE || object == DG_NONE)
		return;
	at = weir_diag_add_wait_(r->model, context, object,
				 permits(r->model, raw->min),
				 permits(r->model, raw->max));
	if (at == DG_NONE)
		return;
	wait = &r->model->waits[at];
	wait->record = i;
	wait->seq = raw->seq;
	wait->overtaken = overtaken(&r->model->objects[object], raw);
	wait->ticket = raw->ticket;
	wait->site = raw->site;
	wait->since = raw->since;
	wait->age_ns = age(r, raw->since);
	wait->granted_ns = age(r, raw->granted);
	wait->flags = wait_flags(r, wait, raw);
	if (raw->deadline_ns != INT64_MAX) {
		int64_t left = weir_diag_add_(raw->deadline_ns,
					      -r->source->now_ns);

		wait->left_ns = left < 0 ? 0 : left;
	}
	if (raw->seq != before)
		r->model->contexts[context].moving = true;
}

/* Before a wait is in use, its sequence number is DG_NONE: it is odd. */
static void note_waits(struct reading *r, uint32_t *seqs)
{
	struct rg_wait raw;

	for (uint32_t i = 0; i < r->model->max.waits; i++)
		seqs[i] = read_wait(r, i, &raw) ? raw.seq : DG_NONE;
}

/* Holds of an object, the oldest first. */
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

/* Subtract what other threads have released from the holds of the object. */
static void hand_over(struct dg_model *model, struct dg_object *object)
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

/* The items of a channel: its slots were read at different moments. */
static void count_items(struct dg_object *object)
{
	int64_t items = weir_diag_add_(object->held, object->unowned);

	object->held = items < 0 ? 0 :
		       items > object->capacity ? object->capacity : items;
	object->unowned = 0;
}

static void read_objects(struct reading *r)
{
	struct rg_object raw;

	for (uint32_t i = 0; i < r->model->max.objects; i++) {
		r->model->object_of[i] = DG_NONE;
		if (read_object(r, i, &raw))
			take_object(r, i, &raw);
	}
}

static void refresh_objects(struct reading *r)
{
	struct rg_object raw;

	for (uint32_t i = 0; i < r->model->used.objects; i++) {
		struct dg_object *object = &r->model->objects[i];

		if (read_object(r, object->record, &raw) &&
		    raw.id == object->id)
			take_state(r->model, object, &raw);
		if (object->type == RG_CHAN)
			count_items(object);
		else
			hand_over(r->model, object);
	}
}

enum dg_error weir_diag_snapshot_(const struct dg_source *source,
				  const struct rg_header *header,
				  struct dg_model *model)
{
	struct reading r = { source, header, model, false };
	uint32_t *seqs = weir_diag_work_(model)->order;
	struct rg_wait raw;

	model->pid = header->pid;
	model->lost = header->lost;
	model->now_ns = source->now_ns;
	if (__builtin_sub_overflow(source->now_ns, header->start_ns,
				   &model->realtime_ns))
		model->realtime_ns = 0;
	model->realtime_ns = weir_diag_add_(model->realtime_ns,
					    header->start_realtime_ns);
	weir_diag_clean_(model->program, sizeof(model->program),
			 header->program, sizeof(header->program));
	weir_diag_clean_(model->library, sizeof(model->library),
			 header->library, sizeof(header->library));
	note_waits(&r, seqs);
	read_objects(&r);
	take_contexts(&r);
	if (source->again)
		source->again(source->user);
	check_contexts(&r);
	for (uint32_t i = 0; i < model->max.waits; i++)
		if (read_wait(&r, i, &raw))
			take_wait(&r, i, &raw, seqs[i]);
	refresh_objects(&r);
	if (r.failed)
		return DG_TRUNCATED;
	weir_diag_finish_(model);
	return DG_OK;
}
