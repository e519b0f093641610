/* SPDX-License-Identifier: MIT */
/*
 * The causes.  If the reduction leaves a context, the model is reduced again,
 * each time with one assumption more.  The first assumption that lets the
 * context proceed is the cause:
 *
 *     nothing assumed            it proceeds: SLOW, STALLED, STARVED, STRANDED
 *     an item is sent to it      SLOW, if it holds nothing that others await
 *     releases from outside      NO KNOWN RELEASER, or POSSIBLE DEADLOCK
 *     ended contexts release     LEAKED
 *     oversized waits end        UNSATISFIABLE
 *     none of these              DEADLOCK, or SELF-NESTED
 *
 * POSSIBLE DEADLOCK: the context is left if all of these are assumed together,
 * each sem_t that may be a lock is assumed to be one, and no other thread of a
 * process that waits is assumed to release what the process holds.
 */
#include "diag/verdict.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

/*
 * How often a waiter may be overtaken before it is STARVED, if it has waited for a
 * second.
 */
#define OVERTAKEN_FIFO 16u
#define OVERTAKEN_BARGING 4096u

static void reduce_all(struct dg_model *model)
{
	struct dg_assume assume = DG_ASSUME_NOTHING;

	for (int step = 0; step < DG_STEPS; step++) {
		assume.outside = step >= DG_OUTSIDE;
		assume.ended = step >= DG_ENDED;
		assume.oversized = step >= DG_OVERSIZED;
		assume.locks = step == DG_LOCKS;
		weir_diag_reduce_(model, &assume);
		for (uint32_t i = 0; i < model->used.contexts; i++) {
			uint8_t *left = &model->work->left[i];

			if (!step)
				*left = 0;
			if (weir_diag_left_(model, i))
				*left |= (uint8_t)(1u << step);
		}
	}
}

/* Set is_changed of each object for which a context that is left waits. */
static void mark_awaited(struct dg_model *model)
{
	uint8_t *awaited = model->work->is_changed;

	for (uint32_t i = 0; i < model->used.objects; i++)
		awaited[i] = 0;
	for (uint32_t w = 0; w < model->used.waits; w++)
		if (weir_diag_left_under_(model, model->waits[w].context,
					  DG_PLAIN))
			awaited[model->waits[w].object] = 1;
}

/*
 * Returns true if the context waits for an item of a channel, and blocks no
 * other context.  That is the usual state of a receiver: any thread may send.
 * Requires: mark_awaited was called.
 */
static bool is_receiver(const struct dg_model *model,
			const struct dg_context *c)
{
	bool all = true, some = false, any_of = false;

	for (uint32_t h = c->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context)
		if (model->holds[h].weight &&
		    model->work->is_changed[model->holds[h].object])
			return false;
	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];
		bool receives =
			wait->flags & RG_RECEIVES &&
			model->objects[wait->object].type == RG_CHAN;

		any_of = wait->flags & RG_ANY_OF;
		all = all && receives;
		some = some || receives;
	}
	return some && (all || any_of);
}

/* Set free[object] to the permits that the context itself holds of it. */
static void sum_own(struct dg_model *model, const struct dg_context *c)
{
	int64_t *own = model->work->free;

	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context)
		own[model->waits[w].object] = 0;
	for (uint32_t h = c->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context)
		own[model->holds[h].object] = weir_diag_add_(
			own[model->holds[h].object], model->holds[h].weight);
}

/* Returns true if the context blocks itself, even if all others release. */
static bool is_self_nested(struct dg_model *model, const struct dg_context *c)
{
	bool all = true, some = false, any_of = false;

	sum_own(model, c);
	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];
		int64_t own = model->work->free[wait->object];
		int64_t room = weir_diag_add_(
			model->objects[wait->object].capacity, -own);
		bool blocked = own > 0 && (wait->flags & RG_IDLE ||
					   room < wait->min);

		any_of = wait->flags & RG_ANY_OF;
		all = all && blocked;
		some = some || blocked;
	}
	return any_of ? all && some : some;
}

static bool is_oversized(const struct dg_model *model, uint32_t context)
{
	for (uint32_t w = model->contexts[context].first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context)
		if (model->waits[w].flags & RG_OVERSIZED)
			return true;
	return false;
}

/* Returns true if records were lost: one may be that of a releaser. */
static bool is_partial(const struct dg_model *model)
{
	return model->lost || model->incomplete;
}

