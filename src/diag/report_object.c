/* SPDX-License-Identifier: MIT */
/* The report on an object: its holders and its queue. */
#include "diag/phrase.h"

/* The longest lists of holders and of waiters. */
#define HOLDERS_MAX 16u
#define WAITERS_MAX 10u
/* The longest list of the waits of a holder. */
#define WAITS_MAX 8u

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
}

/*
 * Returns the rate limit for whose tokens the context waits; null: none.  It holds
 * the only permit of the limit for the time of this wait, and is in no queue.
 */
static const struct dg_object *awaited_rate(const struct dg_model *model,
					    const struct dg_context *c)
{
	for (uint32_t h = c->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context) {
		const struct dg_hold *hold = &model->holds[h];

		if (model->objects[hold->object].type == RG_RATE &&
		    hold->weight)
			return &model->objects[hold->object];
	}
	return NULL;
}

/* "  waits for one of smtp_conn (0 of 2 free) or cache (0 of 4 free)" */
static void put_waits_of(struct dg_text *text, const struct dg_model *model,
			 const struct dg_context *c)
{
	uint32_t n = 0;

	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];
		const struct dg_object *object = &model->objects[wait->object];

		if (n == WAITS_MAX) {
			put(text, ", ...");
			return;
		}
		weir_diag_put_joint_(text, wait, n++, "  waits for ");
		if (object->type == RG_CHAN)
			weir_diag_put_wanted_(text, object, wait);
		else
			weir_diag_put_object_(text, object);
		put(text, " (");
		weir_diag_put_free_(text, object);
		put(text, ")");
	}
}

/* Write the state of the holder: it has ended, waits, or runs. */
static void put_activity(struct dg_text *text, const struct dg_model *model,
			 const struct dg_hold *hold)
{
	const struct dg_context *c = &model->contexts[hold->context];
	const struct dg_object *rate = awaited_rate(model, c);

	if (c->ended) {
		put(text, c->kind == DG_PROCESS ? "  PROCESS EXITED" :
						  "  THREAD EXITED");
		if (c->ended_ns != DG_UNKNOWN) {
			put(text, " ");
			weir_diag_put_time_(text, c->ended_ns);
			put(text, " ago");
		}
		if (weir_diag_leaked_(model, hold))
			put(text, ": LEAKED");
	} else if (c->first_wait != DG_NONE) {
		put_waits_of(text, model, c);
	} else if (rate) {
		put(text, "  waits for tokens of ");
		weir_diag_put_object_(text, rate);
	} else if (c->named_ns != DG_UNKNOWN) {
		put(text, "  waits for ");
		put(text, c->named);
		put(text, " between processes, for ");
		weir_diag_put_time_(text, c->named_ns);
	} else {
		put(text, c->kind == DG_CLIENT ?
			  "  waits for no semaphore that was read" :
			  "  running, waits for no semaphore");
	}
}

/* "  token 41  lease 7.2 s" */
static void put_lease(struct dg_text *text, uint64_t fence, int64_t lease_ns)
{
	if (fence) {
		put(text, "  token ");
		put_int(text, (int64_t)fence);
	}
	if (lease_ns != DG_UNKNOWN) {
		put(text, "  lease ");
		weir_diag_put_time_(text, lease_ns);
	}
}

/* "  held  2 permits by 1 context": the line above the holders, not ended */
static void put_held(struct dg_text *text, const struct dg_object *object)
{
	put(text, object->type == RG_RATE ? "  next  " : "  held  ");
	if (object->type != RG_RWLOCK && object->type != RG_RATE) {
		weir_diag_put_count_(text, object->held, "permit");
		put(text, " ");
	}
	if (object->type != RG_RATE)
		put(text, "by ");
	weir_diag_put_count_(text, object->contexts, "context");
}

static void put_holders(struct dg_text *text, const struct dg_model *model,
			const struct dg_object *object)
{
	uint32_t n = 0;

	if (object->type == RG_CHAN) {
		put(text, "  items ");
		put_int(text, object->held);
		put(text, "\n");
		return;
	}
	if (!object->holders && object->unowned <= 0)
		return;
	put_held(text, object);
	put(text, object->approximate && !text->exact ?
		  " (approximate: they change):\n" : ":\n");
	for (uint32_t h = object->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_object) {
		const struct dg_hold *hold = &model->holds[h];
		const struct dg_context *c = &model->contexts[hold->context];

		if (!hold->weight)
			continue;
		if (n++ == HOLDERS_MAX) {
			put(text, "    and ");
			put_int(text, object->holders - HOLDERS_MAX);
			put(text, " more\n");
			break;
		}
		weir_diag_put_weight_(text, object, hold->weight);
		put(text, "  ");
		weir_diag_put_context_(text, c);
		weir_diag_put_columns_(text, hold->site, hold->age_ns);
		put_lease(text, hold->fence, hold->lease_ns);
		put_activity(text, model, hold);
		put(text, "\n");
	}
	if (object->unowned > 0) {
		weir_diag_put_weight_(text, object, object->unowned);
		put(text, "  held by no known context\n");
	}
}

