/* SPDX-License-Identifier: MIT */
/* The findings of the watchdog in a model, and its reports: finding.h. */
#include "diag/finding.h"

#include "diag/phrase.h"

/* A reported finding is forgotten after this many rounds without it. */
#define FORGET 16u

/*
 * STALLED, STARVED and STRANDED are verdicts on waits of at least a second.
 * They are not reported before the process has run for this time after it was
 * resumed.
 */
#define AWAKE_NS INT64_C(1000000000)

/* The kinds of findings, as parts of their keys. */
enum { GROUP = 1, LEAK, LONG_HOLD, WAIT, STALL };

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	return a ^ a >> 29;
}

/* Returns true if the finding does not exist any more. */
static bool is_over(const struct dg_watchdog *dog, const struct dg_finding *f)
{
	return dog->round - f->round > (f->reported ? FORGET : 1);
}

/*
 * Record that this round has found the key.  Returns the finding if the round
 * before has found it, too, and it was not reported; null otherwise.
 */
static struct dg_finding *note(struct dg_watchdog *dog, uint64_t key)
{
	struct dg_finding *unused = NULL;

	key = key ? key : 1;
	for (uint32_t i = 0; i < DG_FINDINGS; i++) {
		struct dg_finding *f = &dog->found[i];
		bool is_second = f->round == dog->round - 1;

		if (!f->key || is_over(dog, f)) {
			unused = f;
			continue;
		}
		if (f->key != key)
			continue;
		f->round = dog->round;
		return is_second && !f->reported ? f : NULL;
	}
	if (unused)
		*unused = (struct dg_finding){ key, dog->round, false };
	return NULL;
}

static void put(struct dg_watchdog *dog, const char *string)
{
	weir_diag_put_(&dog->text, string);
}

/* Begin a report on a finding.  Returns false if too many were written. */
static bool begin(struct dg_watchdog *dog, struct dg_finding *finding)
{
	if (!dog->may(dog->user))
		return false;
	finding->reported = true;
	dog->text.used = 0;
	dog->text.to[0] = '\0';
	return true;
}

static void end(struct dg_watchdog *dog, const struct dg_model *model,
		uint32_t object, enum dg_verdict verdict)
{
	dog->report(dog->user, &dog->text, &model->objects[object], verdict);
}

/* "weir: STALLED  db_pool" */
static void put_head(struct dg_watchdog *dog, const char *what,
		     const struct dg_object *object)
{
	put(dog, "weir: ");
	put(dog, what);
	put(dog, "  ");
	weir_diag_put_object_(&dog->text, object);
}

static void end_object(struct dg_watchdog *dog, const struct dg_model *model,
		       uint32_t object, enum dg_verdict verdict)
{
	put(dog, "\n  ");
	weir_diag_report_object_(&dog->text, model, object);
	weir_diag_put_more_(&dog->text, model, &model->objects[object]);
	end(dog, model, object, verdict);
}

static uint64_t wait_key(const struct dg_model *model,
			 const struct dg_wait *wait)
{
	uint64_t key = mix(model->contexts[wait->context].id,
			   model->objects[wait->object].id);

	return mix(key, (uint64_t)wait->record << 32 | wait->seq);
}

/*
 * Report contexts that can never proceed.  Contexts that are only behind them
 * are not part of the key: the same deadlock with a longer queue is not
 * reported again.
 */
static void examine_group(struct dg_watchdog *dog, struct dg_model *model,
			  uint32_t group)
{
	enum dg_verdict verdict = weir_diag_group_verdict_(model, group);
	struct dg_finding *finding;
	uint32_t object = DG_NONE;
	uint64_t key = 0;

	if (verdict < DG_UNSATISFIABLE)
		return;
	for (uint32_t i = 0; i < model->used.waits; i++) {
		const struct dg_wait *wait = &model->waits[i];
		const struct dg_context *c = &model->contexts[wait->context];

		if (c->group != group || c->behind)
			continue;
		if (object == DG_NONE)
			object = wait->object;
		key += wait_key(model, wait);
	}
	finding = note(dog, mix(mix(GROUP, verdict), key));
	if (object == DG_NONE || !finding || !begin(dog, finding))
		return;
	weir_diag_report_group_(&dog->text, model, group);
	weir_diag_put_more_(&dog->text, model, NULL);
	end(dog, model, object, verdict);
}

/* Returns the instant that was age_ns ago.  It is the same in each round. */
static uint64_t instant(const struct dg_model *model, int64_t age_ns)
{
	return age_ns == DG_UNKNOWN ? 0 : (uint64_t)(model->now_ns - age_ns);
}

static uint64_t hold_key(const struct dg_model *model,
			 const struct dg_hold *hold)
{
	uint64_t key = mix(model->contexts[hold->context].id,
			   model->objects[hold->object].id);

	return mix(mix(key, hold->site), instant(model, hold->age_ns));
}

/* Returns true if threads may release permits of the object for others. */
static bool is_passed_on(const struct dg_object *object)
{
	return object->flags & (RG_HANDED_OVER | RG_MOVED) ||
	       (object->type == RG_POSIX && weir_diag_open_(object));
}

