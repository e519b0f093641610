/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server: libmicrohttpd, driven by this file's loop in one thread.
 *
 * The library is loaded when it is needed.  It loads a library for TLS, and
 * every `weir run` would pay for that.
 *
 * A client cannot keep others out.  Each connection serves one request and is
 * closed after LIFE_NS, however busy it is; if all connections are in use, those
 * older than FULL_LIFE_NS are closed, and the next clients take their places.
 * Between requests the loop sleeps.
 */
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/http/http.h"
#include "cmd/lib/fail.h"
#include "weir/base.h"

#define LIBRARY "libmicrohttpd.so.12"

#define CONNECTIONS 32
#define LIFE_NS INT64_C(10000000000)
#define FULL_LIFE_NS INT64_C(1000000000)
#define CONNECTION_BYTES 16384

#define FUNCTIONS(X)                                                           \
	X(MHD_start_daemon)                                                    \
	X(MHD_stop_daemon)                                                     \
	X(MHD_run)                                                             \
	X(MHD_get_timeout)                                                     \
	X(MHD_get_daemon_info)                                                 \
	X(MHD_get_connection_info)                                             \
	X(MHD_lookup_connection_value)                                         \
	X(MHD_create_response_from_buffer)                                     \
	X(MHD_create_response_from_buffer_with_free_callback_cls)              \
	X(MHD_add_response_header)                                             \
	X(MHD_queue_response)                                                  \
	X(MHD_destroy_response)

static struct {
#define MEMBER_(name) __typeof__(name) *name;
	FUNCTIONS(MEMBER_)
#undef MEMBER_
} api;

/* The open connections. */
static struct connection {
	struct MHD_Connection *handle;	/* null: unused */
	int fd;
	bool is_shut;
	int64_t since_ns;
} connections[CONNECTIONS];

static bool one_has_ended;

void http_load(const struct http_site *site)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		cmd_die(EXIT_CLOSED, "%s: cannot listen without " LIBRARY
			" (Debian package libmicrohttpd12)%s", site->name,
			site->otherwise);
#define LOAD_(name)                                                            \
	*(void **)&api.name = dlsym(library, #name);                           \
	if (!api.name)                                                         \
		cmd_die(EXIT_WEIR, LIBRARY ": " #name " is missing");
	FUNCTIONS(LOAD_)
#undef LOAD_
}

static struct connection *find(const struct MHD_Connection *handle)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (connections[i].handle == handle)
			return &connections[i];
	return NULL;
}

/* Called when a connection begins and ends. */
static void on_connection(void *user, struct MHD_Connection *handle,
			  void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	bool begins = what == MHD_CONNECTION_NOTIFY_STARTED;
	struct connection *connection = find(begins ? NULL : handle);
	const union MHD_ConnectionInfo *info;

	(void)user;
	(void)context;
	if (!connection)
		return;
	memset(connection, 0, sizeof(*connection));
	if (!begins) {
		one_has_ended = true;
		return;
	}
	info = api.MHD_get_connection_info(handle,
					   MHD_CONNECTION_INFO_CONNECTION_FD);
	connection->handle = handle;
	connection->fd = info ? info->connect_fd : -1;
	connection->since_ns = weir_now_ns();
}

static int used_connections(void)
{
	int count = 0;

	for (int i = 0; i < CONNECTIONS; i++)
		count += connections[i].handle != NULL;
	return count;
}

/*
 * Shut down the connections that are too old; libmicrohttpd then closes them.
 * Returns when to call again; INT64_MAX if there is no connection.
 */
static int64_t shut_old(int64_t now)
{
	int64_t next = INT64_MAX;
	int64_t life = used_connections() == CONNECTIONS ? FULL_LIFE_NS :
							   LIFE_NS;

	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &connections[i];
		int64_t end = connection->since_ns + life;

		if (!connection->handle || connection->is_shut)
			continue;
		if (end <= now) {
			(void)shutdown(connection->fd, SHUT_RDWR);
			connection->is_shut = true;
		} else if (end < next) {
			next = end;
		}
	}
	return next;
}

static void on_sent(void *page)
{
	page_done(page);
}

