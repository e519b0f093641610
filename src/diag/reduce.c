/* SPDX-License-Identifier: MIT */
/*
 * The reduction.  A context that does not wait runs to its end and returns the
 * permits that it holds.  Then the heads of the queues that fit are granted,
 * and each context that has all permits that it needs runs to its end as well.
 * A context that is left waiting cannot proceed in any order of releases.
 *
 * Why one order is enough:
 *
 *   - A context that has ended returns all that it was granted, so a grant that
 *     lets a context proceed never takes permits away from another one for ever.
 *   - A grant to a context that still needs other permits (all-of) does take
 *     permits.  But the order of the grants of a queue is fixed, so such a grant
 *     cannot be avoided.
 *
 * The order is fixed under BARGING, too.  There a request may take free permits
 * although others are queued, but only instead of joining the queue.  A queued
 * request gets permits only as the head of its queue (core/sem_grant.c).  A
 * context that is about to make a request does not wait.
 *
 * A context has at most one wait for each object.  A wait for idle is judged
 * exactly if no context needs all of several objects at once; in weir no context
 * does, because weir_acquire_all waits for one object after the other.
 */
#include <string.h>

#include "diag/verdict.h"

/* More than any sum of requests, and far from overflow. */
#define PLENTY (INT64_MAX / 4)

static size_t rounded(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

/* Returns the size of the arrays; sets their addresses if work is not null. */
static size_t place(const struct dg_limits *max, char *at, struct dg_work *work)
{
	size_t used = rounded(sizeof(*work));

#define PLACE(field, count)                                                    \
	do {                                                                   \
		if (work)                                                      \
			work->field = (void *)(at + used);                     \
		used += rounded((count) *                                      \
				sizeof(*((struct dg_work *)0)->field));        \
	} while (0)
	PLACE(free, max->objects);
	PLACE(head, max->objects);
	PLACE(changed, max->objects);
	PLACE(is_changed, max->objects);
	PLACE(has_room, max->objects);
	PLACE(needed, max->contexts);
	PLACE(finishing, max->contexts);
	PLACE(done, max->contexts);
	PLACE(granted, max->waits);
	PLACE(first, max->objects);
	PLACE(next, max->waits);
	PLACE(order, max->waits > max->holds ? max->waits : max->holds);
	PLACE(left, max->contexts);
	PLACE(parent, max->contexts);
#undef PLACE
	return used;
}

size_t weir_diag_work_size_(const struct dg_limits *limits)
{
	return place(limits, NULL, NULL);
}

struct dg_work *weir_diag_work_(struct dg_model *model)
{
	if (!model->work) {
		model->work = model->work_memory;
		(void)place(&model->max, model->work_memory, model->work);
	}
	return model->work;
}

/*
 * Returns true if no thread has posted the sem_t yet: it may be used as a lock.  A
 * post by a thread that holds nothing sets RG_HANDED_OVER.
 */
static bool is_untried(const struct dg_object *object)
{
	return object->type == RG_POSIX && !object->releases;
}

static bool is_open(const struct dg_object *object)
{
	return object->flags & (RG_UNBOUNDED | RG_HANDED_OVER |
				RG_MOVED) ||
	       object->unowned > 0 || object->type == RG_CHAN ||
	       object->type == RG_RATE;
}

bool weir_diag_open_(const struct dg_object *object)
{
	return is_open(object) || is_untried(object);
}

static void change(struct dg_work *work, uint32_t object)
{
	if (work->is_changed[object])
		return;
	work->is_changed[object] = 1;
	work->changed[work->changed_n++] = object;
}

static void finish(struct dg_work *work, uint32_t context)
{
	if (work->done[context])
		return;
	work->done[context] = 1;
	work->finishing[work->finishing_n++] = context;
}

static void satisfy(struct dg_work *work, const struct dg_wait *wait);

/*
 * Waits for room in the backlog of a group (RG_ROOM).  A thread of the group that
 * has finished a task takes another one off the backlog, so there is room when a
 * context that holds permits of the group, or waits for them, has finished.  The
 * threads whose tasks have a weight of 0, and those that are between two tasks,
 * are not known: they are the outside.  If no thread of the group is known at all,
 * there will be room.
 */
static bool is_used(const struct dg_model *model, const struct dg_object *object)
{
	bool used = object->first_hold != DG_NONE;

	for (uint32_t w = object->first_wait; w != DG_NONE && !used;
	     w = model->waits[w].next_of_object)
		used = !(model->waits[w].flags & (RG_ROOM | RG_IDLE));
	return used;
}

static void make_room(const struct dg_model *model, struct dg_work *work,
		      uint32_t object)
{
	if (work->has_room[object])
		return;
	work->has_room[object] = 1;
	for (uint32_t w = model->objects[object].first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object)
		if (model->waits[w].flags & RG_ROOM && !work->granted[w]) {
			work->granted[w] = 1;
			satisfy(work, &model->waits[w]);
		}
}

/* Return the permits of the context, and let its queues be examined again. */
static void give_back(const struct dg_model *model, struct dg_work *work,
		      uint32_t context)
{
	const struct dg_context *c = &model->contexts[context];

	for (uint32_t h = c->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context) {
		const struct dg_hold *hold = &model->holds[h];

		work->free[hold->object] = weir_diag_add_(
			work->free[hold->object], hold->weight);
		make_room(model, work, hold->object);
		change(work, hold->object);
	}
	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];

		if (work->granted[w] && !(wait->flags & (RG_IDLE | RG_ROOM)))
			work->free[wait->object] = weir_diag_add_(
				work->free[wait->object], wait->min);
		if (!(wait->flags & (RG_IDLE | RG_ROOM)))
			make_room(model, work, wait->object);
		change(work, wait->object);
	}
}

