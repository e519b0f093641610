/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HTTP_CONNECTIONS_H
#define WEIR_CMD_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct MHD_Connection;

/* The most connections at a time, and how long each may take. */
#define CONNECTIONS 32
#define CONNECTION_LIFE_NS INT64_C(10000000000)

/* Called when a connection has begun. */
void connections_add(struct MHD_Connection *handle, int fd);

/* Called when a connection has ended. */
void connections_remove(const struct MHD_Connection *handle);

/* Returns the number of open connections. */
int connections_used(void);

/*
 * Shut down the connections that are too old; libmicrohttpd then closes them.
 * Returns the time of the next call; INT64_MAX if there is no connection.
 */
int64_t connections_shut_old(int64_t now_ns);

#endif /* WEIR_CMD_HTTP_CONNECTIONS_H */