/*
 * Report permits of threads that have ended.  If threads release permits for
 * others, another thread may release these permits, too; then only the limit of
 * holds applies.
 */
static void examine_leaks(struct dg_watchdog *dog, struct dg_model *model,
			  uint32_t index)
{
	const struct dg_object *object = &model->objects[index];
	struct dg_finding *finding;
	uint64_t key = 0;
	int64_t leaked = 0;

	for (uint32_t h = object->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_object) {
		const struct dg_hold *hold = &model->holds[h];

		if (hold->weight <= 0 || !model->contexts[hold->context].ended ||
		    is_passed_on(object))
			continue;
		leaked = weir_diag_add_(leaked, hold->weight);
		key += mix(hold_key(model, hold), (uint64_t)hold->weight);
	}
	if (!leaked)
		return;
	finding = note(dog, mix(mix(LEAK, object->id), key));
	if (!finding || !begin(dog, finding))
		return;
	put_head(dog, "LEAKED", object);
	put(dog, ": threads that have ended hold ");
	if (object->type == RG_RWLOCK) {
		put(dog, "it");
		weir_diag_put_share_(&dog->text, object, leaked);
	} else {
		(void)weir_diag_put_permits_(&dog->text, object, leaked);
	}
	end_object(dog, model, index, DG_LEAKED);
}

/* Returns the time since the process was resumed after its last stop. */
static int64_t awake_ns(const struct dg_watchdog *dog,
			const struct dg_model *model)
{
	return dog->resumed_ns ? model->now_ns - dog->resumed_ns : INT64_MAX;
}

/* Write one report for all holds of the object that are newly too long. */
static void examine_holds(struct dg_watchdog *dog, struct dg_model *model,
			  uint32_t index)
{
	const struct dg_object *object = &model->objects[index];
	int64_t awake = awake_ns(dog, model);
	bool began = false;

	for (uint32_t h = object->first_hold; h != DG_NONE && dog->hold_ns;
	     h = model->holds[h].next_of_object) {
		const struct dg_hold *hold = &model->holds[h];
		struct dg_finding *finding;

		if (hold->weight <= 0 || hold->age_ns <= dog->hold_ns ||
		    awake <= dog->hold_ns)
			continue;
		finding = note(dog, mix(LONG_HOLD, hold_key(model, hold)));
		if (!finding)
			continue;
		if (began) {
			finding->reported = true;
			continue;
		}
		if (!begin(dog, finding))
			continue;
		began = true;
		put_head(dog, "HELD TOO LONG", object);
		put(dog, ": since ");
		weir_diag_put_time_(&dog->text, hold->age_ns);
		put(dog, ", limit ");
		weir_diag_put_time_(&dog->text, dog->hold_ns);
	}
	if (began)
		end_object(dog, model, index, DG_FINE);
}

/* Returns the wait with the gravest verdict among those that can still end. */
static const struct dg_wait *slowest(const struct dg_model *model,
				     const struct dg_object *object)
{
	const struct dg_wait *found = NULL;
	enum dg_verdict gravest = DG_SLOW;

	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		const struct dg_wait *wait = &model->waits[w];
		enum dg_verdict v = model->contexts[wait->context].verdict;

		if (v <= gravest || v >= DG_NO_RELEASER)
			continue;
		gravest = v;
		found = wait;
	}
	return found;
}

/* Report waits that are STALLED, STARVED or STRANDED. */
static void examine_waits(struct dg_watchdog *dog, struct dg_model *model,
			  uint32_t index)
{
	const struct dg_object *object = &model->objects[index];
	const struct dg_wait *wait = slowest(model, object);
	struct dg_finding *finding;
	enum dg_verdict verdict;
	uint64_t key;

	if (!wait || awake_ns(dog, model) < AWAKE_NS)
		return;
	verdict = model->contexts[wait->context].verdict;
	/* The key of a stall has the object and its last release. */
	key = verdict == DG_STALLED ?
		      mix(mix(STALL, object->id),
			  instant(model, object->last_release_ns)) :
		      mix(mix(WAIT, verdict), wait_key(model, wait));
	finding = note(dog, key);
	if (!finding || !begin(dog, finding))
		return;
	put_head(dog, weir_diag_verdict_name_(verdict), object);
	put(dog, verdict == DG_STALLED ?
		 ": no release for far longer than usual" :
		 verdict == DG_STARVED ?
		 ": a waiter is overtaken again and again" :
		 ": permits were granted, and not picked up");
	end_object(dog, model, index, verdict);
}

void weir_diag_examine_(struct dg_watchdog *dog, struct dg_model *model)
{
	/* Number 0 is the round of unused entries. */
	if (!++dog->round)
		dog->round = 1;
	for (uint32_t g = 1; g <= model->groups && g <= DG_FINDINGS; g++)
		examine_group(dog, model, g);
	for (uint32_t i = 0; i < model->used.objects; i++) {
		examine_leaks(dog, model, i);
		examine_holds(dog, model, i);
		examine_waits(dog, model, i);
	}
}
