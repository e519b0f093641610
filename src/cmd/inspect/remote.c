/* SPDX-License-Identifier: MIT */
/* Examining semaphores between machines: stat, doctor, wait, ls. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/inspect/remote.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/remote_acquire.h"
#include "cmd/lib/remote_names.h"
#include "cmd/lib/remote_snapshot.h"
#include "cmd/lib/text.h"

void remote_snapshot(const char *url, weir_named_info *info,
		     weir_named_entry **entries)
{
	weir_cluster_opts opts = { .label = "weir stat" };
	weir_cluster *c = remote_open(url, &opts);
	weir_err err = remote_snapshot_read(c, info, entries);

	if (err)
		remote_fail(url, c, err);
	(void)!remote_api.weir_cluster_close_handle(c);
}

static void finding(const char *setting, const char *text, void *user)
{
	int *count = user;

	(*count)++;
	printf("problem: %s: %s\n", setting, text);
}

int remote_doctor(const char *url)
{
	weir_cluster_opts opts = { .label = "weir doctor" };
	weir_cluster *c = remote_open(url, &opts);
	int count = 0;
	weir_err err;

	text_plain(stdout, remote_display(url));
	putchar('\n');
	err = remote_api.weir_cluster_doctor(c, finding, &count);
	if (err)
		remote_fail(url, c, err);
	if (!count)
		puts("ok: the engine keeps all promises of its row in weir(7)");
	(void)!remote_api.weir_cluster_close_handle(c);
	cmd_flush();
	return count ? EXIT_CLOSED : EXIT_SUCCESS;
}

/*
 * Acquire the permits and release them at once.  A signal withdraws the request:
 * otherwise later requests would wait behind it until its lease ends.  *sig is
 * the signal, or 0.
 */
static weir_err wait_free(weir_cluster *c, int64_t n, int64_t timeout_ns,
			  int *sig)
{
	struct acquire_opts opts = { .weight = n, .timeout_ns = timeout_ns };
	struct signals signals;
	weir_lease *lease;
	weir_err err;

	signals_block(&signals);
	err = remote_acquire_permits(&opts, c, &signals, &lease, sig);
	/* Nothing depends on the permits: a lost lease is no failure. */
	if (!err)
		(void)!remote_api.weir_lease_release(lease);
	return err;
}

int remote_wait(const char *url, int64_t free_wanted, int64_t timeout_ns,
		int timeout_status)
{
	weir_cluster_opts opts = { .label = "weir wait",
				   .flags = WEIR_CLUSTER_INTERRUPTIBLE };
	weir_cluster *c = remote_open(url, &opts);
	int sig = 0;
	weir_err err = free_wanted < 0 ? remote_wait_idle(c, timeout_ns) :
		       wait_free(c, free_wanted, timeout_ns, &sig);

	if (err == WEIR_ETIMEDOUT && !sig) {
		char room[HOLDER_ROOM], time[DURATION_ROOM];
		const char *holder = remote_describe_holder(c, room);

		cmd_message("%s: timed out after %s%s%s", remote_display(url),
			    duration_text(timeout_ns, time),
			    *holder ? "; " : "", holder);
		return timeout_status;
	}
	if (err == WEIR_ETOOBIG && !sig) {
		remote_print_too_big(url, c, "--free", free_wanted);
		return EXIT_MISUSE;
	}
	if (err && !sig)
		remote_fail(url, c, err);
	(void)!remote_api.weir_cluster_close_handle(c);
	return sig ? EXIT_SIGNAL(sig) : EXIT_SUCCESS;
}

struct reading {
	weir_named_info info;
	weir_named_entry *entries;
	remote_each_fn *fn;
	void *user;
};

static weir_err read_one(weir_cluster *c, void *user)
{
	struct reading *r = user;

	return remote_snapshot_read(c, &r->info, &r->entries);
}

static void show_one(const char *name, const char *url, const char *why,
		     void *user)
{
	struct reading *r = user;

	r->fn(name, url, &r->info, r->entries, why, r->user);
	free(r->entries);
	r->entries = NULL;
}

void remote_each(const char *url, remote_each_fn *fn, void *user)
{
	struct reading reading = { .fn = fn, .user = user };

	(void)remote_names_each(url, SIZE_MAX, read_one, show_one, &reading);
}
