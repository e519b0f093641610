/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_EXPORT_SERVERS_H
#define WEIR_CMD_EXPORT_SERVERS_H

/*
 * Source: the semaphores of servers (libweir-cluster).
 *
 *     servers.c   the list, the child processes, their limit of time
 *     client.c    a child process: reads one server
 *     url.c       the label of a server
 */
#include <stddef.h>

#include "cmd/export/metrics.h"
#include "cmd/export/sums.h"

/* The most semaphores of a server that are shown. */
#define SERVERS_NAMES 1000u

/*
 * Add the URL of a server or of a semaphore, which lives until the exit.  It is
 * that of a server if `is_server`, or if no name is in it.  A semaphore is read
 * once, also if it was added twice, or if its server was added, too.
 */
void servers_add(const char *url, bool is_server);
/* Exit with a message if there are servers, and libweir-cluster is missing. */
void servers_load(void);
/*
 * Exit with a message if a URL is not valid.  The library says so before it
 * connects, so this takes a moment only.
 */
void servers_check(void);
/* Begin to read all servers. */
void servers_start(void);
/*
 * Add the semaphores of the servers.  A server that has not answered at `end_ns`,
 * or now if that is later, is given up.  Requires: servers_start was called.
 */
void servers_finish(struct metrics *m, int64_t end_ns);
/* Instead of servers_finish: give up all servers. */
void servers_stop(void);

/* A child process writes records to its standard output, one for a semaphore. */
struct client_record {
	char name[WEIR_NAMED_NAME_MAX + 1];
	bool is_unreadable;	/* there is nothing but the name */
	bool is_end;		/* the server was read completely; `left_out` */
	size_t left_out;	/* semaphores above SERVERS_NAMES */
	struct sums sums;
};

/* Read the server, and exit.  Messages go to standard error. */
_Noreturn void client_run(const char *url, bool is_server);

/*
 * Returns the label of the server of a URL, such as "redis://host:6379": without
 * user, password, name and options, except db.  Lives until the exit.
 */
const char *url_label(const char *url, bool is_server);
/* Write the name in a URL; "" if it is the URL of a server. */
void url_name(const char *url, bool is_server, char *to, size_t size);

#endif /* WEIR_CMD_EXPORT_SERVERS_H */
