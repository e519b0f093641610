/* SPDX-License-Identifier: MIT */
/* Connecting, authenticating, sending commands and reading replies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/redis/conn.h"

void weir_cl_conn_init_(struct conn *conn, const struct session *session)
{
	memset(conn, 0, sizeof(*conn));
	conn->session = session;
	conn->net.fd = -1;
}

void weir_cl_conn_close_(struct conn *conn)
{
	weir_cl_net_close_(&conn->net);
	weir_cl_reader_free_(conn->reader);
	conn->reader = NULL;
}

static enum result broken(struct conn *conn, enum result result, int errnum,
			  struct fault *fault)
{
	int timed_out = errnum == ETIMEDOUT;

	weir_cl_conn_close_(conn);
	return weir_cl_fault_(fault, result, errnum, "%s",
			      timed_out ? "the server does not answer" :
			      strerror(errnum));
}

enum result weir_cl_conn_send_(struct conn *conn,
			       const struct command *commands, int count,
			       int64_t deadline, struct fault *fault)
{
	char *data = conn->out, *end;
	size_t size = 0;
	bool sent;

	for (int i = 0; i < count; i++)
		size += weir_cl_command_size_(&commands[i]);
	if (size > sizeof(conn->out))
		data = malloc(size);
	if (!data)
		return weir_cl_fault_(fault, RES_UNSENT, ENOMEM, "out of memory");
	end = data;
	for (int i = 0; i < count; i++)
		end = weir_cl_command_write_(&commands[i], end);
	sent = weir_cl_net_write_(&conn->net, data, (size_t)(end - data),
				  deadline);
	if (data != conn->out)
		free(data);
	return sent ? RES_OK : broken(conn, RES_UNKNOWN, errno, fault);
}

/* deadline 0: do not wait; then *reply may be null. */
static enum result receive(struct conn *conn, struct reply **reply,
			   int64_t deadline, struct fault *fault)
{
	char data[16384];

	for (;;) {
		ssize_t got;

		if (!weir_cl_reader_next_(conn->reader, reply))
			break;
		if (*reply)
			return RES_OK;
		got = deadline ?
			weir_cl_net_read_(&conn->net, data, sizeof(data),
					  deadline) :
			weir_cl_net_read_now_(&conn->net, data, sizeof(data));
		if (!deadline && got < 0 && errno == EAGAIN)
			return RES_OK;
		if (got <= 0)
			return broken(conn, RES_UNKNOWN,
				      got ? errno : ECONNRESET, fault);
		if (!weir_cl_reader_feed_(conn->reader, data, (size_t)got))
			break;
	}
	weir_cl_conn_close_(conn);
	return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
			      "the answer is not in the protocol of Redis");
}

enum result weir_cl_conn_receive_(struct conn *conn, struct reply **reply,
				  int64_t deadline, struct fault *fault)
{
	return receive(conn, reply, deadline, fault);
}

enum result weir_cl_conn_arrived_(struct conn *conn, struct reply **reply,
				  struct fault *fault)
{
	return receive(conn, reply, 0, fault);
}

/* Send one command whose reply must not be an error. */
static enum result introduce(struct conn *conn, const struct command *command,
			     int64_t deadline, struct fault *fault)
{
	struct reply *reply;
	enum result result = weir_cl_conn_send_(conn, command, 1, deadline,
						fault);

	if (!result)
		result = weir_cl_conn_receive_(conn, &reply, deadline, fault);
	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	if (reply->type == REPLY_ERROR) {
		bool reload;

		result = weir_cl_conn_error_(conn, reply->text, &reload, fault);
		weir_cl_conn_close_(conn);
	}
	weir_cl_reply_free_(reply);
	return result;
}

/* Authenticate and select the database. */
static enum result greet(struct conn *conn, int64_t deadline,
			 struct fault *fault)
{
	const struct url *url = &conn->session->url;
	struct command auth = { .args = { "AUTH" }, .count = 1 };
	struct command select = { .args = { "SELECT", url->database },
				  .count = 2 };
	enum result result = RES_OK;

	if (url->password[0]) {
		if (url->user[0])
			auth.args[auth.count++] = url->user;
		auth.args[auth.count++] = url->password;
		result = introduce(conn, &auth, deadline, fault);
	}
	if (!result && url->database[0])
		result = introduce(conn, &select, deadline, fault);
	return result;
}

static enum result connect_to(struct conn *conn, const struct url_host *host,
			      int64_t deadline, struct fault *fault)
{
	const struct url *url = &conn->session->url;
	enum result result = weir_cl_net_connect_(&conn->net, host, "6379",
						  url->tls, url->ca, deadline,
						  fault);

	if (result)
		return result;
	conn->peer = *host;
	conn->reader = weir_cl_reader_new_();
	if (!conn->reader) {
		weir_cl_conn_close_(conn);
		return weir_cl_fault_(fault, RES_UNSENT, ENOMEM, "out of memory");
	}
	/*
	 * With one host, slightly less than the time between a call and its
	 * deadline.
	 */
	weir_cl_net_block_(&conn->net, conn->session->timeout_ns / 10 * 9);
	return greet(conn, deadline, fault);
}

