/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_POSTGRES_CONN_H
#define WEIR_CLUSTER_POSTGRES_CONN_H

/* A connection to a PostgreSQL server: libpq without blocking calls. */
#include <libpq-fe.h>

#include "cluster/engine.h"

#define CONN_VALUES 9

enum conn_kind {
	/* These show the server that the handle lives. */
	CONN_LANE,
	CONN_LIFE,	/* stays open if an answer is late */
	CONN_GUARD
};

/* Statements; a connection prepares a statement at its second use. */
enum statement { DO_ACQUIRE, DO_RELEASE, DO_RENEW, DO_LOOK, STATEMENTS,
		 DO_ONCE = -1 };

struct conn {
	const struct session *session;
	enum conn_kind kind;
	PGconn *pg;		/* null: not connected */
	int host;		/* index of the host that is tried next */
	unsigned char uses[STATEMENTS];	/* 0: none, 1: one, 2: prepared */
};

/* An SQL statement with its parameters; values are NUL-terminated texts. */
struct query {
	enum statement statement;
	const char *sql;
	const char *values[CONN_VALUES];
	int count;
	char numbers[4][24];
	int used;
};

void weir_cl_pg_init_(struct conn *conn, const struct session *session,
		      enum conn_kind kind);
void weir_cl_pg_close_(struct conn *conn);
/* Connect and authenticate, if necessary. */
enum result weir_cl_pg_open_(struct conn *conn, int64_t deadline,
			     struct fault *fault);

/*
 * Record the failure of a connection and close it.  Life stays open if its
 * answer is late, but it cannot be used any more.  Returns result.
 */
enum result weir_cl_pg_broken_(struct conn *conn, enum result result,
			       int errnum, struct fault *fault);
/* Poll the socket.  Returns false with errno after the deadline. */
bool weir_cl_pg_poll_(const PGconn *pg, short events, int64_t deadline);

/* statement.c */
void weir_cl_pg_query_(struct query *q, enum statement statement,
		       const char *sql);
void weir_cl_pg_text_(struct query *q, const char *text);
void weir_cl_pg_number_(struct query *q, int64_t number);

/*
 * Run the query; connect first if necessary.  If the result is RES_OK, then
 * *out is a table that belongs to the caller.  If the answer is not complete in
 * time, then the connection has failed: see weir_cl_pg_broken_.
 */
enum result weir_cl_pg_run_(struct conn *conn, struct query *q, PGresult **out,
			    int64_t deadline, struct fault *fault);
/*
 * Run the statements of a text as one transaction.  *out is the last table; out
 * may be null.
 */
enum result weir_cl_pg_script_(struct conn *conn, const char *sql,
			       PGresult **out, int64_t deadline,
			       struct fault *fault);
/* Send the query without reading.  Requires: the connection is open. */
enum result weir_cl_pg_send_(struct conn *conn, struct query *q,
			     int64_t deadline, struct fault *fault);

/* error.c */
/* Translate an SQLSTATE.  text: the server's message. */
enum result weir_cl_pg_error_(const char *sqlstate, const char *text,
			      struct fault *fault);
/* Translate the message of a connection that could not be opened. */
enum result weir_cl_pg_connect_error_(const char *text, struct fault *fault);

#endif /* WEIR_CLUSTER_POSTGRES_CONN_H */
