/* SPDX-License-Identifier: MIT */
/*
 * Chains of processes.
 *
 * The process that holds the permit of a job is the guardian of `weir run`; it
 * releases when the job has ended.  If the job, or a descendant of it, waits for
 * another name, and every process between the two waits for its child alone, then
 * the guardian cannot release before that wait has ended.  So the chain from the
 * waiting process up to the outermost holder is one context.
 *
 * A context is judged as if it did not wait (`moving`) if several processes of
 * its chain wait.  It is marked (`others`) if other threads of the process may
 * release.
 */
#include "cmd/diag/chain.h"

#include <stdio.h>

#include "cmd/diag/kin.h"
#include "diag/bytes.h"

/* The longest chain of processes between a waiter and a holder. */
#define CHAIN_MAX 64

/* Returns the context of the holder with this process ID in our namespace. */
static uint32_t find_holder(const struct dg_model *model, pid_t pid,
			    uint64_t space)
{
	for (uint32_t i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].tid == (uint32_t)pid &&
		    model->contexts[i].address == space &&
		    model->contexts[i].first_hold != DG_NONE)
			return i;
	return DG_NONE;
}

/* Move the holds of a context to another one. */
static void merge(struct dg_model *model, uint32_t from, uint32_t to)
{
	struct dg_context *context = &model->contexts[to];
	uint32_t next;
	char name[sizeof(context->name)];

	if (from == to)
		return;
	/* The holder is the process that users see with weir stat. */
	(void)snprintf(name, sizeof(name), "in %u %.40s",
		       model->contexts[from].tid, context->name);
	weir_diag_clean_(context->name, sizeof(context->name), name,
			 sizeof(name));
	for (uint32_t h = model->contexts[from].first_hold; h != DG_NONE;
	     h = next) {
		struct dg_hold *hold = &model->holds[h];

		next = hold->next_of_context;
		hold->context = to;
		hold->next_of_context = model->contexts[to].first_hold;
		model->contexts[to].first_hold = h;
	}
	model->contexts[from].first_hold = DG_NONE;
	if (model->contexts[from].moving)
		model->contexts[to].moving = true;
}

/*
 * Follow the parents of a waiting process, and merge the holders among them
 * into the process's own context.
 */
static void climb(struct dg_model *model, uint32_t waiter, uint64_t space)
{
	pid_t pid = (pid_t)model->contexts[waiter].tid;

	if (model->contexts[waiter].address != space)
		return;
	for (int i = 0; i < CHAIN_MAX; i++) {
		pid_t child = pid;
		uint32_t holder;

		pid = kin_parent(child);
		if (pid <= 1 || !kin_awaits(pid, child))
			return;
		holder = find_holder(model, pid, space);
		if (holder == DG_NONE)
			continue;
		/* Another process of the same job waits as well. */
		if (model->contexts[holder].first_wait != DG_NONE)
			model->contexts[waiter].moving = true;
		merge(model, holder, waiter);
	}
}

/*
 * Other threads of a process that holds and waits may release, unless all of
 * them are threads of the library.  A process without threads has ended.
 */
static void check_threads(const struct dg_model *model,
			  struct dg_context *context, uint64_t space)
{
	bool known = context->address == space;
	unsigned threads = known ? kin_threads((pid_t)context->tid) : 0;
	unsigned handles = 1;

	for (uint32_t h = context->first_hold; h != DG_NONE;
	     h = model->holds[h].next_of_context)
		handles++;
	/* A handle has one thread of the library. */
	if (!known || threads > 1 + handles)
		context->others = true;
	else if (!threads)
		context->moving = true;
}

void chain_join(struct dg_model *model)
{
	uint64_t space = kin_namespace();

	for (uint32_t i = 0; i < model->used.contexts; i++) {
		struct dg_context *context = &model->contexts[i];

		if (context->first_wait != DG_NONE &&
		    context->first_hold != DG_NONE)
			check_threads(model, context, space);
	}
	chain_climb(model);
}

void chain_climb(struct dg_model *model)
{
	uint64_t space = kin_namespace();

	for (uint32_t i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].first_wait != DG_NONE)
			climb(model, i, space);
}