/*
 * "  queue 3 waiting for 4 permits, 2 granted and not picked up yet:", the line above the
 * waits of the object, of which there are n.
 */
static void put_waiting(struct dg_text *text, const struct dg_object *object,
			uint32_t n)
{
	uint32_t granted = n - object->waiters;

	put(text, "  queue ");
	if (object->waiters) {
		put_int(text, object->waiters);
		put(text, " waiting");
	} else {
		put(text, "empty");
	}
	/* A wait for idle, and one for room in a backlog, wants no permit. */
	if (object->waiting_permits && object->type != RG_CHAN &&
	    object->type != RG_RWLOCK && object->type != RG_RATE) {
		put(text, " for ");
		weir_diag_put_count_(text, object->waiting_permits, "permit");
	}
	if (granted) {
		put(text, ", ");
		put_int(text, granted);
		put(text, " granted and not picked up yet");
	}
	put(text, ":\n");
}

/* "  granted 2.0 s ago", "  oversized", "  to send", or nothing */
static void put_state(struct dg_text *text, const struct dg_object *object,
		      const struct dg_wait *wait)
{
	put(text, wait->flags & RG_GRANTED ? "  granted" :
		  wait->flags & RG_OVERSIZED ? "  oversized" :
		  wait->flags & RG_IDLE ? "  waits for idle" :
		  wait->flags & RG_ROOM ? "  waits for room" :
		  wait->flags & RG_RECEIVES ? "  to receive" :
		  object->type == RG_CHAN ? "  to send" : "");
	if (wait->flags & RG_GRANTED && wait->granted_ns != DG_UNKNOWN) {
		put(text, " ");
		weir_diag_put_time_(text, wait->granted_ns);
		put(text, " ago");
	}
}

static void put_queue(struct dg_text *text, const struct dg_model *model,
		      const struct dg_object *object)
{
	uint32_t n = 0, all = 0;

	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object)
		all++;
	if (!all)
		return;
	put_waiting(text, object, all);
	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		const struct dg_wait *wait = &model->waits[w];
		const struct dg_context *c = &model->contexts[wait->context];

		if (n++ == WAITERS_MAX) {
			put(text, "    and ");
			put_int(text, all - WAITERS_MAX);
			put(text, " more\n");
			break;
		}
		if (wait->flags & (RG_IDLE | RG_ROOM))
			put(text, "      ");
		else
			weir_diag_put_weight_(text, object, wait->min);
		put(text, "  ");
		weir_diag_put_context_(text, c);
		weir_diag_put_columns_(text, wait->site, wait->age_ns);
		put_lease(text, 0, wait->lease_ns);
		put_state(text, object, wait);
		weir_diag_put_deadline_(text, wait);
		put(text, "  ");
		put(text, weir_diag_verdict_name_(c->verdict));
		put(text, c->receives ? ": waits for a sender\n" : "\n");
	}
}

static void put_flow(struct dg_text *text, const struct dg_object *object)
{
	if (object->last_release_ns == DG_UNKNOWN || !object->releases ||
	    object->type == RG_RATE)
		return;
	put(text, "  flow  last release ");
	weir_diag_put_time_(text, object->last_release_ns);
	put(text, " ago, one every ");
	weir_diag_put_time_(text, object->age_ns / (int64_t)(
		object->releases & INT64_MAX ? object->releases & INT64_MAX :
					       1));
	put(text, " on average\n");
}

void weir_diag_report_body_(struct dg_text *text, const struct dg_model *model,
			    uint32_t index)
{
	const struct dg_object *object = &model->objects[index];

	weir_diag_put_object_(text, object);
	put(text, ": ");
	put(text, weir_diag_type_name_(object->type));
	put(text, ", ");
	weir_diag_put_free_(text, object);
	put(text, object->flags & RG_BARGING ? "; barging" : "; fifo");
	put(text, object->flags & RG_IS_CLOSED ? "; closed" : "; open");
	if (object->paused)
		put(text, "; paused: no permit is granted");
	if (object->flags & RG_HANDED_OVER)
		put(text, "; handed over: threads release what others hold");
	put(text, "\n");
	put_flow(text, object);
	put_holders(text, model, object);
	put_queue(text, model, object);
	weir_diag_put_history_(text, model, object);
}

void weir_diag_report_object_(struct dg_text *text,
			      const struct dg_model *model, uint32_t index)
{
	const struct dg_object *object = &model->objects[index];

	weir_diag_report_body_(text, model, index);
	put(text, "  verdict  ");
	put(text, weir_diag_verdict_name_(object->verdict));
	weir_diag_put_loss_(text, object);
	put(text, "\n");
}