/* Called when one wait of a context has all permits that it needs. */
static void satisfy(struct dg_work *work, const struct dg_wait *wait)
{
	uint32_t c = wait->context;

	if (work->done[c] || !work->needed[c])
		return;
	if (wait->flags & RG_ANY_OF)
		work->needed[c] = 0;
	else
		work->needed[c]--;
	if (!work->needed[c])
		finish(work, c);
}

/*
 * Returns true if the request is above the capacity, also after the growth that
 * is assumed.
 */
static bool is_above(const struct dg_work *work, const struct dg_wait *wait)
{
	return wait->flags & RG_OVERSIZED && (wait->object != work->raised ||
					      wait->min > work->capacity);
}

/* Returns true if the wait takes no part in the queue. */
static bool is_outside(const struct dg_work *work, const struct dg_wait *wait)
{
	return work->done[wait->context] ||
	       wait->flags & (RG_GRANTED | RG_IDLE | RG_ROOM) ||
	       is_above(work, wait);
}

/*
 * Grant to the waits of a channel.  They are for slots or items, and no known
 * context returns these: a wait ends if there is a slot or an item now, or if
 * `free` is without limit.  The wait takes nothing, because the other side of
 * the channel may act at once.
 */
static void grant_channel(const struct dg_model *model, struct dg_work *work,
			  uint32_t object)
{
	const struct dg_object *o = &model->objects[object];

	for (uint32_t w = work->head[object]; w != DG_NONE; w = work->next[w]) {
		const struct dg_wait *wait = &model->waits[w];
		int64_t there = work->free[object] < PLENTY &&
				wait->flags & RG_RECEIVES ?
					o->held : work->free[object];

		if (!is_outside(work, wait) && there >= wait->min)
			satisfy(work, wait);
	}
	/* The waits that are left cannot end later either. */
	work->head[object] = DG_NONE;
}

/* Grant the heads of the queue that fit. */
static void grant(const struct dg_model *model, struct dg_work *work,
		  uint32_t object)
{
	while (work->head[object] != DG_NONE) {
		uint32_t w = work->head[object];
		const struct dg_wait *wait = &model->waits[w];

		if (!is_outside(work, wait)) {
			if (work->free[object] < wait->min)
				return;
			work->free[object] -= wait->min;
			work->granted[w] = 1;
			satisfy(work, wait);
		}
		work->head[object] = work->next[w];
	}
}

