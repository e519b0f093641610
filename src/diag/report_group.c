/* SPDX-License-Identifier: MIT */
/*
 * The report on a group of contexts that cannot proceed: its members, the
 * contexts behind them, and the ways out.
 */
#include "diag/phrase.h"

/* The longest list of contexts, of holds and of waits. */
#define MEMBERS_MAX 24u
/* The number of groups whose ways out are searched. */
#define GROUPS_SEARCHED 8u

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
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
		weir_diag_put_share_(text, &model->objects[hold->object],
				     hold->weight);
		weir_diag_put_origin_(text, hold->site, hold->age_ns);
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

		if (n == MEMBERS_MAX) {
			put(text, ", ...");
			return;
		}
		weir_diag_put_joint_(text, wait, n++, "  waits for ");
		weir_diag_put_wanted_(text, object, wait);
		weir_diag_put_origin_(text, wait->site, wait->age_ns);
		weir_diag_put_deadline_(text, wait);
		put(text, "; ");
		weir_diag_put_free_(text, object);
		if (wait->flags & RG_OVERSIZED)
			put(text, "; more than the capacity");
	}
}

/*
 * Write what a leaked group waits for: permits, or if it waits for one
 * reader-writer lock, those who are inside.
 */
static void put_leak(struct dg_text *text, const struct dg_model *model,
		     uint32_t group)
{
	const struct dg_object *lock = NULL;
	bool others = false;

	for (uint32_t w = 0; w < model->used.waits; w++) {
		const struct dg_wait *wait = &model->waits[w];
		const struct dg_object *object = &model->objects[wait->object];

		if (model->contexts[wait->context].group != group ||
		    object->leaked <= 0)
			continue;
		if (object->type != RG_RWLOCK || (lock && lock != object))
			others = true;
		lock = object;
	}
	put(text, " for ");
	if (lock && !others) {
		bool one = weir_diag_put_permits_(text, lock, lock->leaked);

		put(text, one ? " whose thread has ended" :
				" whose threads have ended");
	} else {
		put(text, "permits of threads that have ended");
	}
}

/* Write what a group with the verdict POSSIBLE DEADLOCK needs to proceed. */
static void put_condition(struct dg_text *text, const struct dg_model *model,
			  uint32_t group)
{
	bool others = false, leases = false;

	for (uint32_t i = 0; i < model->used.contexts; i++) {
		const struct dg_context *c = &model->contexts[i];

		others = others || (c->group == group && c->others);
		leases = leases || (c->group == group && c->others &&
				    c->kind == DG_CLIENT);
	}
	put(text, " cannot proceed unless another thread ");
	put(text, others ? "of these processes releases permits" :
			   "posts a sem_t that they hold");
	put(text, leases ? ", or a lease ends" : "");
}

static void put_head(struct dg_text *text, const struct dg_model *model,
		     uint32_t group, uint32_t members, int64_t ends_ns)
{
	enum dg_verdict verdict = weir_diag_group_verdict_(model, group);

	put(text, "weir: ");
	put(text, weir_diag_verdict_name_(verdict));
	put(text, ends_ns != DG_NO_DEADLINE ? " until a timeout  " : "  ");
	weir_diag_put_count_(text, members, "context");
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
		put_condition(text, model, group);
	} else if (verdict == DG_LEAKED) {
		put(text, members == 1 ? " waits" : " wait");
		put_leak(text, model, group);
	} else {
		/*
		 * A thread may release the permits of another one.  The first
		 * such release marks the object; before it, the registry does
		 * not show that this can happen.
		 */
		put(text, verdict == DG_SELF_NESTED ?
			  " can never proceed (unless another thread releases "
			  "what it holds)" :
			  " can never proceed (exact; no outside releaser "
			  "known)");
	}
	put(text, "\n");
}

/* Returns true if the permits are free that the wait is for. */
static bool fits(const struct dg_model *model, const struct dg_wait *wait)
{
	const struct dg_object *object = &model->objects[wait->object];

	return wait->place && wait->min <= object->free &&
	       !(object->flags & RG_UNBOUNDED) && object->type != RG_CHAN &&
	       object->type != RG_RATE && object->type != RG_RWLOCK;
}

/*
 * "(one of db_pool 1 or smtp_conn 1)": what the context waits for, and what ends its
 * wait.  Returns true if all of it is free.
 */
static bool put_wanted(struct dg_text *text, const struct dg_model *model,
		       const struct dg_context *c)
{
	uint32_t n = 0;
	bool fit = true;

	for (uint32_t w = c->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_context) {
		const struct dg_wait *wait = &model->waits[w];

		fit = fit && fits(model, wait);
		if (n == MEMBERS_MAX) {
			put(text, ", ...");
			break;
		}
		weir_diag_put_joint_(text, wait, n++, " (");
		weir_diag_put_wanted_(text, &model->objects[wait->object],
				      wait);
		weir_diag_put_deadline_(text, wait);
	}
	put(text, ")");
	return fit;
}

/* Write the contexts of the group that block no other context. */
static void put_behind(struct dg_text *text, const struct dg_model *model,
		       uint32_t group)
{
	uint32_t n = 0;
	bool fit = true;

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
		fit = put_wanted(text, model, c) && fit;
	}
	if (n && fit)
		put(text, "; enough is free, the order of the queue blocks "
			  "them");
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
	enum dg_verdict verdict = weir_diag_group_verdict_(model, group);
	uint32_t members = 0, shown = 0, ended_by = 0;
	int64_t ends_ns = DG_NO_DEADLINE;

	if (group <= GROUPS_SEARCHED)
		ends_ns = weir_diag_ends_(model, group, &ended_by);
	for (uint32_t i = 0; i < model->used.contexts; i++)
		members += model->contexts[i].group == group;
	put_head(text, model, group, members, ends_ns);
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
	if (verdict == DG_DEADLOCK || verdict == DG_POSSIBLE_DEADLOCK)
		weir_diag_put_orders_(text, model, group);
	if (group <= GROUPS_SEARCHED)
		put_ways(text, model, group);
	if (ends_ns != DG_NO_DEADLINE)
		put_end(text, &model->contexts[ended_by], ends_ns);
}
