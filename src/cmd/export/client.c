/* SPDX-License-Identifier: MIT */
/*
 * A child process of weir export: reads one server.
 *
 * A server may be silent, and so may the server of its name, for which no library
 * has a limit of time.  The parent gives up a child that takes too long, and ends
 * it.  So no server delays the others, and none makes the exporter exit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/export/servers.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/remote_names.h"
#include "cmd/lib/remote_snapshot.h"

static struct client_record record;

/* A record of a pipe: it is written as a whole, or the child ends. */
static void send_record(void)
{
	const char *from = (const char *)&record;
	size_t left = sizeof(record);

	while (left) {
		ssize_t n = write(STDOUT_FILENO, from, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(EXIT_WEIR);
		from += n;
		left -= (size_t)n;
	}
	memset(&record, 0, sizeof(record));
}

static weir_err read_one(weir_cluster *c, void *unused)
{
	weir_named_entry *entries;
	weir_named_info info;
	weir_err err = remote_snapshot_read(c, &info, &entries);

	(void)unused;
	if (!err) {
		sums_make(&record.sums, &info, entries);
		/* The server may have more entries than it lists. */
		if (record.sums.waiters < info.waiters)
			record.sums.waiters = info.waiters;
		if (record.sums.waiting_permits < info.waiting_permits)
			record.sums.waiting_permits = info.waiting_permits;
	}
	free(entries);
	return err;
}

static void send_one(const char *name, const char *url, const char *why,
		     void *unused)
{
	(void)url;
	(void)unused;
	(void)snprintf(record.name, sizeof(record.name), "%s", name);
	record.is_unreadable = why;
	send_record();
}

static void read_semaphore(const char *url, const char *name)
{
	weir_cluster_opts opts = { .label = "weir export" };
	weir_cluster *c = remote_open_existing(url, &opts);
	weir_err err;

	if (!c) {
		cmd_message("%s: the semaphore does not exist",
			    remote_display(url));
		send_one(name, url, "", NULL);
		return;
	}
	err = read_one(c, NULL);
	if (err)
		remote_fail(url, c, err);
	send_one(name, url, NULL, NULL);
	(void)!remote_api.weir_cluster_close_handle(c);
}

void client_run(const char *url, bool is_server)
{
	char name[sizeof(record.name)];
	size_t left_out = 0;

	url_name(url, is_server, name, sizeof(name));
	if (*name)
		read_semaphore(url, name);
	else
		left_out = remote_names_each(url, SERVERS_NAMES, read_one,
					     send_one, NULL);
	record.is_end = true;
	record.left_out = left_out;
	send_record();
	_exit(EXIT_SUCCESS);
}
