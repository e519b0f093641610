/* SPDX-License-Identifier: MIT */
/*
 * From the bytes of a registry to a model; snapshot.h describes the order.  This
 * file has the objects and the waits, holders.c the contexts.
 */
#include "diag/snapshot.h"

#include <string.h>

#include "diag/reading.h"
#include "diag/verdict.h"

static void take_state(struct dg_model *model, struct dg_object *object,
		       const struct rg_object *raw)
{
	/*
	 * A moved permit may be used between two readings: its holder before may
	 * be the one that was read, and it is not counted any more.
	 */
	object->flags = raw->flags | (object->flags & RG_MOVED) |
			(raw->moved ? RG_MOVED : 0);
	object->capacity = weir_diag_permits_(model, raw->capacity);
	/*
	 * Until the holders are known: minus the permits that others released.
	 */
	object->unowned = raw->handed_over < -DG_PERMITS_MAX ? DG_PERMITS_MAX :
			  raw->handed_over > DG_PERMITS_MAX ? -DG_PERMITS_MAX :
			  -raw->handed_over;
}

static void take_object(struct dg_reading *r, uint32_t i,
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
	object->class_key = raw->class_key;
	object->type = raw->type < RG_TYPES ? raw->type : RG_SEM;
	object->age_ns = weir_diag_since_(r, raw->since);
	object->last_release_ns = weir_diag_since_(r, raw->last_release);
	memcpy(object->acquires, raw->acquires, sizeof(object->acquires));
	memcpy(object->misuses, raw->misuses, sizeof(object->misuses));
	object->releases = raw->releases;
	object->released = raw->released;
	memcpy(object->waits, raw->waits, sizeof(object->waits));
	memcpy(object->holds, raw->holds, sizeof(object->holds));
	object->unmeasured = raw->holds[RG_UNMEASURED];
	object->holds[RG_UNMEASURED] = 0;
	object->wait_ns = (uint64_t)weir_diag_to_ns_(r->header, raw->wait_ticks);
	object->hold_ns = (uint64_t)weir_diag_to_ns_(r->header, raw->hold_ticks);
	weir_diag_clean_(object->name, sizeof(object->name), raw->name,
			 sizeof(raw->name));
	take_state(r->model, object, raw);
}

static uint32_t wait_flags(const struct dg_reading *r,
			   const struct dg_wait *wait,
			   const struct rg_wait *raw)
{
	uint32_t flags = raw->flags & (RG_ANY_OF | RG_HAS_CTX | RG_GRANTED |
				       RG_OVERSIZED | RG_IDLE | RG_RECEIVES);

	if (r->model->objects[wait->object].type == RG_GROUP)
		flags |= raw->flags & RG_ROOM;
	if (r->model->objects[wait->object].type == RG_RWLOCK)
		flags |= raw->flags & RG_RECALL;
	return flags;
}

/*
 * Returns how often contexts that came later have taken the whole capacity: a
 * lower bound.  The first permits that were released since the wait began were
 * out at that time; the next ones may have gone to the waiters before this one.
 * A wait that is no acquire of permits is not overtaken.
 */
static uint32_t overtaken(const struct dg_object *object,
			  const struct rg_wait *raw)
{
	uint64_t released = object->released - raw->released, turns;

	if (object->flags & RG_UNBOUNDED || object->capacity <= 0 ||
	    raw->flags & (RG_IDLE | RG_ROOM) ||
	    object->released < raw->released || raw->ahead < 0 ||
	    released < (uint64_t)raw->ahead)
		return 0;
	turns = (released - (uint64_t)raw->ahead) / (uint64_t)object->capacity;
	turns -= turns > 0;
	return turns < UINT32_MAX ? (uint32_t)turns : UINT32_MAX;
}

/*
 * The times that depend on the deadline.  The age is more exact by it: `since`
 * may lag.
 */
static void take_deadline(const struct dg_reading *r, struct dg_wait *wait,
			  const struct rg_wait *raw)
{
	int64_t now_ns = r->source->now_ns, left, age;

	if (raw->deadline_ns == INT64_MAX)
		return;
	if (__builtin_sub_overflow(raw->deadline_ns, now_ns, &left))
		left = now_ns < 0 ? DG_NO_DEADLINE : 0;
	wait->left_ns = left < 0 ? 0 : left;
	if (raw->limit_ns <= 0)
		return;
	wait->limit_ns = raw->limit_ns;
	if (left != DG_NO_DEADLINE &&
	    !__builtin_sub_overflow(raw->limit_ns, left, &age) && age >= 0)
		wait->age_ns = age;
}

