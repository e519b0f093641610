/* SPDX-License-Identifier: MIT */
/* Administration of semaphores between machines. */
#include <stdlib.h>

#include "cmd/admin/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote.h"

static weir_cluster *open_for(const char *url, const char *label)
{
	weir_cluster_opts opts = { .label = label };

	return remote_open(url, &opts);
}

static int end(const char *url, weir_cluster *c, weir_err err)
{
	if (err)
		remote_fail(url, c, err);
	(void)!remote_api.weir_cluster_close_handle(c);
	return EXIT_SUCCESS;
}

int remote_resize(const char *url, int64_t capacity)
{
	weir_cluster *c = open_for(url, "weir resize");
	int64_t debt = 0;
	weir_err err = remote_api.weir_cluster_resize(c, capacity, &debt);

	if (!err && debt)
		cmd_message("%s: %lld held above the new capacity; nothing is "
			    "granted until that many are released",
			    remote_display(url), (long long)debt);
	return end(url, c, err);
}

int remote_pause(const char *url, bool pause)
{
	weir_cluster *c = open_for(url, pause ? "weir pause" : "weir resume");

	return end(url, c, pause ? remote_api.weir_cluster_pause(c) :
				   remote_api.weir_cluster_resume(c));
}

int remote_close(const char *url, int64_t drain_ns)
{
	weir_cluster *c = open_for(url, "weir close");
	weir_err err = remote_api.weir_cluster_close(c, WEIR_CLOSE_NOW);
	weir_ctx ctx;

	if (err || drain_ns < 0)
		return end(url, c, err);
	(void)!weir_ctx_init(&ctx, NULL, weir_deadline_after(drain_ns));
	err = remote_api.weir_cluster_wait_idle(c, &ctx);
	if (err == WEIR_ETIMEDOUT)
		cmd_die(EXIT_TIMEOUT, "%s: permits are still held",
			remote_display(url));
	return end(url, c, err);
}

int remote_rm(const char *url)
{
	weir_cluster *c = open_for(url, "weir rm");
	weir_err err = remote_api.weir_cluster_unlink(c);

	if (err == WEIR_EBUSY)
		cmd_die(EXIT_BUSY, "%s: in use", remote_display(url));
	return end(url, c, err);
}
