/* SPDX-License-Identifier: MIT */
/* The whole report: a title, the groups of contexts, and the objects. */
#include <string.h>

#include "diag/phrase.h"

#define GROUPS_MAX 32u		/* in a report */

static void put(struct dg_text *text, const char *string)
{
	weir_diag_put_(text, string);
}

static void put_int(struct dg_text *text, int64_t number)
{
	weir_diag_put_int_(text, number);
}

/* Returns true if a context of the group waits for an object with this name. */
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
	}
	if (model->pid || *model->program) {
		put(text, model->program);
		put(text, ": ");
	}
	weir_diag_put_count_(text, model->used.objects, "watched object");
	put(text, ", ");
	weir_diag_put_count_(text, model->used.contexts, "context");
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