/* If no permit is out, end the waits for idle. */
static void grant_idle(const struct dg_model *model, struct dg_work *work,
		       uint32_t object)
{
	const struct dg_object *o = &model->objects[object];
	int64_t capacity = object == work->raised ? work->capacity :
						    o->capacity;

	if (o->flags & RG_UNBOUNDED || work->free[object] < capacity)
		return;
	for (uint32_t w = o->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object)
		if (model->waits[w].flags & RG_IDLE && !work->granted[w]) {
			work->granted[w] = 1;
			satisfy(work, &model->waits[w]);
		}
}

/* Returns true if an assumption ends this wait. */
static bool is_ended(const struct dg_work *work, const struct dg_wait *wait,
		     const struct dg_assume *assume)
{
	return (wait->flags & RG_ROOM && work->has_room[wait->object]) ||
	       (assume->oversized && wait->flags & RG_OVERSIZED) ||
	       (assume->timed && wait->left_ns != DG_NO_DEADLINE);
}

/* Count the waits that block the context. */
static void begin_context(struct dg_model *model, struct dg_work *work,
			  uint32_t context, const struct dg_assume *assume)
{
	const struct dg_context *c = &model->contexts[context];
	uint32_t needed = 0;
	bool free_to_go = c->moving || assume->cancelled == context ||
			  (c->others && assume->outside && !assume->locks);

	work->done[context] = 0;
	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];
		bool granted = (wait->flags & RG_GRANTED) != 0;

		/* A recalled reader does not have its permit yet. */
		work->granted[w] = granted && !(wait->flags & RG_RECALL);
		needed += !granted;
		if ((granted && wait->flags & RG_ANY_OF) ||
		    is_ended(work, wait, assume))
			free_to_go = true;
	}
	work->needed[context] = free_to_go || c->ended ? 0 : needed;
	if (!work->needed[context] && (!c->ended || assume->ended))
		finish(work, context);
}

static void begin_object(const struct dg_model *model, struct dg_work *work,
			 uint32_t object, const struct dg_assume *assume)
{
	const struct dg_object *o = &model->objects[object];

	work->free[object] = o->free;
	if (assume->raised == object)
		work->free[object] = weir_diag_add_(o->free, assume->by);
	if (assume->outside && (assume->locks ? is_open(o) :
						weir_diag_open_(o)))
		work->free[object] = PLENTY;
	work->head[object] = work->first[object];
	work->is_changed[object] = 0;
	/* No other object has waits for room. */
	work->has_room[object] = o->type != RG_GROUP || assume->outside ||
				 !is_used(model, o);
	change(work, object);
}

void weir_diag_reduce_(struct dg_model *model, const struct dg_assume *assume)
{
	struct dg_work *work = weir_diag_work_(model);

	work->changed_n = work->finishing_n = 0;
	work->raised = assume->raised;
	if (assume->raised != DG_NONE)
		work->capacity = weir_diag_add_(
			model->objects[assume->raised].capacity, assume->by);
	for (uint32_t i = 0; i < model->used.objects; i++)
		begin_object(model, work, i, assume);
	for (uint32_t i = 0; i < model->used.contexts; i++)
		begin_context(model, work, i, assume);
	while (work->finishing_n || work->changed_n) {
		uint32_t object;

		if (work->finishing_n) {
			give_back(model, work,
				  work->finishing[--work->finishing_n]);
			continue;
		}
		object = work->changed[--work->changed_n];
		work->is_changed[object] = 0;
		if (model->objects[object].type == RG_CHAN)
			grant_channel(model, work, object);
		else
			grant(model, work, object);
		grant_idle(model, work, object);
	}
}

bool weir_diag_left_(const struct dg_model *model, uint32_t context)
{
	return model->work->needed[context] && !model->work->done[context];
}
