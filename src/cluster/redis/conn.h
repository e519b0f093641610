/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_REDIS_CONN_H
#define WEIR_CLUSTER_REDIS_CONN_H

/* A connection to a Redis server. */
#include "cluster/net.h"
#include "cluster/redis/command.h"
#include "cluster/redis/reply.h"

struct conn {
	const struct session *session;
	struct net net;
	struct reader *reader;	/* null: not connected */
	int host;		/* index of the host that is tried next */
	struct url_host peer;	/* of the last connection */
	struct url_host moved;	/* where Redis Cluster redirects; or empty */
	char out[2048];		/* commands that are being sent */
};

void weir_cl_conn_init_(struct conn *conn, const struct session *session);
void weir_cl_conn_close_(struct conn *conn);

/*
 * Send the commands in one write and read one reply for each.  Connects and
 * authenticates first if necessary.  If the result is RES_OK, then replies[]
 * belongs to the caller; a reply may be an error.  On a failure the connection
 * is closed.
 */
enum result weir_cl_conn_call_(struct conn *conn,
			       const struct command *commands, int count,
			       struct reply **replies, int64_t deadline,
			       struct fault *fault);
/* Connect and authenticate, if necessary. */
enum result weir_cl_conn_open_(struct conn *conn, int64_t deadline,
			       struct fault *fault);
/* Send without reading; read one reply. */
enum result weir_cl_conn_send_(struct conn *conn,
			       const struct command *commands, int count,
			       int64_t deadline, struct fault *fault);
enum result weir_cl_conn_receive_(struct conn *conn, struct reply **reply,
				  int64_t deadline, struct fault *fault);
/* Read one reply without waiting.  *reply is null if none has arrived yet. */
enum result weir_cl_conn_arrived_(struct conn *conn, struct reply **reply,
				  struct fault *fault);

/*
 * Translate an error reply.  *reload: the script is not loaded.  If the server
 * is a replica or redirects, closes the connection; the next call connects to
 * another server.
 */
enum result weir_cl_conn_error_(struct conn *conn, const char *text,
				bool *reload, struct fault *fault);

#endif /* WEIR_CLUSTER_REDIS_CONN_H */
