/* SPDX-License-Identifier: MIT */
/* The report: groups of contexts that cannot proceed, and objects. */
#include <string.h>

#include "diag/text.h"

/* The longest lists of holders, waiters and contexts in a report. */
#define HOLDERS_MAX 16u
#define WAITERS_MAX 10u
#define MEMBERS_MAX 24u
/* Groups in a report, and those whose ways out are searched. */
#define GROUPS_MAX 32u
#define GROUPS_SEARCHED 8u

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
}

/* "1 context", "5 contexts" */
static void put_count(struct dg_text *text, int64_t n, const char *what)
{
	put_int(text, n);
	put(text, " ");
	put(text, what);
	if (n != 1)
		put(text, "s");
}

/* "mail.c:18, 40 s" */
static void put_origin(struct dg_text *text, uint64_t site, int64_t age_ns)
{
	if (!site && age_ns == DG_UNKNOWN)
		return;
	put(text, " (");
	weir_diag_put_site_(text, site);
	if (age_ns != DG_UNKNOWN) {
		put(text, site ? ", " : "");
		weir_diag_put_time_(text, age_ns);
	}
	put(text, ")");
}

/* "  40 s  mail.c:18" */
static void put_columns(struct dg_text *text, uint64_t site, int64_t age_ns)
{
	if (age_ns != DG_UNKNOWN) {
		put(text, "  ");
		weir_diag_put_time_(text, age_ns);
	}
	if (site) {
		put(text, "  ");
		weir_diag_put_site_(text, site);
	}
}

/* "0 of 20 free" */
static void put_free(struct dg_text *text, const struct dg_object *object)
{
	if (object->flags & RG_UNBOUNDED) {
		put(text, "unbounded");
		return;
	}
	put_int(text, object->free < 0 ? 0 : object->free);
	put(text, " of ");
	put_int(text, object->capacity);
	put(text, " free");
	if (object->free < 0) {
		put(text, ", debt ");
		put_int(text, -object->free);
	}
}

/* "1 of 2", "up to 5", "idle" */
static void put_request(struct dg_text *text, const struct dg_wait *wait)
{
	if (wait->flags & RG_IDLE) {
		put(text, "to be idle");
		return;
	}
	put_int(text, wait->min);
	if (wait->max > wait->min) {
		put(text, " to ");
		put_int(text, wait->max);
	}
}

/* "db_pool 2", "an item of jobs" */
static void put_wanted(struct dg_text *text, const struct dg_object *object,
		       const struct dg_wait *wait)
{
	if (object->type == RG_CHAN)
		put(text, wait->flags & RG_RECEIVES ? "an item of " :
						      "a slot of ");
	weir_diag_put_object_(text, object);
	if (object->type == RG_CHAN)
		return;
	put(text, " ");
	put_request(text, wait);
}

static void put_deadline(struct dg_text *text, const struct dg_wait *wait)
{
	if (wait->left_ns != DG_NO_DEADLINE) {
		put(text, ", times out in ");
		weir_diag_put_time_(text, wait->left_ns);
	}
	if (wait->flags & RG_HAS_CTX)
		put(text, ", can be cancelled");
}

static void put_holds(struct dg_text *text, const struct dg_model *model,
		      const struct dg_context *c)
{
	uint32_t n = 0;

	for (uint32_t h = c->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context) {
		const struct dg_hold *hold = &model->holds[h];

		if (!hold->weight)
			continue;
		if (n++ == MEMBERS_MAX) {
			put(text, ", ...");
			return;
		}
		put(text, n == 1 ? "  holds " : ", ");
		weir_diag_put_object_(text, &model->objects[hold->object]);
		put(text, " ");
		put_int(text, hold->weight);
		put_origin(text, hold->site, hold->age_ns);
	}
}

static void put_waits(struct dg_text *text, const struct dg_model *model,
		      const struct dg_context *c)
{
	uint32_t n = 0;

	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];
		const struct dg_object *object = &model->objects[wait->object];

		if (n++ == MEMBERS_MAX) {
			put(text, ", ...");
			return;
		}
		put(text, n == 1 ? wait->flags & RG_ANY_OF ?
			  "  waits for one of " : "  waits for " :
			  wait->flags & RG_ANY_OF ? " or " : " and ");
		put_wanted(text, object, wait);
		put_origin(text, wait->site, wait->age_ns);
		put_deadline(text, wait);
		put(text, "; ");
		put_free(text, object);
		if (wait->flags & RG_OVERSIZED)
			put(text, "; more than the capacity");
	}
}

