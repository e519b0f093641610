/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server: libmicrohttpd, driven by this file's loop in one thread.
 * Each connection serves one request.  Between requests the loop sleeps.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cmd/http/connections.h"
#include "cmd/http/http.h"
#include "cmd/http/library.h"
#include "cmd/lib/fail.h"
#include "weir/base.h"

#define CONNECTION_BYTES 16384
#define RETRY_MS 200	/* without a descriptor for a client */

static bool one_has_ended;

void http_load(const struct http_site *site)
{
	mhd_load(site->name, site->otherwise);
}

/* Called when a connection begins and ends. */
static void on_connection(void *user, struct MHD_Connection *handle,
			  void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	(void)user;
	(void)context;
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			mhd.MHD_get_connection_info(
				handle, MHD_CONNECTION_INFO_CONNECTION_FD);

		connections_add(handle, info ? info->connect_fd : -1);
	} else {
		connections_remove(handle);
		one_has_ended = true;
	}
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
	enum MHD_Result result = mhd.MHD_add_response_header(
		response, "Content-Type", answer->type ? answer->type :
		"text/plain; charset=utf-8");

	if (result)
		result = mhd.MHD_add_response_header(response, "Connection",
						     "close");
	if (result && answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		result = mhd.MHD_add_response_header(response, "Allow",
						     "GET, HEAD");
	for (; result && header && header->name; header++)
		result = mhd.MHD_add_response_header(response, header->name,
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
		mhd.MHD_create_response_from_buffer_with_free_callback_cls(
			answer->page->size, answer->page->text, on_sent,
			answer->page);
	else
		/* The text is not changed. */
		response = mhd.MHD_create_response_from_buffer(
			strlen(answer->text), (char *)(uintptr_t)answer->text,
			MHD_RESPMEM_PERSISTENT);
	if (!response) {
		if (answer->page)
			page_done(answer->page);
		return MHD_NO;
	}
	result = add_headers(site, response, answer);
	if (result)
		result = mhd.MHD_queue_response(to, answer->status, response);
	mhd.MHD_destroy_response(response);
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
		request.accept = mhd.MHD_lookup_connection_value(
			from, MHD_HEADER_KIND, "Accept");
		request.host = mhd.MHD_lookup_connection_value(
			from, MHD_HEADER_KIND, "Host");
		request.timeout = mhd.MHD_lookup_connection_value(
			from, MHD_HEADER_KIND,
			"X-Prometheus-Scrape-Timeout-Seconds");
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

/* Returns the timeout of poll: until `next`, or until the library must run. */
static int timeout_ms(struct MHD_Daemon *daemon, int64_t next, int64_t now)
{
	MHD_UNSIGNED_LONG_LONG library;
	int64_t ms = next == INT64_MAX ? -1 : (next - now) / 1000000 + 1;

	if (mhd.MHD_get_timeout(daemon, &library) == MHD_YES &&
	    (ms < 0 || library < (MHD_UNSIGNED_LONG_LONG)ms))
		ms = library < INT32_MAX ? (int64_t)library : INT32_MAX;
	return (int)ms;
}

static struct MHD_Daemon *start(const struct http_site *site, int listener)
{
	struct MHD_Daemon *daemon = mhd.MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request,
		(void *)(uintptr_t)site,
		MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(CONNECTION_LIFE_NS / 1000000000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
		MHD_OPTION_END);

	if (!daemon)
		cmd_die(EXIT_WEIR, "%s: libmicrohttpd cannot start",
			site->name);
	return daemon;
}

/*
 * Let libmicrohttpd work.  If all connections were in use, the library listens
 * again only in the call after the one in which a connection ended.
 */
static void run(struct MHD_Daemon *daemon)
{
	do {
		one_has_ended = false;
		(void)mhd.MHD_run(daemon);
	} while (one_has_ended);
}

/*
 * Returns true if a client cannot be accepted for want of a descriptor.  If
 * there are connections, libmicrohttpd stops listening until one has ended.  If
 * there are none, accept would fail at once again and again.
 */
static bool lacks_descriptors(void)
{
	int spare;

	if (connections_used())
		return false;
	/* Needs a descriptor and a file, as accept(2) does. */
	spare = eventfd(0, EFD_CLOEXEC);
	if (spare >= 0)
		(void)close(spare);
	return spare < 0;
}

/*
 * Wait until a descriptor is free, or a signal ends the server.  No event says
 * that a descriptor is free.
 */
static void await_descriptor(const struct http_site *site,
			     struct pollfd *signals)
{
	if (!lacks_descriptors())
		return;
	cmd_message("%s: no descriptor is free for a client: %s", site->name,
		    strerror(errno));
	while (!(signals->revents & POLLIN) && lacks_descriptors())
		(void)poll(signals, 1, RETRY_MS);
}

void http_run(const struct http_site *site, int listener, const char *address)
{
	struct pollfd fds[] = { { .events = POLLIN }, { .events = POLLIN } };
	struct MHD_Daemon *daemon;

	fds[0].fd = open_signals(site);
	daemon = start(site, listener);
	fds[1].fd = mhd.MHD_get_daemon_info(daemon,
					    MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
	printf("listening on http://%s%s\n", address, site->path);
	cmd_flush();
	do {
		int64_t now = weir_now_ns(), next = connections_shut_old(now);

		if (poll(fds, 2, timeout_ms(daemon, next, now)) < 0 &&
		    errno != EINTR)
			cmd_die(EXIT_WEIR, "%s: poll: %s", site->name,
				strerror(errno));
		if (fds[1].revents & POLLIN)
			await_descriptor(site, &fds[0]);
		run(daemon);
	} while (!(fds[0].revents & POLLIN));
	mhd.MHD_stop_daemon(daemon);
	close(fds[0].fd);
}