static enum MHD_Result add_headers(const struct http_site *site,
				   struct MHD_Response *response,
				   const struct http_answer *answer)
{
	const struct http_header *header = site->headers;
	enum MHD_Result result = api.MHD_add_response_header(
		response, "Content-Type", answer->type ? answer->type :
		"text/plain; charset=utf-8");

	if (result)
		result = api.MHD_add_response_header(response, "Connection",
						     "close");
	if (result && answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		result = api.MHD_add_response_header(response, "Allow",
						     "GET, HEAD");
	for (; result && header && header->name; header++)
		result = api.MHD_add_response_header(response, header->name,
						     header->value);
	return result;
}

static enum MHD_Result send_answer(const struct http_site *site,
				   struct MHD_Connection *to,
				   const struct http_answer *answer)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	if (answer->page)
		response =
		api.MHD_create_response_from_buffer_with_free_callback_cls(
			answer->page->size, answer->page->text, on_sent,
			answer->page);
	else
		/* The text is not changed. */
		response = api.MHD_create_response_from_buffer(
			strlen(answer->text), (char *)(uintptr_t)answer->text,
			MHD_RESPMEM_PERSISTENT);
	if (!response) {
		if (answer->page)
			page_done(answer->page);
		return MHD_NO;
	}
	result = add_headers(site, response, answer);
	if (result)
		result = api.MHD_queue_response(to, answer->status, response);
	api.MHD_destroy_response(response);
	return result;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *from,
				  const char *url, const char *method,
				  const char *version, const char *upload,
				  size_t *upload_size, void **context)
{
	const struct http_site *site = user;
	struct http_request request = { .path = url };
	struct http_answer answer = {
		.status = MHD_HTTP_METHOD_NOT_ALLOWED,
		.text = "only GET and HEAD are allowed\n"
	};

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)context;
	if (!strcmp(method, "GET") || !strcmp(method, "HEAD")) {
		request.accept = api.MHD_lookup_connection_value(
			from, MHD_HEADER_KIND, "Accept");
		request.host = api.MHD_lookup_connection_value(
			from, MHD_HEADER_KIND, "Host");
		answer = site->answer(&request);
	}
	return send_answer(site, from, &answer);
}

struct http_answer http_busy(void)
{
	return (struct http_answer){
		.status = MHD_HTTP_SERVICE_UNAVAILABLE,
		.text = "too many clients have not read their answers\n"
	};
}

/*
 * Block the signals that end the server, except ignored ones, and return a
 * descriptor that shows them.
 */
static int open_signals(const struct http_site *site)
{
	static const int ending[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction before;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		if (!sigaction(ending[i], NULL, &before) &&
		    before.sa_handler != SIG_IGN)
			sigaddset(&set, ending[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		cmd_die(EXIT_WEIR, "%s: signalfd: %s", site->name,
			strerror(errno));
	return fd;
}

/* Returns the timeout of poll until the next time that needs attention. */
static int timeout_ms(struct MHD_Daemon *daemon, int64_t next, int64_t now)
{
	MHD_UNSIGNED_LONG_LONG library;
	int64_t ms = next == INT64_MAX ? -1 : (next - now) / 1000000 + 1;

	if (api.MHD_get_timeout(daemon, &library) == MHD_YES &&
	    (ms < 0 || library < (MHD_UNSIGNED_LONG_LONG)ms))
		ms = library < INT32_MAX ? (int64_t)library : INT32_MAX;
	return (int)ms;
}

static struct MHD_Daemon *start(const struct http_site *site, int listener)
{
	struct MHD_Daemon *daemon = api.MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request,
		(void *)(uintptr_t)site,
		MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(LIFE_NS / 1000000000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
		MHD_OPTION_END);

	if (!daemon)
		cmd_die(EXIT_WEIR, "%s: libmicrohttpd cannot start",
			site->name);
	return daemon;
}

/*
 * Let libmicrohttpd work.  If all connections were in use, it listens again
 * only in the call after the one in which a connection ended.
 */
static void run(struct MHD_Daemon *daemon)
{
	do {
		one_has_ended = false;
		(void)api.MHD_run(daemon);
	} while (one_has_ended);
}

void http_run(const struct http_site *site, int listener, const char *address)
{
	struct pollfd fds[] = { { .events = POLLIN }, { .events = POLLIN } };
	struct MHD_Daemon *daemon;

	fds[0].fd = open_signals(site);
	daemon = start(site, listener);
	fds[1].fd = api.MHD_get_daemon_info(daemon,
					    MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	printf("listening on http://%s%s\n", address, site->path);
	cmd_flush();
	do {
		int64_t now = weir_now_ns(), next = shut_old(now);

		if (poll(fds, 2, timeout_ms(daemon, next, now)) < 0 &&
		    errno != EINTR)
			cmd_die(EXIT_WEIR, "%s: poll: %s", site->name,
				strerror(errno));
		run(daemon);
	} while (!(fds[0].revents & POLLIN));
	api.MHD_stop_daemon(daemon);
	close(fds[0].fd);
}