static void put_head(struct dg_text *text, const struct dg_model *model,
		     enum dg_verdict verdict, uint32_t members, int64_t ends_ns)
{
	put(text, "weir: ");
	put(text, weir_diag_verdict_name_(verdict));
	put(text, ends_ns != DG_NO_DEADLINE ? " until a timeout  " : "  ");
	put_count(text, members, "context");
	if (ends_ns != DG_NO_DEADLINE) {
		put(text, " cannot proceed before a wait times out (in ");
		weir_diag_put_time_(text, ends_ns);
		put(text, ")");
	} else if (verdict == DG_NO_RELEASER) {
		put(text, members == 1 ? " waits" : " wait");
		put(text, ", and no known context can release enough");
		if (model->lost || model->incomplete)
			put(text, " (the registry is incomplete)");
	} else if (verdict == DG_POSSIBLE_DEADLOCK) {
		put(text, " cannot proceed unless another thread posts a sem_t "
			  "that they hold");
	} else {
		put(text, verdict != DG_LEAKED ? " can never proceed" :
			  members == 1 ? " waits" : " wait");
		/*
		 * A thread may acquire what another one releases.  The first
		 * such release marks the object; until then nothing tells.
		 */
		put(text, verdict == DG_LEAKED ?
			  " for permits of threads that have ended" :
			  verdict == DG_SELF_NESTED ?
			  " (unless another thread releases what it holds)" :
			  " (exact; no outside releaser known)");
	}
	put(text, "\n");
}

/* The contexts of the group that block no other one. */
static void put_behind(struct dg_text *text, const struct dg_model *model,
		       uint32_t group)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < model->used.contexts; i++) {
		const struct dg_context *c = &model->contexts[i];

		if (c->group != group || !c->behind ||
		    c->first_wait == DG_NONE)
			continue;
		if (n++ == MEMBERS_MAX) {
			put(text, ", ...");
			break;
		}
		put(text, n == 1 ? "  behind them: " : ", ");
		weir_diag_put_context_(text, c);
		put(text, " (");
		put_wanted(text, &model->objects[
			model->waits[c->first_wait].object],
			   &model->waits[c->first_wait]);
		put(text, ")");
	}
	if (n)
		put(text, "\n");
}

static void put_ways(struct dg_text *text, struct dg_model *model,
		     uint32_t group)
{
	struct dg_way ways[8];
	uint32_t n = weir_diag_ways_(model, group, ways, 8);

	for (uint32_t i = 0; i < n; i++) {
		put(text, i ? " | " : "  ways out  any of: ");
		if (ways[i].context != DG_NONE) {
			put(text, "end the wait of ");
			weir_diag_put_context_(
				text, &model->contexts[ways[i].context]);
			continue;
		}
		put(text, "raise ");
		weir_diag_put_object_(text, &model->objects[ways[i].object]);
		put(text, " by ");
		put_int(text, ways[i].by);
	}
	if (n)
		put(text, "\n");
}

static void put_end(struct dg_text *text, const struct dg_context *context,
		    int64_t ends_ns)
{
	put(text, "  ends by itself: the wait of ");
	weir_diag_put_context_(text, context);
	put(text, " times out in ");
	weir_diag_put_time_(text, ends_ns);
	put(text, "\n");
}

void weir_diag_report_group_(struct dg_text *text, struct dg_model *model,
			     uint32_t group)
{
	uint32_t members = 0, shown = 0, ended_by = 0;
	int64_t ends_ns = DG_NO_DEADLINE;

	if (group <= GROUPS_SEARCHED)
		ends_ns = weir_diag_ends_(model, group, &ended_by);
	for (uint32_t i = 0; i < model->used.contexts; i++)
		members += model->contexts[i].group == group;
	put_head(text, model, weir_diag_group_verdict_(model, group), members,
		 ends_ns);
	for (uint32_t i = 0; i < model->used.contexts; i++) {
		const struct dg_context *c = &model->contexts[i];

		if (c->group != group || c->behind)
			continue;
		if (shown++ == MEMBERS_MAX) {
			put(text, "  ...\n");
			break;
		}
		put(text, "  ");
		weir_diag_put_context_(text, c);
		put_holds(text, model, c);
		put_waits(text, model, c);
		put(text, "\n");
	}
	put_behind(text, model, group);
	if (group <= GROUPS_SEARCHED)
		put_ways(text, model, group);
	if (ends_ns != DG_NO_DEADLINE)
		put_end(text, &model->contexts[ended_by], ends_ns);
}

