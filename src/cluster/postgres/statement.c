/* SPDX-License-Identifier: MIT */
/* Sending statements and reading tables, with deadlines. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "cluster/clock.h"
#include "cluster/postgres/conn.h"

void weir_cl_pg_query_(struct query *q, enum statement statement,
		       const char *sql)
{
	q->statement = statement;
	q->sql = sql;
	q->count = q->used = 0;
}

void weir_cl_pg_text_(struct query *q, const char *text)
{
	q->values[q->count++] = text;
}

void weir_cl_pg_number_(struct query *q, int64_t number)
{
	char *text = q->numbers[q->used++];

	(void)snprintf(text, sizeof(q->numbers[0]), "%lld", (long long)number);
	weir_cl_pg_text_(q, text);
}

/* Write the bytes that libpq has not written yet. */
static bool flush(const struct conn *conn, int64_t deadline)
{
	for (;;) {
		int left = PQflush(conn->pg);

		if (left <= 0)
			return !left;
		/* The server may want its answers to be read first. */
		if (!weir_cl_pg_poll_(conn->pg, POLLIN | POLLOUT, deadline) ||
		    !PQconsumeInput(conn->pg))
			return false;
	}
}

/*
 * Read all results of a statement.  *out is the last table, or the first error,
 * or null.
 */
static enum result receive(struct conn *conn, PGresult **out, int64_t deadline,
			   struct fault *fault)
{
	PGresult *next;

	*out = NULL;
	for (;;) {
		while (PQisBusy(conn->pg)) {
			if (!weir_cl_pg_poll_(conn->pg, POLLIN, deadline)) {
				PQclear(*out);
				return weir_cl_pg_broken_(conn, RES_UNKNOWN,
							  errno, fault);
			}
			if (!PQconsumeInput(conn->pg)) {
				PQclear(*out);
				return weir_cl_pg_broken_(conn, RES_UNKNOWN,
							  ECONNRESET, fault);
			}
		}
		next = PQgetResult(conn->pg);
		if (!next)
			return RES_OK;
		if (*out && PQresultStatus(*out) == PGRES_FATAL_ERROR) {
			PQclear(next);
		} else {
			PQclear(*out);
			*out = next;
		}
	}
}

/* Interpret the result.  Clears it unless it is a table. */
static enum result judge(struct conn *conn, PGresult **table,
			 struct fault *fault)
{
	ExecStatusType status = PQresultStatus(*table);
	const char *state, *text;
	enum result result;

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return RES_OK;
	state = *table ? PQresultErrorField(*table, PG_DIAG_SQLSTATE) : NULL;
	text = state ? PQresultErrorField(*table, PG_DIAG_MESSAGE_PRIMARY) :
	       NULL;
	if (state) {
		result = weir_cl_pg_error_(state, text ? text : state, fault);
	} else if (PQstatus(conn->pg) == CONNECTION_BAD) {
		result = weir_cl_pg_broken_(conn, RES_UNKNOWN, ECONNRESET,
					    fault);
	} else {
		result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
					"the server's answer is not understood");
	}
	PQclear(*table);
	*table = NULL;
	/* Close a connection that ends, or that leads to a standby. */
	if (conn->pg && (PQstatus(conn->pg) == CONNECTION_BAD ||
			 fault->errnum == EROFS || fault->errnum == ECONNRESET))
		weir_cl_pg_close_(conn);
	return result;
}

/* Finish a statement that libpq sends; `sent` is false if that failed. */
static enum result finish(struct conn *conn, int sent, PGresult **out,
			  int64_t deadline, struct fault *fault)
{
	enum result result;

	if (!sent || !flush(conn, deadline))
		return weir_cl_pg_broken_(conn, RES_UNKNOWN,
					  errno == ETIMEDOUT ? ETIMEDOUT :
					  ECONNRESET, fault);
	result = receive(conn, out, deadline, fault);
	return result ? result : judge(conn, out, fault);
}

static const char *name_of(enum statement statement)
{
	static const char *const names[STATEMENTS] = { "a", "r", "n", "l" };

	return names[statement];
}

static int send_query(struct conn *conn, const struct query *q)
{
	errno = 0;
	if (q->statement != DO_ONCE && conn->uses[q->statement] == 2)
		return PQsendQueryPrepared(conn->pg, name_of(q->statement),
					   q->count, q->values, NULL, NULL, 0);
	return PQsendQueryParams(conn->pg, q->sql, q->count, NULL, q->values,
				 NULL, NULL, 0);
}

/* Prepare a statement when it is used for the second time. */
static enum result prepare(struct conn *conn, const struct query *q,
			   int64_t deadline, struct fault *fault)
{
	PGresult *none;
	enum result result;

	if (q->statement == DO_ONCE || conn->uses[q->statement] == 2)
		return RES_OK;
	if (!conn->uses[q->statement]) {
		conn->uses[q->statement] = 1;
		return RES_OK;
	}
	errno = 0;
	result = finish(conn, PQsendPrepare(conn->pg, name_of(q->statement),
					    q->sql, 0, NULL), &none, deadline,
			fault);
	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	PQclear(none);
	conn->uses[q->statement] = 2;
	return RES_OK;
}

enum result weir_cl_pg_run_(struct conn *conn, struct query *q, PGresult **out,
			    int64_t deadline, struct fault *fault)
{
	int hosts = conn->session->url.host_count;
	int64_t now = boot_now();
	enum result result;

	*out = NULL;
	/* The rest is for a repetition, which goes to the next host. */
	if (hosts > 1)
		deadline = now + (deadline - now) / 2;
	result = weir_cl_pg_open_(conn, deadline, fault);
	if (result)
		return result;
	result = prepare(conn, q, deadline, fault);
	if (!result)
		result = finish(conn, send_query(conn, q), out, deadline,
				fault);
	if (result && fault->errnum == ETIMEDOUT)
		conn->host = (conn->host + 1) % hosts;
	if (result || (PQresultStatus(*out) == PGRES_TUPLES_OK &&
		       PQnfields(*out) >= 1))
		return result;
	PQclear(*out);
	*out = NULL;
	return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
			      "the server's answer is not understood");
}

enum result weir_cl_pg_script_(struct conn *conn, const char *sql,
			       PGresult **out, int64_t deadline,
			       struct fault *fault)
{
	PGresult *last;
	enum result result;

	errno = 0;
	result = finish(conn, PQsendQuery(conn->pg, sql), &last, deadline,
			fault);
	if (result)
		return result;
	if (out)
		*out = last;
	else
		PQclear(last);
	return RES_OK;
}

enum result weir_cl_pg_send_(struct conn *conn, struct query *q,
			     int64_t deadline, struct fault *fault)
{
	if (send_query(conn, q) && flush(conn, deadline))
		return RES_OK;
	return weir_cl_pg_broken_(conn, RES_UNKNOWN, ECONNRESET, fault);
}
