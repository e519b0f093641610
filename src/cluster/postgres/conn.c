/* SPDX-License-Identifier: MIT */
/* Connecting, sending statements and reading tables, with deadlines. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/postgres/conn.h"

static void discard_notice(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

void weir_cl_pg_init_(struct conn *conn, const struct session *session,
		      enum conn_kind kind)
{
	memset(conn, 0, sizeof(*conn));
	conn->session = session;
	conn->kind = kind;
}

void weir_cl_pg_close_(struct conn *conn)
{
	if (conn->pg)
		PQfinish(conn->pg);
	conn->pg = NULL;
	memset(conn->uses, 0, sizeof(conn->uses));
}

/* Close the connection.  Returns result. */
static enum result broken(struct conn *conn, enum result result, int errnum,
			  struct fault *fault)
{
	const char *text = errnum == ETIMEDOUT ? "the server does not answer" :
			   PQerrorMessage(conn->pg);

	(void)weir_cl_fault_(fault, result, errnum, "%.*s",
			     (int)strcspn(text, "\r\n"),
			     *text ? text : "the connection was lost");
	weir_cl_pg_close_(conn);
	return result;
}

/* Poll the socket.  Returns false with errno after the deadline. */
static bool wait_for(const PGconn *pg, short events, int64_t deadline)
{
	struct pollfd socket = { .fd = PQsocket(pg), .events = events };

	for (;;) {
		int ready = poll(&socket, 1, boot_poll_ms(deadline));

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
		if (!ready && boot_now() >= deadline) {
			errno = ETIMEDOUT;
			return false;
		}
	}
}

/*
 * Settings of the server's side.  A vanished client must keep its connection
 * for the TTL, because its lease may be valid until then; so the timeouts of TCP
 * are not shorter.  A plan that was made while a table was empty must use the
 * index as well.
 */
static void set_options(const struct conn *conn, char *out, size_t size)
{
	const struct session *s = conn->session;
	int64_t ttl_ms = s->ttl_ns / 1000000, limit_ms = s->timeout_ns / 1000000;
	bool guard = conn->kind == CONN_GUARD;

	(void)snprintf(out, size, "-c jit=off -c enable_seqscan=off "
		       "-c plan_cache_mode=force_generic_plan "
		       "-c search_path=pg_catalog "
		       "-c default_transaction_isolation=read\\ committed "
		       "-c default_transaction_read_only=off "
		       "-c idle_in_transaction_session_timeout=0 "
		       "-c statement_timeout=%lld -c lock_timeout=%d "
		       "-c tcp_user_timeout=%lld -c tcp_keepalives_idle=%lld "
		       "-c tcp_keepalives_interval=5 -c tcp_keepalives_count=3",
		       guard ? 0LL : (long long)limit_ms + 1,
		       guard ? 100 : 0, (long long)ttl_ms + 1000,
		       (long long)(ttl_ms / 1000 + 1));
}

/* Start to connect.  Returns null if memory is exhausted. */
static PGconn *start(const struct conn *conn, const struct url_host *host)
{
	const struct url *url = &conn->session->url;
	char options[640], limit[24];
	const char *keys[20], *values[20];
	int count = 0;

	set_options(conn, options, sizeof(options));
	(void)snprintf(limit, sizeof(limit), "%lld",
		       (long long)(conn->session->timeout_ns / 1000000 + 1));
#define PARAMETER(key, value)                                                  \
	do {                                                                   \
		keys[count] = (key);                                           \
		values[count++] = (value);                                     \
	} while (0)
	PARAMETER("host", host->name);
	if (host->port[0])
		PARAMETER("port", host->port);
	if (url->user[0])
		PARAMETER("user", url->user);
	if (url->password[0])
		PARAMETER("password", url->password);
	if (url->database[0])
		PARAMETER("dbname", url->database);
	if (url->ca[0]) {
		PARAMETER("sslrootcert", url->ca);
		PARAMETER("sslmode", "verify-full");
	}
	if (url->sslmode[0])
		PARAMETER("sslmode", url->sslmode);
	PARAMETER("application_name", conn->kind == CONN_GUARD ?
		  "weir guard" : "weir");
	PARAMETER("options", options);
	PARAMETER("client_encoding", "UTF8");
	PARAMETER("keepalives_idle", "10");
	PARAMETER("keepalives_interval", "5");
	PARAMETER("keepalives_count", "3");
	PARAMETER("tcp_user_timeout", limit);
	PARAMETER(NULL, NULL);
#undef PARAMETER
	return PQconnectStartParams(keys, values, 0);
}

static enum result connect_to(struct conn *conn, const struct url_host *host,
			      int64_t deadline, struct fault *fault)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	enum result result;

	conn->pg = start(conn, host);
	if (!conn->pg)
		return weir_cl_fault_(fault, RES_UNSENT, ENOMEM, "out of memory");
	(void)PQsetNoticeReceiver(conn->pg, discard_notice, NULL);
	/* Messages then contain the SQLSTATE. */
	(void)PQsetErrorVerbosity(conn->pg, PQERRORS_VERBOSE);
	if (PQstatus(conn->pg) == CONNECTION_BAD)
		status = PGRES_POLLING_FAILED;
	while (status == PGRES_POLLING_READING ||
	       status == PGRES_POLLING_WRITING) {
		if (!wait_for(conn->pg, status == PGRES_POLLING_READING ?
			      POLLIN : POLLOUT, deadline))
			return broken(conn, RES_UNSENT, errno, fault);
		status = PQconnectPoll(conn->pg);
	}
	if (status == PGRES_POLLING_OK && !PQsetnonblocking(conn->pg, 1)) {
		(void)PQsetErrorVerbosity(conn->pg, PQERRORS_DEFAULT);
		return RES_OK;
	}
	result = weir_cl_pg_connect_error_(PQerrorMessage(conn->pg), fault);
	weir_cl_pg_close_(conn);
	return result;
}