/* The state of the holder: ended, waits, runs. */
static void put_activity(struct dg_text *text, const struct dg_model *model,
			 const struct dg_hold *hold)
{
	const struct dg_context *c = &model->contexts[hold->context];

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
		const struct dg_wait *wait = &model->waits[c->first_wait];

		put(text, "  waits for ");
		if (model->objects[wait->object].type == RG_CHAN)
			put_wanted(text, &model->objects[wait->object], wait);
		else
			weir_diag_put_object_(text,
					      &model->objects[wait->object]);
		put(text, " (");
		put_free(text, &model->objects[wait->object]);
		put(text, ")");
	} else {
		put(text, "  running, waits for no semaphore");
	}
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
	put(text, "  held  ");
	put_count(text, object->held, "permit");
	put(text, " by ");
	put_count(text, object->holders, "context");
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
		weir_diag_put_right_(text, hold->weight, 6);
		put(text, "  ");
		weir_diag_put_context_(text, c);
		put_columns(text, hold->site, hold->age_ns);
		put_activity(text, model, hold);
		put(text, "\n");
	}
	if (object->unowned > 0) {
		weir_diag_put_right_(text, object->unowned, 6);
		put(text, "  held by no known context\n");
	}
}

static void put_queue(struct dg_text *text, const struct dg_model *model,
		      const struct dg_object *object)
{
	uint32_t n = 0;

	if (object->first_wait == DG_NONE)
		return;
	put(text, "  queue ");
	put_int(text, object->waiters);
	put(text, " waiting");
	if (object->type != RG_CHAN) {
		put(text, " for ");
		put_count(text, object->waiting_permits, "permit");
	}
	put(text, ":\n");
	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		const struct dg_wait *wait = &model->waits[w];
		const struct dg_context *c = &model->contexts[wait->context];

		if (n++ == WAITERS_MAX) {
			put(text, "    and ");
			put_int(text, (int64_t)object->waiters - WAITERS_MAX);
			put(text, " more\n");
			break;
		}
		weir_diag_put_right_(text, wait->min, 6);
		put(text, "  ");
		weir_diag_put_context_(text, c);
		put_columns(text, wait->site, wait->age_ns);
		put(text, wait->flags & RG_GRANTED ? "  granted" :
			  wait->flags & RG_OVERSIZED ? "  oversized" :
			  wait->flags & RG_IDLE ? "  waits for idle" :
			  wait->flags & RG_RECEIVES ? "  to receive" :
			  object->type == RG_CHAN ? "  to send" : "");
		put_deadline(text, wait);
		put(text, "  ");
		put(text, weir_diag_verdict_name_(c->verdict));
		put(text, "\n");
	}
}

static void put_flow(struct dg_text *text, const struct dg_object *object)
{
	if (object->last_release_ns == DG_UNKNOWN || !object->releases)
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
	put_free(text, object);
	put(text, object->flags & RG_BARGING ? "; barging" : "; fifo");
	put(text, object->flags & RG_IS_CLOSED ? "; closed" : "; open");
	if (object->flags & RG_HANDED_OVER)
		put(text, "; handed over: threads release what others hold");
	put(text, "\n");
	put_flow(text, object);
	put_holders(text, model, object);
	put_queue(text, model, object);
}

void weir_diag_report_object_(struct dg_text *text,
			      const struct dg_model *model, uint32_t index)
{
	const struct dg_object *object = &model->objects[index];

	weir_diag_report_body_(text, model, index);
	put(text, "  verdict  ");
	put(text, weir_diag_verdict_name_(object->verdict));
	if (object->leaked > 0) {
		put(text, "; ");
		put_count(text, object->leaked, "permit");
		put(text, object->leaked == 1 ? " is" : " are");
		put(text, " lost for good");
	}
	put(text, "\n");
}

/* Whether a context of the group waits for an object with this name. */
static bool concerns(const struct dg_model *model, uint32_t group,
		     const char *name)
{
	for (uint32_t w = 0; w < model->used.waits; w++) {
		const struct dg_wait *wait = &model->waits[w];

		if (model->contexts[wait->context].group == group &&
		    !strcmp(model->objects[wait->object].name, name))
			return true;
	}
	return false;
}

static void put_title(struct dg_text *text, const struct dg_model *model)
{
	put(text, "weir: ");
	if (model->pid) {
		put(text, "pid ");
		put_int(text, model->pid);
		put(text, " ");
		put(text, model->program);
		put(text, ": ");
	}
	put_count(text, model->used.objects, "watched object");
	put(text, ", ");
	put_count(text, model->used.contexts, "context");
	put(text, "\n");
	if (model->lost || model->incomplete)
		put(text, "  The registry is incomplete: verdicts are, too.\n");
}

uint32_t weir_diag_report_(struct dg_text *text, struct dg_model *model,
			   const char *only)
{
	uint32_t shown = 0;

	put_title(text, model);
	for (uint32_t g = 1; g <= model->groups && g <= GROUPS_MAX; g++)
		if (!only || concerns(model, g, only))
			weir_diag_report_group_(text, model, g);
	for (uint32_t i = 0; i < model->used.objects; i++) {
		if (only && strcmp(model->objects[i].name, only) != 0)
			continue;
		weir_diag_report_object_(text, model, i);
		shown++;
	}
	return shown;
}