static void next_host(struct conn *conn)
{
	conn->host = (conn->host + 1) % conn->session->url.host_count;
}

enum result weir_cl_conn_open_(struct conn *conn, int64_t deadline,
			       struct fault *fault)
{
	const struct url *url = &conn->session->url;
	enum result result = RES_UNSENT;
	int64_t now = boot_now();

	if (conn->reader)
		return RES_OK;
	/* A host that does not answer leaves time for those after it. */
	if (conn->moved.name[0]) {
		struct url_host moved = conn->moved;

		/* The server there may redirect again, in connect_to. */
		conn->moved.name[0] = 0;
		result = connect_to(conn, &moved, now + (deadline - now) / 2,
				    fault);
	}
	for (int i = url->host_count; i > 0 && result == RES_UNSENT; i--) {
		now = boot_now();
		result = connect_to(conn, &url->hosts[conn->host],
				    now + (deadline - now) / i, fault);
		if (result)
			next_host(conn);
	}
	return result;
}

enum result weir_cl_conn_call_(struct conn *conn,
			       const struct command *commands, int count,
			       struct reply **replies, int64_t deadline,
			       struct fault *fault)
{
	enum result result = weir_cl_conn_open_(conn, deadline, fault);
	int i;

	if (!result)
		result = weir_cl_conn_send_(conn, commands, count, deadline,
					    fault);
	if (result)
		return result;
	for (i = 0; i < count && !result; i++)
		result = weir_cl_conn_receive_(conn, &replies[i], deadline,
					       fault);
	if (!result)
		return RES_OK;
	for (i--; i > 0; i--)
		weir_cl_reply_free_(replies[i - 1]);
	if (fault->errnum == ETIMEDOUT)
		next_host(conn);
	return result;
}

/* "MOVED 3999 127.0.0.1:6381": the slot belongs to another server. */
static void follow(struct conn *conn, const char *text)
{
	const char *host = strrchr(text, ' ');
	const char *port = strrchr(text, ':');

	if (!host || !port || port < host ||
	    (size_t)(port - host) > sizeof(conn->moved.name) ||
	    strlen(port + 1) >= sizeof(conn->moved.port))
		return;
	/* An empty host means the host of this connection. */
	if (port == host + 1)
		(void)snprintf(conn->moved.name, sizeof(conn->moved.name), "%s",
			       conn->peer.name);
	else
		(void)snprintf(conn->moved.name, sizeof(conn->moved.name),
			       "%.*s", (int)(port - host - 1), host + 1);
	(void)snprintf(conn->moved.port, sizeof(conn->moved.port), "%s",
		       port + 1);
}

static bool begins(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

enum result weir_cl_conn_error_(struct conn *conn, const char *text,
				bool *reload, struct fault *fault)
{
	static const struct {
		const char *word;
		enum result result;
		int errnum;
	} words[] = {
		{ "LOADING", RES_UNSENT, EAGAIN }, { "BUSY", RES_UNSENT, EAGAIN },
		{ "TRYAGAIN", RES_UNSENT, EAGAIN },
		{ "CLUSTERDOWN", RES_UNSENT, EAGAIN },
		{ "MASTERDOWN", RES_UNSENT, EAGAIN },
		{ "READONLY", RES_UNSENT, EROFS }, { "MOVED", RES_UNSENT, EAGAIN },
		{ "ASK", RES_UNSENT, EAGAIN }, { "NOAUTH", RES_REFUSED, EACCES },
		{ "WRONGPASS", RES_REFUSED, EACCES },
		{ "NOPERM", RES_REFUSED, EACCES },
		{ "ERR invalid password", RES_REFUSED, EACCES },
		{ "WRONGTYPE", RES_REFUSED, EBADMSG },
	};
	enum result result = RES_REFUSED;
	int errnum = EIO;

	*reload = begins(text, "NOSCRIPT");
	if (*reload)
		return weir_cl_fault_(fault, RES_UNSENT, EAGAIN, "%s", text);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(text, words[i].word)) {
			result = words[i].result;
			errnum = words[i].errnum;
		}
	/* The form of errors in a script differs between versions of Redis. */
	if (errnum == EIO && (strstr(text, "WEIRBAD") ||
			      strstr(text, "WRONGTYPE"))) {
		errnum = EBADMSG;
	} else if (errnum == EIO && strstr(text, "-READONLY")) {
		result = RES_UNSENT;
		errnum = EROFS;
	}
	if (begins(text, "MOVED"))
		follow(conn, text);
	else if (errnum == EROFS)
		next_host(conn);
	if (begins(text, "MOVED") || errnum == EROFS)
		weir_cl_conn_close_(conn);
	if (errnum == EROFS)
		return weir_cl_fault_(fault, result, errnum,
				      "the server is a replica, and the URL "
				      "names no primary that answers");
	return weir_cl_fault_(fault, result, errnum, "the server answers: %s",
			      text);
}
