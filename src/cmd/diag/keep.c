/* SPDX-License-Identifier: MIT */
/* The symbols of processes, kept between requests: keep.h. */
#include "cmd/diag/keep.h"

#include <string.h>

/* The most processes whose symbols are kept. */
#define KEPT_MAX 32

/* The symbols of a process, from the last request. */
static struct kept {
	bool used;		/* by the present request */
	pid_t pid;		/* 0: this element is unused */
	int64_t start_ns;	/* of the registry: a pid may be used again */
	struct modules modules;
} kept[KEPT_MAX];

static void drop(struct kept *old)
{
	symbols_free(&old->modules);
	modules_free(&old->modules);
	memset(old, 0, sizeof(*old));
}

static bool are_same(const struct modules *a, const struct modules *b)
{
	if (a->count != b->count || strcmp(a->root, b->root) != 0)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct module *x = &a->list[i], *y = &b->list[i];

		if (x->start != y->start || x->end != y->end ||
		    x->offset != y->offset || strcmp(x->path, y->path) != 0 ||
		    strcmp(x->build_id, y->build_id) != 0)
			return false;
	}
	return true;
}

void keep_use(struct diag *diag)
{
	for (int i = 0; i < KEPT_MAX; i++) {
		struct kept *old = &kept[i];

		if (!diag->pid || old->pid != diag->pid)
			continue;
		if (old->start_ns == diag->header.start_ns &&
		    are_same(&old->modules, &diag->modules)) {
			modules_free(&diag->modules);
			diag->modules = old->modules;
			memset(&old->modules, 0, sizeof(old->modules));
			symbols_begin(&diag->modules);
		}
		drop(old);
	}
}

void keep(struct diag *diag)
{
	for (int i = 0; diag->pid && i < KEPT_MAX; i++)
		if (!kept[i].pid) {
			kept[i] = (struct kept){ true, diag->pid,
						 diag->header.start_ns,
						 diag->modules };
			memset(&diag->modules, 0, sizeof(diag->modules));
			return;
		}
}

void keep_drop_unused(void)
{
	for (int i = 0; i < KEPT_MAX; i++) {
		if (kept[i].pid && !kept[i].used)
			drop(&kept[i]);
		kept[i].used = false;
	}
}
