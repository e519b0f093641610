/* SPDX-License-Identifier: MIT */
/* Looking at semaphores between machines: stat, doctor, wait. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/inspect/remote.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/text.h"
#include "weir/ctx.h"

static void convert(const weir_cluster_entry *from, int64_t now_ms,
		    weir_named_entry *to)
{
	static const weir_named_role roles[] = {
		[WEIR_CLUSTER_HOLDS] = WEIR_NAMED_HOLDS,
		[WEIR_CLUSTER_WAITS] = WEIR_NAMED_WAITS,
		[WEIR_CLUSTER_OVERSIZED] = WEIR_NAMED_OVERSIZED,
		[WEIR_CLUSTER_IDLE] = WEIR_NAMED_IDLE,
	};

	memset(to, 0, sizeof(*to));
	to->role = roles[from->role];
	to->pid = from->pid;
	to->id = from->fence;
	to->weight = from->weight;
	to->since_ns = weir_now_ns() - (now_ms - from->since_ms) * 1000000;
	to->place = from->place;
	to->mine = from->mine;
	(void)snprintf(to->label, sizeof(to->label), "%.24s: %.36s", from->host,
		       from->label);
}

void remote_snapshot(const char *url, weir_named_info *info,
		     weir_named_entry **entries)
{
	weir_cluster_opts opts = { .label = "weir stat" };
	weir_cluster *c = remote_open(url, &opts);
	weir_cluster_entry *list = NULL;
	weir_cluster_info remote;
	uint32_t room = 0;
	weir_err err;

	while (!(err = remote_api.weir_cluster_stat(c, &remote, list, room)) &&
	       remote.entries > room && room < 7000) {
		room = remote.entries + 64;
		list = memory_realloc(list, room * sizeof(*list));
	}
	if (err)
		remote_fail(url, c, err);
	memset(info, 0, sizeof(*info));
	info->capacity = remote.capacity;
	info->free = remote.free;
	info->held = remote.held;
	info->debt = remote.debt;
	info->waiting_permits = remote.waiting_permits;
	info->waiters = remote.waiters;
	info->oversized = remote.oversized;
	info->closed = remote.closed;
	info->paused = remote.paused;
	info->entries = remote.entries < room ? remote.entries : room;
	*entries = memory_realloc(NULL, (info->entries + 1) *
				  sizeof(**entries));
	for (uint32_t i = 0; list && i < info->entries; i++)
		convert(&list[i], remote.now_ms, &(*entries)[i]);
	free(list);
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

int remote_wait(const char *url, int64_t timeout_ns, int timeout_status)
{
	weir_cluster_opts opts = { .label = "weir wait",
				   .flags = WEIR_CLUSTER_INTERRUPTIBLE };
	weir_cluster *c = remote_open(url, &opts);
	weir_ctx ctx;
	weir_err err;

	(void)!weir_ctx_init(&ctx, NULL, timeout_ns == WEIR_FOREVER ?
			     WEIR_FOREVER : weir_deadline_after(timeout_ns));
	err = remote_api.weir_cluster_wait_idle(c, &ctx);
	if (err == WEIR_ETIMEDOUT) {
		cmd_message("%s: not idle in time", remote_display(url));
		return timeout_status;
	}
	if (err)
		remote_fail(url, c, err);
	(void)!remote_api.weir_cluster_close_handle(c);
	return EXIT_SUCCESS;
}
