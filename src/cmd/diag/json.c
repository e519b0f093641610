/* SPDX-License-Identifier: MIT */
/* A model as JSON. */
#include <inttypes.h>
#include <string.h>

#include "cmd/diag/json.h"
#include "cmd/lib/json.h"
#include "diag/text.h"

/* Write a time, unless it is not known. */
static void put_time(FILE *out, const char *key, int64_t ns)
{
	if (ns != DG_UNKNOWN && ns != DG_NO_DEADLINE)
		json_int(out, key, ns);
}

/* Write what is known of a lease. */
static void put_lease(FILE *out, uint64_t fence, int64_t lease_ns)
{
	if (fence)
		json_int(out, "fence", (int64_t)fence);
	put_time(out, "lease_ns", lease_ns);
}

/* Write 64 bits as text: not every reader of JSON has such numbers. */
static void put_hex(FILE *out, const char *key, uint64_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, number);
	json_text(out, key, text);
}

static void put_site(FILE *out, struct diag *diag, uint64_t site)
{
	char name[256];

	if (!site)
		return;
	put_hex(out, "pc", site);
	if (symbols_name(&diag->modules, site, name, sizeof(name))) {
		char clean[256];

		weir_diag_clean_(clean, sizeof(clean), name, sizeof(name));
		json_text(out, "site", clean);
	}
}

static void put_histogram(FILE *out, const char *key, const uint64_t *buckets,
			  uint64_t sum_ns)
{
	json_begin(out, key);
	json_int(out, "sum_ns", (int64_t)sum_ns);
	json_list(out, "buckets");
	for (uint32_t i = 0; i < RG_BUCKETS; i++)
		json_int(out, NULL, (int64_t)buckets[i]);
	json_list_end(out);
	json_end(out);
}

static void put_object_counts(FILE *out, const struct dg_object *object)
{
	static const char *const outcomes[RG_OUTCOMES] = {
		"immediate", "queued", "timeout", "cancelled", "closed",
		"would_block"
	};

	json_begin(out, "acquires");
	for (int i = 0; i < RG_OUTCOMES; i++)
		json_int(out, outcomes[i], (int64_t)object->acquires[i]);
	json_end(out);
	json_int(out, "releases", (int64_t)object->releases);
	json_int(out, "unmeasured", (int64_t)object->unmeasured);
	put_histogram(out, "waits", object->waits, object->wait_ns);
	put_histogram(out, "holds", object->holds, object->hold_ns);
}

static void put_holders(FILE *out, struct diag *diag,
			const struct dg_object *object)
{
	const struct dg_model *model = &diag->model;

	json_list(out, "holders");
	for (uint32_t h = object->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_object) {
		const struct dg_hold *hold = &model->holds[h];

		if (!hold->weight)
			continue;
		json_begin(out, NULL);
		json_int(out, "context", hold->context);
		json_int(out, "weight", hold->weight);
		put_time(out, "age_ns", hold->age_ns);
		put_lease(out, hold->fence, hold->lease_ns);
		put_site(out, diag, hold->site);
		json_end(out);
	}
	json_list_end(out);
}

static void put_waiters(FILE *out, struct diag *diag,
			const struct dg_object *object)
{
	const struct dg_model *model = &diag->model;

	json_list(out, "waiters");
	for (uint32_t w = object->first_wait; w != DG_NONE;
	     w = model->waits[w].next_of_object) {
		const struct dg_wait *wait = &model->waits[w];

		json_begin(out, NULL);
		json_int(out, "context", wait->context);
		json_int(out, "min", wait->min);
		json_int(out, "max", wait->max);
		json_int(out, "place", wait->place);
		json_bool(out, "granted", wait->flags & RG_GRANTED);
		json_bool(out, "oversized", wait->flags & RG_OVERSIZED);
		json_bool(out, "idle", wait->flags & RG_IDLE);
		json_bool(out, "room", wait->flags & RG_ROOM);
		json_bool(out, "any_of", wait->flags & RG_ANY_OF);
		json_bool(out, "receives", wait->flags & RG_RECEIVES);
		json_bool(out, "recall", wait->flags & RG_RECALL);
		json_bool(out, "cancellable", wait->flags & RG_HAS_CTX);
		json_int(out, "overtaken", wait->overtaken);
		put_time(out, "age_ns", wait->age_ns);
		put_time(out, "left_ns", wait->left_ns);
		put_lease(out, 0, wait->lease_ns);
		put_site(out, diag, wait->site);
		json_end(out);
	}
	json_list_end(out);
}