static enum dg_verdict cause(struct dg_model *model, uint32_t context)
{
	if (is_oversized(model, context))
		return DG_UNSATISFIABLE;
	if (!weir_diag_left_under_(model, context, DG_OUTSIDE))
		return weir_diag_left_under_(model, context, DG_LOCKS) &&
				       !is_partial(model) ?
			       DG_POSSIBLE_DEADLOCK : DG_NO_RELEASER;
	if (!weir_diag_left_under_(model, context, DG_ENDED))
		return DG_LEAKED;
	if (!weir_diag_left_under_(model, context, DG_OVERSIZED))
		return DG_UNSATISFIABLE;
	if (is_partial(model))
		return DG_NO_RELEASER;
	return is_self_nested(model, &model->contexts[context]) ?
		       DG_SELF_NESTED : DG_DEADLOCK;
}

/*
 * Returns a lower bound of the time without a release.  While there is a queue,
 * each release takes the slow path and sets last_release.
 */
static int64_t quiet_ns(const struct dg_model *model,
			const struct dg_object *object)
{
	uint32_t w = object->first_wait;
	int64_t quiet;

	while (w != DG_NONE && !model->waits[w].place)
		w = model->waits[w].next_of_object;
	quiet = w == DG_NONE ? 0 : model->waits[w].age_ns;
	return object->last_release_ns != DG_UNKNOWN &&
	       object->last_release_ns < quiet ? object->last_release_ns :
						 quiet;
}

/*
 * Returns true after ten times the usual time without a release, at least 1 s.
 */
static bool is_stalled(const struct dg_object *object)
{
	int64_t quiet = object->quiet_ns, usual;

	if (!object->releases || object->age_ns <= 0 || quiet < SECOND)
		return false;
	usual = object->age_ns / (object->releases > INT64_MAX ? INT64_MAX :
				  (int64_t)object->releases);
	return quiet / 10 > usual;
}

/* Returns the verdict on a wait that can end. */
static enum dg_verdict slow(const struct dg_model *model,
			    const struct dg_wait *wait)
{
	const struct dg_object *object = &model->objects[wait->object];
	uint32_t bound = object->flags & RG_BARGING ? OVERTAKEN_BARGING :
						      OVERTAKEN_FIFO;

	if (wait->flags & RG_GRANTED)
		return wait->granted_ns > SECOND ? DG_STRANDED : DG_SLOW;
	if (wait->overtaken > bound && wait->age_ns > SECOND)
		return DG_STARVED;
	return is_stalled(object) ? DG_STALLED : DG_SLOW;
}

static void judge_context(struct dg_model *model, uint32_t context)
{
	struct dg_context *c = &model->contexts[context];

	c->verdict = DG_FINE;
	c->receives = weir_diag_left_under_(model, context, DG_PLAIN) &&
		      !weir_diag_left_under_(model, context, DG_OUTSIDE) &&
		      is_receiver(model, c);
	if (c->receives) {
		c->verdict = DG_SLOW;
		return;
	}
	if (weir_diag_left_under_(model, context, DG_PLAIN)) {
		c->verdict = cause(model, context);
		return;
	}
	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		enum dg_verdict v = slow(model, &model->waits[w]);

		if (v > c->verdict)
			c->verdict = v;
	}
}

static void judge_object(struct dg_model *model, uint32_t object)
{
	struct dg_object *o = &model->objects[object];

	o->verdict = o->leaked > 0 ? DG_LEAKED : DG_FINE;
	model->work->is_changed[object] = 0;
	for (uint32_t w = o->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		uint32_t c = model->waits[w].context;

		if (model->contexts[c].verdict > o->verdict)
			o->verdict = model->contexts[c].verdict;
		if (weir_diag_left_under_(model, c, DG_PLAIN))
			model->work->is_changed[object] = 1;
	}
}

void weir_diag_judge_(struct dg_model *model)
{
	reduce_all(model);
	mark_awaited(model);
	/* Once for each object: none of its many waits may have a place. */
	for (uint32_t i = 0; i < model->used.objects; i++)
		model->objects[i].quiet_ns = quiet_ns(model,
						      &model->objects[i]);
	for (uint32_t i = 0; i < model->used.contexts; i++)
		judge_context(model, i);
	weir_diag_number_groups_(model);
	for (uint32_t i = 0; i < model->used.objects; i++)
		judge_object(model, i);
	weir_diag_mark_behind_(model);
}

enum dg_verdict weir_diag_gravest_(const struct dg_model *model,
				   const char *only)
{
	enum dg_verdict gravest = DG_FINE;

	/* The verdict of an object includes those of its waiters. */
	for (uint32_t i = 0; !only && i < model->used.contexts; i++)
		if (model->contexts[i].verdict > gravest)
			gravest = model->contexts[i].verdict;
	for (uint32_t i = 0; i < model->used.objects; i++)
		if ((!only || !strcmp(model->objects[i].name, only)) &&
		    model->objects[i].verdict > gravest)
			gravest = model->objects[i].verdict;
	return gravest;
}
