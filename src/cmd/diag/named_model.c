/* SPDX-License-Identifier: MIT */
/*
 * Named semaphores as objects, processes as contexts.
 *
 * DEADLOCK must not be printed if the permits could be released in another way
 * (C50).  A context that has `moving` set is judged as if it did not wait.  This
 * file sets it if the process waits more than once, if the semaphore is paused,
 * or if the wait has changed while the semaphores were read; chain.c sets it if
 * another process may release.  chain.c and clients.c set `others` if another
 * thread may release.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/chain.h"
#include "cmd/diag/named.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/snapshot.h"

void named_make(struct named_all *all, size_t room)
{
	*all = (struct named_all){
		.list = memory_realloc(NULL, (room + 1) * sizeof(*all->list)),
	};
}

struct named_one *named_next(struct named_all *all, const char *name)
{
	struct named_one *one = &all->list[all->used];

	*one = (struct named_one){ .name = name };
	return one;
}

void named_add(struct named_all *all)
{
	all->entries += all->list[all->used++].info.entries;
}

void named_free(struct named_all *all)
{
	for (uint32_t i = 0; i < all->used; i++) {
		free(all->list[i].own_name);
		free(all->list[i].entries);
		free(all->list[i].leases);
	}
	free(all->list);
}

#define MS INT64_C(1000000)

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
static bool is_steady(const struct named_all *before,
		      const struct named_one *name,
		      const weir_named_entry *entry)
{
	for (uint32_t i = 0; i < before->used; i++) {
		const struct named_one *one = &before->list[i];

		if (strcmp(one->name, name->name) != 0)
			continue;
		for (uint32_t k = 0; k < one->info.entries; k++)
			/* The id of a request to a server is never reused. */
			if (one->entries[k].id == entry->id &&
			    one->entries[k].role == entry->role &&
			    (before->clients ||
			     one->entries[k].since_ns == entry->since_ns))
				return true;
	}
	return false;
}

/* Returns the time until the lease ends; DG_UNKNOWN. */
static int64_t lease_left(const weir_cluster_entry *lease)
{
	return lease->lease_ms > 0 && lease->lease_ms < INT64_MAX / MS ?
		       lease->lease_ms * MS : DG_UNKNOWN;
}

static void add_hold(struct dg_model *model, uint32_t object, uint32_t context,
		     const weir_named_entry *entry,
		     const weir_cluster_entry *lease)
{
	uint32_t i = weir_diag_add_hold_(model, context, object, entry->weight);

	if (i == DG_NONE)
		return;
	model->holds[i].age_ns = snapshot_age(entry, weir_now_ns());
	if (lease) {
		model->holds[i].fence = lease->fence;
		model->holds[i].lease_ns = lease_left(lease);
	}
}

static void add_wait(struct dg_model *model, uint32_t object, uint32_t context,
		     const weir_named_entry *entry,
		     const weir_cluster_entry *lease)
{
	uint32_t i = weir_diag_add_wait_(model, context, object, entry->weight,
				entry->weight);
	if (i == DG_NONE)
		return;
	model->waits[i].ticket = entry->place;
	model->waits[i].age_ns = snapshot_age(entry, weir_now_ns());
	if (lease)
		model->waits[i].lease_ns = lease_left(lease);
	model->waits[i].flags = entry->role == WEIR_NAMED_OVERSIZED ?
				RG_OVERSIZED :
				entry->role == WEIR_NAMED_IDLE ? RG_IDLE : 0;
}

static void add_entry(struct dg_model *model, uint32_t object,
		      const weir_named_entry *entry,
		      const weir_cluster_entry *lease, bool steady)
{
	uint32_t context = lease ? clients_context(model, lease) :
				   context_of(model, entry);
	struct dg_context *c;

	if (context == DG_NONE)
		return;
	if (!is_waiting(entry)) {
		add_hold(model, object, context, entry, lease);
		return;
	}
	c = &model->contexts[context];
	if ((c->first_wait != DG_NONE && !lease) || !steady)
		c->moving = true;
	add_wait(model, object, context, entry, lease);
}

static void add_name(struct dg_model *model, const struct named_one *name,
		     const struct named_all *before)
{
	uint32_t object = weir_diag_add_object_(model);
	struct dg_object *o;

	if (object == DG_NONE)
		return;
	o = &model->objects[object];
	o->capacity = name->info.capacity;
	o->flags = name->info.closed ? RG_IS_CLOSED : 0;
	o->paused = name->info.paused;
	weir_diag_clean_(o->name, sizeof(o->name), name->name,
			 strlen(name->name));
	for (uint32_t i = 0; i < name->info.entries; i++) {
		const weir_named_entry *entry = &name->entries[i];

		if (entry->role == WEIR_NAMED_LOCKS)
			continue;
		add_entry(model, object, entry,
			  before->clients ? &name->leases[i] : NULL,
			  !name->info.paused && !name->info.inconsistent &&
			  is_steady(before, name, entry));
	}
	if (name->info.inconsistent)
		model->approximate = true;
}

void named_model(struct diag *diag, const struct named_all *before,
		 const struct named_all *now)
{
	/* clients_join() gives each wait of some clients a context of its own. */
	struct dg_limits limits = {
		.objects = now->used,
		.contexts = now->clients ? 2 * now->entries : now->entries,
		.holds = now->entries,
		.waits = now->entries,
	};

	weir_diag_model_init_(&diag->model, &limits, diag_room(diag, &limits));
	for (uint32_t i = 0; i < now->used; i++)
		add_name(&diag->model, &now->list[i], before);
	if (now->clients)
		clients_join(&diag->model);
	else
		chain_join(&diag->model);
	weir_diag_finish_(&diag->model);
}
