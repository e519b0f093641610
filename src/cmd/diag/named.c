/* SPDX-License-Identifier: MIT */
/*
 * Named semaphores as objects, processes as contexts.
 *
 * DEADLOCK must not be printed if the permits could be released in another way
 * (C50).  A context that has `moving` set is judged as if it did not wait.  This
 * file sets it if the process waits more than once, if the semaphore is paused,
 * or if the wait has changed while the semaphores were read; chain.c sets it if
 * other threads or processes may release.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/chain.h"
#include "cmd/diag/source.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/names.h"
#include "cmd/lib/snapshot.h"

struct name {
	const char *name;
	weir_named_info info;
	weir_named_entry *entries;
};

/*
 * Read the semaphores, and count those that cannot be read.  A semaphore that has
 * been removed since its name was listed is not counted.
 */
static struct name *read_names(char **names, int count, uint32_t *used,
			       uint32_t *entries, uint32_t *unreadable)
{
	struct name *list = memory_realloc(NULL, ((size_t)count + 1) *
					   sizeof(*list));

	*used = *entries = *unreadable = 0;
	for (int i = 0; i < count; i++) {
		weir_named_opts opts = { .flags = WEIR_NAMED_SHARED |
						  WEIR_NAMED_OBSERVER };
		struct name *name = &list[*used];
		weir_named *sem;
		weir_err err = weir_named_open(names[i], &opts, &sem);

		if (err) {
			if (err != WEIR_ESYSTEM || errno != ENOENT)
				(*unreadable)++;
			continue;
		}
		name->name = names[i];
		if (!snapshot_settle(sem, &name->info, &name->entries)) {
			*entries += name->info.entries;
			(*used)++;
		} else {
			free(name->entries);
			(*unreadable)++;
		}
		(void)!weir_named_close_handle(sem);
	}
	return list;
}

static void free_names(struct name *list, uint32_t used)
{
	for (uint32_t i = 0; i < used; i++)
		free(list[i].entries);
	free(list);
}

static bool is_waiting(const weir_named_entry *entry)
{
	return entry->role == WEIR_NAMED_WAITS ||
	       entry->role == WEIR_NAMED_OVERSIZED ||
	       entry->role == WEIR_NAMED_IDLE;
}

/* Returns the context of a process; adds it if it is new. */
static uint32_t context_of(struct dg_model *model,
			   const weir_named_entry *entry)
{
	uint32_t i;

	for (i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].tid == (uint32_t)entry->pid &&
		    model->contexts[i].address == entry->pid_namespace)
			return i;
	i = weir_diag_add_context_(model);
	if (i == DG_NONE)
		return i;
	model->contexts[i].kind = DG_PROCESS;
	model->contexts[i].tid = (uint32_t)entry->pid;
	model->contexts[i].address = entry->pid_namespace;
	weir_diag_clean_(model->contexts[i].name,
			 sizeof(model->contexts[i].name), entry->label,
			 sizeof(entry->label));
	return i;
}

/* Returns true if the earlier reading has the same wait. */
static bool is_steady(const struct name *before, uint32_t used,
		      const struct name *name, const weir_named_entry *entry)
{
	for (uint32_t i = 0; i < used; i++) {
		if (strcmp(before[i].name, name->name) != 0)
			continue;
		for (uint32_t k = 0; k < before[i].info.entries; k++)
			if (before[i].entries[k].id == entry->id &&
			    before[i].entries[k].role == entry->role &&
			    before[i].entries[k].since_ns == entry->since_ns)
				return true;
	}
	return false;
}

static void add_entry(struct dg_model *model, uint32_t object,
		      const weir_named_entry *entry, int64_t now, bool steady)
{
	uint32_t context = context_of(model, entry), i;

	if (context == DG_NONE)
		return;
	if (!is_waiting(entry)) {
		i = weir_diag_add_hold_(model, context, object, entry->weight);
		if (i != DG_NONE)
			model->holds[i].age_ns = snapshot_age(entry, now);
		return;
	}
	if (model->contexts[context].first_wait != DG_NONE || !steady)
		model->contexts[context].moving = true;
	i = weir_diag_add_wait_(model, context, object, entry->weight,
				entry->weight);
	if (i == DG_NONE)
		return;
	model->waits[i].ticket = entry->place;
	model->waits[i].age_ns = snapshot_age(entry, now);
	model->waits[i].flags = entry->role == WEIR_NAMED_OVERSIZED ?
				RG_OVERSIZED :
				entry->role == WEIR_NAMED_IDLE ? RG_IDLE : 0;
}

static void add_name(struct dg_model *model, const struct name *name,
		     const struct name *before, uint32_t before_used)
{
	uint32_t object = weir_diag_add_object_(model);
	struct dg_object *o = &model->objects[object];
	int64_t now = weir_now_ns();

	if (object == DG_NONE)
		return;
	o->capacity = name->info.capacity;
	o->flags = name->info.closed ? RG_IS_CLOSED : 0;
	weir_diag_clean_(o->name, sizeof(o->name), name->name,
			 strlen(name->name));
	for (uint32_t i = 0; i < name->info.entries; i++) {
		const weir_named_entry *entry = &name->entries[i];

		if (entry->role == WEIR_NAMED_LOCKS)
			continue;
		add_entry(model, object, entry, now,
			  !name->info.paused && !name->info.inconsistent &&
			  is_steady(before, before_used, name, entry));
	}
	if (name->info.inconsistent)
		model->approximate = true;
}

/* Fail because the folder of names cannot be read. */
static bool fail_folder(struct diag *diag, int errnum)
{
	char folder[PATH_MAX];

	if (weir_named_path(NULL, folder, sizeof(folder)))
		(void)snprintf(folder, sizeof(folder), "the folder of names");
	return diag_fail(diag, cmd_status(WEIR_ESYSTEM, errnum), "%s: %s",
			 folder, strerror(errnum));
}

bool diag_named_read(struct diag *diag)
{
	uint32_t used, before_used, entries, before_entries;
	struct name *before, *list;
	struct dg_limits limits;
	char **names;
	int count = names_list(&names);

	if (count < 0)
		return fail_folder(diag, errno);
	before = read_names(names, count, &before_used, &before_entries,
			    &diag->unreadable);
	list = read_names(names, count, &used, &entries, &diag->unreadable);
	limits = (struct dg_limits){ used, entries, entries, entries };
	weir_diag_model_init_(&diag->model, &limits, diag_room(diag, &limits));
	for (uint32_t i = 0; i < used; i++)
		add_name(&diag->model, &list[i], before, before_used);
	chain_join(&diag->model);
	weir_diag_finish_(&diag->model);
	free_names(before, before_used);
	free_names(list, used);
	free(names);
	return true;
}
