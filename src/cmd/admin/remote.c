/* SPDX-License-Identifier: MIT */
/* Administration of semaphores between machines. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/admin/remote.h"
#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/remote_acquire.h"
#include "cmd/lib/remote_snapshot.h"

/* The pause before another attempt to remove a semaphore that was idle. */
#define RETRY_NS 20000000

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

static int in_use(const char *url, weir_cluster *c, int status)
{
	char room[HOLDER_ROOM];
	const char *holder = remote_describe_holder(c, room);

	cmd_message("%s: in use%s%s", remote_display(url), *holder ? "; " : "",
		    holder);
	return status;
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

	if (err || drain_ns < 0)
		return end(url, c, err);
	err = remote_wait_idle(c, drain_ns);
	if (err == WEIR_ETIMEDOUT)
		return in_use(url, c, EXIT_TIMEOUT);
	return end(url, c, err);
}

int remote_rm(const char *url)
{
	weir_cluster *c = open_for(url, "weir rm");
	weir_err err = remote_api.weir_cluster_unlink(c);

	if (err == WEIR_EBUSY)
		return in_use(url, c, EXIT_BUSY);
	return end(url, c, err);
}

/*
 * A closed semaphore stays closed (C19), so a new semaphore takes its name when
 * no permit of the old one is held.
 */
static int replace_closed(const char *url, weir_cluster *c, int64_t capacity,
			  int64_t timeout_ns)
{
	weir_cluster_opts opts = { .capacity = capacity, .label = "weir open",
				   .flags = WEIR_CLUSTER_CREATE };
	weir_ctx ctx;
	weir_err err;

	/* Close at once: a drain close would still grant to waiters. */
	err = remote_api.weir_cluster_close(c, WEIR_CLOSE_NOW);
	if (err)
		return end(url, c, err);
	err = remote_api.weir_cluster_unlink(c);
	if (err == WEIR_EBUSY) {
		err = weir_ctx_init(&ctx, NULL, timeout_ns == WEIR_FOREVER ?
				    WEIR_FOREVER :
				    weir_deadline_after(timeout_ns));
		/* Another call may wait for idle and not have ended yet. */
		while (!err) {
			err = remote_api.weir_cluster_wait_idle(c, &ctx);
			if (err)
				break;
			err = remote_api.weir_cluster_unlink(c);
			if (err != WEIR_EBUSY)
				break;
			err = weir_ctx_wait(&ctx, weir_deadline_after(RETRY_NS));
			if (err == WEIR_EAGAIN)
				err = WEIR_OK;
		}
	}
	if (err == WEIR_ETIMEDOUT)
		return in_use(url, c, EXIT_TIMEOUT);
	/* Another command has removed the old semaphore. */
	if (err == WEIR_ESYSTEM && errno == ENOENT)
		err = WEIR_OK;
	(void)end(url, c, err);
	c = remote_open(url, &opts);
	remote_warn_capacity(url, c, capacity);
	return end(url, c, WEIR_OK);
}

int remote_open_semaphore(const struct cmd *self, const char *name,
			  int64_t capacity, int64_t timeout_ns, bool nested)
{
	weir_cluster_opts opts = {
		.capacity = capacity < 0 ? 0 : capacity, .label = "weir open",
		.flags = capacity < 0 ? 0 : WEIR_CLUSTER_CREATE,
	};
	const char *url = remote_url(name);
	weir_cluster *c = remote_open_or_create(url, &opts);
	weir_cluster_info info;
	weir_err err = remote_api.weir_cluster_stat(c, &info, NULL, 0);

	if (err)
		return end(url, c, err);
	if (!info.closed) {
		if (capacity >= 0)
			remote_warn_capacity(url, c, capacity);
		return end(url, c, WEIR_OK);
	}
	if (!nested)
		env_refuse_held(self, name);
	return replace_closed(url, c, capacity < 0 ? info.capacity : capacity,
			      timeout_ns);
}