/* Check the server's answer about the connection. */
static enum result check_server(const struct conn *conn, const PGresult *table,
				struct fault *fault)
{
	if (PQntuples(table) != 1 || PQnfields(table) < 2)
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "the server's answer is not understood");
	if (*PQgetvalue(table, 0, 1) != 'f')
		return weir_cl_fault_(fault, RES_UNSENT, EROFS,
				      "the server is a standby");
	/* A pooler invents the number that the client gets. */
	if (atoi(PQgetvalue(table, 0, 0)) != PQbackendPID(conn->pg))
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "a connection pooler is between: connect "
				      "to the server itself");
	return RES_OK;
}

/*
 * Show that the handle lives: see weir.guard in weir.sql.  Both keys are made
 * of the session.
 */
static enum result introduce(struct conn *conn, int64_t deadline,
			     struct fault *fault)
{
	uint64_t session = strtoull(conn->session->id, NULL, 16);
	const char *idle = PQserverVersion(conn->pg) >= 140000 ?
			   "SET idle_session_timeout = 0; "
			   "SET client_connection_check_interval = 0; " : "";
	char sql[512];
	PGresult *table;
	enum result result;

	if (PQserverVersion(conn->pg) < 130000)
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "the server is older than version 13");
	if (conn->kind == CONN_GUARD)
		(void)snprintf(sql, sizeof(sql), "%sSELECT pg_backend_pid(), "
			       "pg_is_in_recovery()", idle);
	else
		(void)snprintf(sql, sizeof(sql), "%sSELECT pg_backend_pid(), "
			       "pg_is_in_recovery(), "
			       "pg_advisory_lock((%lld::bigint << 32) | "
			       "pg_backend_pid()), "
			       "pg_advisory_lock_shared(%d, %d)", idle,
			       (long long)(session >> 32),
			       (int)(int32_t)(session >> 32),
			       (int)(int32_t)session);
	result = weir_cl_pg_script_(conn, sql, &table, deadline, fault);
	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	result = check_server(conn, table, fault);
	PQclear(table);
	return result;
}

enum result weir_cl_pg_open_(struct conn *conn, int64_t deadline,
			     struct fault *fault)
{
	const struct url *url = &conn->session->url;
	enum result result = RES_UNSENT;

	if (conn->pg && PQstatus(conn->pg) == CONNECTION_OK)
		return RES_OK;
	weir_cl_pg_close_(conn);
	for (int i = url->host_count; i > 0 && result == RES_UNSENT; i--) {
		int64_t now = boot_now();
		int64_t until = now + (deadline - now) / i;

		result = connect_to(conn, &url->hosts[conn->host], until,
				    fault);
		if (!result)
			result = introduce(conn, until, fault);
		if (result) {
			weir_cl_pg_close_(conn);
			conn->host = (conn->host + 1) % url->host_count;
		}
	}
	return result;
}

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

/* Write what libpq has not written yet. */
static bool flush(const struct conn *conn, int64_t deadline)
{
	for (;;) {
		int left = PQflush(conn->pg);

		if (left <= 0)
			return !left;
		/* The server may want its answers to be read first. */
		if (!wait_for(conn->pg, POLLIN | POLLOUT, deadline) ||
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
			if (!wait_for(conn->pg, POLLIN, deadline)) {
				PQclear(*out);
				return broken(conn, RES_UNKNOWN, errno, fault);
			}
			if (!PQconsumeInput(conn->pg)) {
				PQclear(*out);
				return broken(conn, RES_UNKNOWN, ECONNRESET,
					      fault);
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
		result = broken(conn, RES_UNKNOWN, ECONNRESET, fault);
	} else {
		result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
					"the server's answer is not understood");
	}
	PQclear(*table);
	*table = NULL;
	/* A standby, or a connection that ends, is of no use. */
	if (conn->pg && (PQstatus(conn->pg) == CONNECTION_BAD ||
			 fault->errnum == EROFS || fault->errnum == ECONNRESET))
		weir_cl_pg_close_(conn);
	return result;
}

/* Finish a statement that was handed to libpq. */
static enum result finish(struct conn *conn, int sent, PGresult **out,
			  int64_t deadline, struct fault *fault)
{
	enum result result;

	if (!sent || !flush(conn, deadline))
		return broken(conn, RES_UNKNOWN, errno == ETIMEDOUT ?
			      ETIMEDOUT : ECONNRESET, fault);
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
	enum result result = weir_cl_pg_open_(conn, deadline, fault);

	*out = NULL;
	if (!result)
		result = prepare(conn, q, deadline, fault);
	if (result)
		return result;
	result = finish(conn, send_query(conn, q), out, deadline, fault);
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
	return broken(conn, RES_UNKNOWN, ECONNRESET, fault);
}
