/* SPDX-License-Identifier: MIT */
/* The text of a timeout report. */
#include "diag/callers.h"
#include "diag/own.h"
#include "diag/phrase.h"

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
}

/* The calls that are shown, with that of the wait. */
#define CALLS_MAX 6u

/*
 * "orders.c:118 < server.c:402 < ...": the call that waited, and its callers.  An
 * operation waits on no stack: only the call that submitted it is known.
 */
static void put_calls(struct dg_text *text, const struct dg_wait *own,
		      const struct dg_context *context)
{
	uint64_t callers[CALLS_MAX];
	uint32_t n = 0;

	weir_diag_put_site_(text, own->site);
	if (context->kind == RG_THREAD)
		n = weir_diag_callers_(own->site, callers, CALLS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		put(text, " < ");
		if (i + 1 == CALLS_MAX)
			put(text, "...");
		else
			weir_diag_put_site_(text, callers[i]);
	}
}

/* ", you were number 3 (5 permits before you)" */
static void put_place(struct dg_text *text, const struct dg_model *model,
		      const struct dg_wait *own)
{
	int64_t before = 0;

	for (uint32_t w = model->objects[own->object].first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		const struct dg_wait *wait = &model->waits[w];

		if (wait == own)
			break;
		if (wait->place)
			before = weir_diag_add_(before, wait->min);
	}
	put(text, ", you were number ");
	put_int(text, own->place);
	if (model->objects[own->object].type == RG_RWLOCK ||
	    model->objects[own->object].type == RG_RATE)
		return;
	put(text, " (");
	put_int(text, before);
	put(text, before == 1 ? " permit" : " permits");
	put(text, " before you)");
}

/* Write the holders that do not wait: one with its name, or their permits. */
static void put_running(struct dg_text *text, const struct dg_model *model,
			const struct dg_object *object)
{
	const struct dg_context *first = NULL;
	int64_t weight = 0;
	bool several = false;

	for (uint32_t h = object->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_object) {
		const struct dg_hold *hold = &model->holds[h];
		const struct dg_context *c = &model->contexts[hold->context];

		if (!hold->weight || c->ended || c->first_wait != DG_NONE ||
		    c->named_ns != DG_UNKNOWN)
			continue;
		several = several || (first && first != c);
		first = c;
		weight = weir_diag_add_(weight, hold->weight);
	}
	if (!first)
		return;
	put(text, ": ");
	if (several)
		put(text, "contexts that do not wait");
	else
		weir_diag_put_context_(text, first);
	if (object->type == RG_RWLOCK) {
		put(text, several ? " are inside" : " is inside");
		return;
	}
	/* Of an open object, a thread may release what another one holds. */
	put(text, several ? " hold " : weir_diag_open_(object) ?
		  " holds " : " alone could release ");
	put_int(text, weight);
}

/* Write the verdict, and the permits of holders that do not wait. */
static void put_outlook(struct dg_text *text, const struct dg_model *model,
			const struct dg_wait *own, enum dg_verdict verdict)
{
	const struct dg_object *object = &model->objects[own->object];

	put(text, "  verdict  ");
	if (verdict >= DG_NO_RELEASER) {
		put(text, weir_diag_verdict_name_(verdict));
		weir_diag_put_loss_(text, object);
		put(text, "\n");
		return;
	}
	put(text, weir_diag_verdict_name_(verdict));
	put(text, ", not a deadlock");
	if (object->type != RG_RATE)
		put_running(text, model, object);
	weir_diag_put_loss_(text, object);
	put(text, "\n");
}

/* " wants 2 of 3", " as the writer"; otherwise nothing */
static void put_wish(struct dg_text *text, const struct dg_object *object,
		     const struct dg_wait *own)
{
	if (object->type == RG_CHAN || object->type == RG_RATE ||
	    own->flags & (RG_IDLE | RG_ROOM))
		return;
	if (object->type == RG_RWLOCK) {
		weir_diag_put_share_(text, object, own->min);
		return;
	}
	put(text, " wants ");
	put_int(text, own->min);
	if (!(object->flags & RG_UNBOUNDED)) {
		put(text, " of ");
		put_int(text, object->capacity);
	}
}

bool weir_diag_report_timeout_(struct dg_text *text, struct dg_model *model,
			       uint32_t record)
{
	const struct dg_object *object;
	const struct dg_wait *own = NULL;
	const struct dg_context *context;

	for (uint32_t w = 0; w < model->used.waits && !own; w++)
		if (model->waits[w].record == record)
			own = &model->waits[w];
	if (!own)
		return false;
	object = &model->objects[own->object];
	context = &model->contexts[own->context];
	put(text, own->flags & RG_IDLE ? "weir: wait for idle timed out: " :
		  own->flags & RG_ROOM ? "weir: spawn timed out: " :
		  object->type != RG_CHAN ? "weir: acquire timed out: " :
		  own->flags & RG_RECEIVES ? "weir: receive timed out: " :
					     "weir: send timed out: ");
	weir_diag_put_object_(text, object);
	put_wish(text, object, own);
	put(text, ", waited ");
	weir_diag_put_time_(text, own->age_ns);
	if (own->limit_ns != DG_UNKNOWN) {
		put(text, " (limit ");
		weir_diag_put_limit_(text, own->limit_ns);
		put(text, ")");
	}
	put(text, "\n  by    ");
	weir_diag_put_context_(text, context);
	put(text, "  ");
	put_calls(text, own, context);
	put(text, "\n  queue ");
	put_int(text, object->waiters);
	put(text, " waiting");
	if (own->place)
		put_place(text, model, own);
	put(text, "\n");
	put(text, "  ");
	weir_diag_report_body_(text, model, own->object);
	put_outlook(text, model, own, context->verdict);
	if (context->group)
		weir_diag_report_group_(text, model, context->group);
	weir_diag_put_more_(text, model, object);
	return true;
}
