/* SPDX-License-Identifier: MIT */
/* Connecting and introducing the connection to the server, with deadlines. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

enum result weir_cl_pg_broken_(struct conn *conn, enum result result,
			       int errnum, struct fault *fault)
{
	const char *text = errnum == ETIMEDOUT ? "the server does not answer" :
			   PQerrorMessage(conn->pg);

	(void)weir_cl_fault_(fault, result, errnum, "%.*s",
			     (int)strcspn(text, "\r\n"),
			     *text ? text : "the connection was lost");
	if (conn->kind != CONN_LIFE || errnum != ETIMEDOUT)
		weir_cl_pg_close_(conn);
	return result;
}

bool weir_cl_pg_poll_(const PGconn *pg, short events, int64_t deadline)
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
 * Write the settings for the server's side.  The server must keep the
 * connection of a vanished client for the TTL, because the client's lease may
 * be valid until then; so the timeouts of TCP are not shorter.  Sequential
 * scans are off, so that a plan that was made while a table was empty uses the
 * index, too.
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

/*
 * Start to connect.  address: a numeric one of the host, or null.  Returns null
 * if memory is exhausted.
 */
static PGconn *start(const struct conn *conn, const struct url_host *host,
		     const char *address)
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
	if (address)
		PARAMETER("hostaddr", address);
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

static enum result connect_at(struct conn *conn, const struct url_host *host,
			      const char *address, int64_t deadline,
			      struct fault *fault)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	enum result result;

	conn->pg = start(conn, host, address);
	if (!conn->pg)
		return weir_cl_fault_(fault, RES_UNSENT, ENOMEM, "out of memory");
	(void)PQsetNoticeReceiver(conn->pg, discard_notice, NULL);
	/* With this setting, messages contain the SQLSTATE. */
	(void)PQsetErrorVerbosity(conn->pg, PQERRORS_VERBOSE);
	if (PQstatus(conn->pg) == CONNECTION_BAD)
		status = PGRES_POLLING_FAILED;
	while (status == PGRES_POLLING_READING ||
	       status == PGRES_POLLING_WRITING) {
		if (!weir_cl_pg_poll_(conn->pg,
				      status == PGRES_POLLING_READING ?
				      POLLIN : POLLOUT, deadline))
			return weir_cl_pg_broken_(conn, RES_UNSENT, errno,
						  fault);
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

/*
 * Try the addresses of a host in turn.  libpq would wait for the first of them
 * until the deadline.
 */
static enum result connect_to(struct conn *conn, const struct url_host *host,
			      int64_t deadline, struct fault *fault)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	enum result result = RES_UNSENT;
	int error, left = 0;

	/* The folder of a socket, or a name in the abstract namespace. */
	if (strchr("/@", host->name[0]))
		return connect_at(conn, host, NULL, deadline, fault);
	error = getaddrinfo(host->name, NULL, &hints, &list);
	if (error)
		return weir_cl_fault_(fault, RES_UNSENT, EHOSTUNREACH, "%s: %s",
				      host->name, gai_strerror(error));
	for (struct addrinfo *to = list; to; to = to->ai_next)
		left++;
	for (struct addrinfo *to = list; to && result == RES_UNSENT;
	     to = to->ai_next) {
		int64_t now = boot_now();
		char address[NI_MAXHOST];

		/* Life stays open if an answer is late. */
		weir_cl_pg_close_(conn);
		error = getnameinfo(to->ai_addr, to->ai_addrlen, address,
				    sizeof(address), NULL, 0, NI_NUMERICHOST);
		result = error ?
			weir_cl_fault_(fault, RES_UNSENT, EHOSTUNREACH, "%s: %s",
				       host->name, gai_strerror(error)) :
			connect_at(conn, host, address,
				   now + (deadline - now) / left--, fault);
	}
	freeaddrinfo(list);
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
				      "the server is a standby, and the URL "
				      "names no primary that answers");
	/*
	 * Through a pooler, the client gets a pid that the pooler has invented.
	 */
	if (atoi(PQgetvalue(table, 0, 0)) != PQbackendPID(conn->pg))
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "a connection pooler is between: connect "
				      "to the server itself");
	return RES_OK;
}

/*
 * Take the locks that show that the handle lives: see weir.guard in
 * sql/guard.sql.  Their keys are made of the id of the session.
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