static void put_object(FILE *out, struct diag *diag,
		       const struct dg_object *object)
{
	json_begin(out, NULL);
	json_text(out, "name", object->name);
	json_text(out, "type", weir_diag_type_name_(object->type));
	put_hex(out, "id", object->id);
	put_hex(out, "address", object->address);
	json_text(out, "verdict", weir_diag_verdict_name_(object->verdict));
	json_text(out, "policy", object->flags & RG_BARGING ? "barging" :
							      "fifo");
	json_bool(out, "unbounded", object->flags & RG_UNBOUNDED);
	json_bool(out, "closed", object->flags & RG_IS_CLOSED);
	json_bool(out, "paused", object->paused);
	json_bool(out, "handed_over", object->flags & RG_HANDED_OVER);
	json_bool(out, "approximate", object->approximate && !diag->is_named);
	json_int(out, "capacity", object->capacity);
	json_int(out, "free", object->free);
	json_int(out, "held", object->held);
	json_int(out, "unowned", object->unowned);
	json_int(out, "leaked", object->leaked);
	json_int(out, "waiting", object->waiters);
	json_int(out, "waiting_permits", object->waiting_permits);
	put_time(out, "age_ns", object->age_ns);
	put_time(out, "last_release_ns", object->last_release_ns);
	put_object_counts(out, object);
	put_holders(out, diag, object);
	put_waiters(out, diag, object);
	json_end(out);
}

static void put_contexts(FILE *out, const struct dg_model *model)
{
	json_list(out, "contexts");
	for (uint32_t i = 0; i < model->used.contexts; i++) {
		const struct dg_context *c = &model->contexts[i];

		json_begin(out, NULL);
		json_int(out, "context", i);
		json_text(out, "kind", weir_diag_kind_name_(c->kind));
		put_hex(out, "id", c->id);
		put_hex(out, "address", c->address);
		json_int(out, "tid", c->tid);
		if (c->kind == DG_CLIENT)
			json_text(out, "host", c->host);
		json_text(out, "name", c->name);
		json_bool(out, "ended", c->ended);
		json_text(out, "verdict", weir_diag_verdict_name_(c->verdict));
		put_time(out, "ended_ns", c->ended ? c->ended_ns : DG_UNKNOWN);
		if (c->named_ns != DG_UNKNOWN)
			json_text(out, "named", c->named);
		put_time(out, "named_ns", c->named_ns);
		if (c->group)
			json_int(out, "group", c->group);
		json_end(out);
	}
	json_list_end(out);
}

/* Write the text that weir explain prints about a group. */
static void put_report(FILE *out, struct diag *diag, uint32_t group)
{
	char room[8192];
	struct dg_text text = { .to = room, .size = sizeof(room),
				.site = symbols_name,
				.site_user = &diag->modules };

	weir_diag_report_group_(&text, &diag->model, group);
	json_text(out, "report", room);
}

static void put_group(FILE *out, struct diag *diag, uint32_t group)
{
	struct dg_model *model = &diag->model;
	struct dg_way ways[8];
	uint32_t n = group <= 8 ? weir_diag_ways_(model, group, ways, 8) : 0;
	uint32_t ended_by;

	json_begin(out, NULL);
	json_int(out, "group", group);
	json_text(out, "verdict", weir_diag_verdict_name_(
			  weir_diag_group_verdict_(model, group)));
	json_list(out, "ways_out");
	for (uint32_t i = 0; i < n; i++) {
		json_begin(out, NULL);
		if (ways[i].context != DG_NONE) {
			json_int(out, "end_wait_of", ways[i].context);
		} else {
			json_text(out, "raise",
				  model->objects[ways[i].object].name);
			json_int(out, "by", ways[i].by);
		}
		json_end(out);
	}
	json_list_end(out);
	if (group <= 8) {
		put_time(out, "ends_in_ns",
			 weir_diag_ends_(model, group, &ended_by));
		put_report(out, diag, group);
	}
	json_end(out);
}

uint32_t diag_json_object(FILE *out, const char *key, struct diag *diag,
			  const char *only)
{
	struct dg_model *model = &diag->model;
	uint32_t shown = 0;

	json_begin(out, key);
	json_int(out, "pid", model->pid);
	json_text(out, "program", model->program);
	json_text(out, "library", model->library);
	json_text(out, "verdict",
		  weir_diag_verdict_name_(weir_diag_gravest_(model, only)));
	json_bool(out, "incomplete", model->lost || model->incomplete);
	json_bool(out, "approximate", model->approximate);
	json_list(out, "groups");
	for (uint32_t g = 1; g <= model->groups; g++)
		put_group(out, diag, g);
	json_list_end(out);
	json_list(out, "objects");
	for (uint32_t i = 0; i < model->used.objects; i++)
		if (!only || !strcmp(model->objects[i].name, only)) {
			put_object(out, diag, &model->objects[i]);
			shown++;
		}
	json_list_end(out);
	put_contexts(out, model);
	json_end(out);
	return shown;
}

uint32_t diag_json(FILE *out, struct diag *diag, const char *only)
{
	uint32_t shown = diag_json_object(out, NULL, diag, only);

	json_line(out);
	return shown;
}
