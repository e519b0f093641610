/* SPDX-License-Identifier: MIT */
/*
 * The contexts of a server: clients, which are processes of any machine.  A
 * server knows the host, the process ID and the label of a client, and not its
 * threads.  So the verdict is never DEADLOCK (C50): another thread of the process
 * may release what the process holds.  Clients with the same host and process ID
 * are taken for one process, because a process has a client for each semaphore.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/diag/chain.h"
#include "cmd/diag/kin.h"
#include "cmd/diag/named.h"

/* Returns true if this machine gives its clients this host name. */
static bool is_here(const char *host)
{
	char own[WEIR_CLUSTER_HOST_MAX + 1] = "";

	if (gethostname(own, sizeof(own) - 1) || !*own)
		return false;
	for (char *p = own; *p; p++)
		if (isspace((unsigned char)*p))
			*p = '-';
	return !strcmp(own, host);
}

uint32_t clients_context(struct dg_model *model,
			 const weir_cluster_entry *lease)
{
	char host[sizeof(model->contexts->host)];
	uint32_t i;

	weir_diag_clean_(host, sizeof(host), lease->host, sizeof(lease->host));
	for (i = 0; i < model->used.contexts; i++)
		if (model->contexts[i].tid == (uint32_t)lease->pid &&
		    !strcmp(model->contexts[i].host, host))
			return i;
	i = weir_diag_add_context_(model);
	if (i == DG_NONE)
		return i;
	model->contexts[i].kind = DG_CLIENT;
	model->contexts[i].tid = (uint32_t)lease->pid;
	/* The chains of src/cmd/diag/chain.c are looked for on this machine. */
	model->contexts[i].address = is_here(lease->host) ? kin_namespace() : 0;
	(void)snprintf(model->contexts[i].host, sizeof(host), "%s", host);
	weir_diag_clean_(model->contexts[i].name,
			 sizeof(model->contexts[i].name), lease->label,
			 sizeof(lease->label));
	return i;
}

/*
 * Give each wait of a client with several waits a context of its own.  They are
 * waits of several threads or operations, and the others may release what the
 * client holds.  Its holds remain in a context that does not wait.
 */
static void split(struct dg_model *model, uint32_t client)
{
	struct dg_context *from = &model->contexts[client];
	uint32_t next, w = from->first_wait;

	if (w == DG_NONE || model->waits[w].next_of_context == DG_NONE)
		return;
	from->first_wait = DG_NONE;
	from->address = 0;
	for (; w != DG_NONE; w = next) {
		uint32_t to = weir_diag_add_context_(model);

		next = model->waits[w].next_of_context;
		if (to == DG_NONE)
			return;
		model->contexts[to] = *from;
		model->contexts[to].first_hold = DG_NONE;
		model->contexts[to].first_wait = w;
		model->waits[w].context = to;
		model->waits[w].next_of_context = DG_NONE;
	}
}

void clients_join(struct dg_model *model)
{
	uint32_t clients = model->used.contexts;

	for (uint32_t i = 0; i < clients; i++)
		split(model, i);
	chain_climb(model);
	for (uint32_t i = 0; i < model->used.contexts; i++) {
		struct dg_context *c = &model->contexts[i];

		c->others = c->first_wait != DG_NONE &&
			    c->first_hold != DG_NONE;
	}
}