/* before: the sequence number that the wait had in the first pass. */
static void take_wait(struct dg_reading *r, uint32_t i,
		      const struct rg_wait *raw, uint32_t before)
{
	uint32_t context = weir_diag_find_context_(r->model, raw->context), at;
	uint32_t object = weir_diag_find_object_(r->model, raw->object);
	struct dg_wait *wait;

	if (context == DG_NONE || object == DG_NONE || raw->flags & RG_REFUSED)
		return;
	at = weir_diag_add_wait_(r->model, context, object,
				 weir_diag_permits_(r->model, raw->min),
				 weir_diag_permits_(r->model, raw->max));
	if (at == DG_NONE)
		return;
	wait = &r->model->waits[at];
	wait->record = i;
	wait->seq = raw->seq;
	wait->overtaken = overtaken(&r->model->objects[object], raw);
	wait->ticket = raw->ticket;
	wait->site = raw->site;
	wait->since = raw->since;
	wait->age_ns = weir_diag_since_(r, raw->since);
	wait->granted_ns = weir_diag_since_(r, raw->granted);
	wait->flags = wait_flags(r, wait, raw);
	take_deadline(r, wait, raw);
	if (raw->seq != before)
		r->model->contexts[context].moving = true;
}

/*
 * Store the sequence number of each wait.  For a record that is not in use,
 * store DG_NONE, which is odd: no wait in use has such a number.
 */
static void note_waits(struct dg_reading *r, uint32_t *seqs)
{
	struct rg_wait raw;

	for (uint32_t i = 0; i < r->model->max.waits; i++)
		seqs[i] = weir_diag_read_wait_(r, i, &raw) ? raw.seq : DG_NONE;
}

/* Bound the items of a channel, whose slots were read at different moments. */
static void count_items(struct dg_object *object)
{
	int64_t items = weir_diag_add_(object->held, object->unowned);

	object->held = items < 0 ? 0 :
		       items > object->capacity ? object->capacity : items;
	object->unowned = 0;
}

/*
 * The waits were read before the capacities.  If a resize has moved a wait to the
 * other list meanwhile, its record is outdated: judge its context as if it did not
 * wait.
 */
static void check_places(struct dg_model *model)
{
	for (uint32_t i = 0; i < model->used.waits; i++) {
		const struct dg_wait *wait = &model->waits[i];
		const struct dg_object *o = &model->objects[wait->object];
		bool oversized = wait->min > o->capacity;

		if (o->flags & RG_UNBOUNDED || o->type == RG_CHAN ||
		    wait->flags & (RG_IDLE | RG_ROOM | RG_GRANTED))
			continue;
		if (oversized != ((wait->flags & RG_OVERSIZED) != 0))
			model->contexts[wait->context].moving = true;
	}
}

static void read_objects(struct dg_reading *r)
{
	struct rg_object raw;

	for (uint32_t i = 0; i < r->model->max.objects; i++) {
		r->model->object_of[i] = DG_NONE;
		if (weir_diag_read_object_(r, i, &raw))
			take_object(r, i, &raw);
	}
}

static void read_orders(struct dg_reading *r)
{
	struct dg_model *model = r->model;
	struct rg_order raw;

	for (uint32_t i = 0; i < model->max.orders && !r->failed; i++) {
		if (!r->source->read(r->source->user,
				     RG_ORDERS_AT + i * sizeof(raw), &raw,
				     sizeof(raw)))
			r->failed = true;
		else
			model->orders[model->used.orders++] = (struct dg_order){
				raw.from, raw.to, weir_diag_since_(r, raw.since)
			};
	}
}

static void refresh_objects(struct dg_reading *r)
{
	struct rg_object raw;

	for (uint32_t i = 0; i < r->model->used.objects; i++) {
		struct dg_object *object = &r->model->objects[i];

		if (weir_diag_read_object_(r, object->record, &raw) &&
		    raw.id == object->id)
			take_state(r->model, object, &raw);
		if (object->type == RG_CHAN)
			count_items(object);
		else
			weir_diag_hand_over_(r->model, object);
	}
}

enum dg_error weir_diag_snapshot_(const struct dg_source *source,
				  const struct rg_header *header,
				  struct dg_model *model)
{
	struct dg_reading r = { source, header, model, false };
	uint32_t *seqs = weir_diag_work_(model)->order;
	struct rg_wait raw;

	model->pid = header->pid;
	model->lost = header->lost;
	model->coarse = header->clock == RG_CLOCK_NS;
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
	read_orders(&r);
	weir_diag_take_contexts_(&r);
	if (source->again)
		source->again(source->user);
	weir_diag_check_contexts_(&r);
	for (uint32_t i = 0; i < model->max.waits; i++)
		if (weir_diag_read_wait_(&r, i, &raw))
			take_wait(&r, i, &raw, seqs[i]);
	refresh_objects(&r);
	check_places(model);
	if (r.failed)
		return DG_TRUNCATED;
	weir_diag_finish_(model);
	return DG_OK;
}
