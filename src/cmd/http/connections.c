/* SPDX-License-Identifier: MIT */
/*
 * The open connections.  A client cannot keep others out.  Each connection is
 * closed after CONNECTION_LIFE_NS, however busy it is.  If all connections are
 * in use, those older than FULL_LIFE_NS are closed, and the next clients take
 * their places.
 */
#include "cmd/http/connections.h"

#include <stddef.h>
#include <sys/socket.h>

#include "weir/base.h"

#define FULL_LIFE_NS INT64_C(1000000000)

static struct connection {
	struct MHD_Connection *handle;	/* null: unused */
	int fd;
	bool is_shut;
	int64_t since_ns;
} connections[CONNECTIONS];

static struct connection *find(const struct MHD_Connection *handle)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (connections[i].handle == handle)
			return &connections[i];
	return NULL;
}

void connections_add(struct MHD_Connection *handle, int fd)
{
	struct connection *unused = find(NULL);

	if (unused)
		*unused = (struct connection){
			.handle = handle, .fd = fd, .since_ns = weir_now_ns()
		};
}

void connections_remove(const struct MHD_Connection *handle)
{
	struct connection *connection = find(handle);

	if (connection)
		connection->handle = NULL;
}

int connections_used(void)
{
	int count = 0;

	for (int i = 0; i < CONNECTIONS; i++)
		count += connections[i].handle != NULL;
	return count;
}

int64_t connections_shut_old(int64_t now_ns)
{
	int64_t next = INT64_MAX;
	int64_t life = connections_used() == CONNECTIONS ?
			       FULL_LIFE_NS : CONNECTION_LIFE_NS;

	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &connections[i];
		int64_t end = connection->since_ns + life;

		if (!connection->handle || connection->is_shut)
			continue;
		if (end <= now_ns) {
			(void)shutdown(connection->fd, SHUT_RDWR);
			connection->is_shut = true;
		} else if (end < next) {
			next = end;
		}
	}
	return next;
}
