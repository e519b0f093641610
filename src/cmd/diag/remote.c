/* SPDX-License-Identifier: MIT */
/* Source: a semaphore between machines, or all semaphores of a server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/named.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/remote_names.h"
#include "cmd/lib/remote_snapshot.h"

void diag_open_remote(struct diag *diag, const char *url, bool server)
{
	memset(diag, 0, sizeof(*diag));
	diag->name = remote_display(url);
	diag->fd = -1;
	diag->is_named = true;
	diag->url = url;
	diag->is_server = server || !remote_has_name(url);
}

struct reading {
	struct named_all *all;
	struct named_one one;
	uint32_t unreadable;
};

static weir_err read_one(weir_cluster *c, void *user)
{
	struct named_one *one = &((struct reading *)user)->one;

	return remote_snapshot_leases(c, &one->info, &one->entries,
				      &one->leases);
}

static void add_one(const char *name, const char *url, const char *why,
		    void *user)
{
	struct reading *r = user;
	struct named_all *all = r->all;

	(void)url;
	if (why) {
		r->unreadable++;
		return;
	}
	all->list = memory_realloc(all->list,
				   (all->used + 1) * sizeof(*all->list));
	r->one.own_name = memory_strdup(name);
	r->one.name = r->one.own_name;
	all->list[all->used] = r->one;
	named_add(all);
}

static void read_server(struct diag *diag, struct named_all *all)
{
	struct reading reading = { .all = all };

	(void)remote_names_each(diag->url, SIZE_MAX, read_one, add_one,
				&reading);
	diag->unreadable = reading.unreadable;
}

static void read_semaphore(struct diag *diag, weir_cluster *c,
			   struct named_all *all)
{
	struct reading reading = { .all = all };
	weir_err err = read_one(c, &reading);

	if (err)
		remote_fail(diag->url, c, err);
	add_one(diag->name, diag->url, NULL, &reading);
}

/* The second reading shows which waits of the first one are still there. */
static bool needs_second(const struct named_all *all)
{
	for (uint32_t i = 0; i < all->used; i++)
		for (uint32_t k = 0; k < all->list[i].info.entries; k++)
			if (all->list[i].entries[k].role != WEIR_NAMED_HOLDS)
				return true;
	return false;
}

void remote_read(struct diag *diag)
{
	struct named_all before = { .clients = true }, again = before;
	struct named_all *now = &before;

	if (diag->is_server) {
		read_server(diag, &before);
		if (needs_second(&before)) {
			read_server(diag, &again);
			now = &again;
		}
	} else {
		weir_cluster_opts opts = { .label = "weir explain" };
		weir_cluster *c = remote_open(diag->url, &opts);

		read_semaphore(diag, c, &before);
		if (needs_second(&before)) {
			read_semaphore(diag, c, &again);
			now = &again;
		}
		(void)!remote_api.weir_cluster_close_handle(c);
	}
	named_model(diag, &before, now);
	if (diag->is_server)
		weir_diag_clean_(diag->model.program,
				 sizeof(diag->model.program), diag->name,
				 strlen(diag->name));
	named_free(&before);
	named_free(&again);
}
