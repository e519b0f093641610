/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HTTP_HTTP_H
#define WEIR_CMD_HTTP_HTTP_H

/*
 * A small HTTP server, for weir export and weir web.
 *
 *     address.c      the address of --listen, and its socket
 *     page.c         the answers, kept for a moment
 *     library.c      libmicrohttpd, loaded
 *     connections.c  the open connections, closed in time
 *     http.c         the server; nohttp.c replaces the last three
 */
#include "cmd/http/page.h"

/* A GET or HEAD request.  A header that is missing is null. */
struct http_request {
	const char *path;
	const char *accept, *host;
	const char *timeout;	/* X-Prometheus-Scrape-Timeout-Seconds */
};

struct http_answer {
	unsigned status;	/* such as 200 */
	const char *type;	/* null: plain text */
	/* The body: a text that lives as long as the server, or a page. */
	const char *text;
	struct page *page;
};

struct http_header {
	const char *name, *value;
};

struct http_site {
	const char *name;	/* of the subcommand, for messages */
	const char *path;	/* of the URL that is printed */
	const char *otherwise;	/* advice if there is no libmicrohttpd, or "" */
	const struct http_header *headers;	/* of every answer; name null: end */
	/* Called for each request; the server calls page_done. */
	struct http_answer (*answer)(const struct http_request *request);
};

/*
 * Exit with a message if there is no HTTP server in this build or on this
 * host.
 */
void http_load(const struct http_site *site);
/*
 * Answer requests on the listening socket until SIGTERM, SIGINT or SIGHUP.
 * Prints a line with the address when these signals are handled.
 * Requires: http_load was called.
 */
void http_run(const struct http_site *site, int listener, const char *address);

/* Returns the answer for a page_get that returned null with ENOBUFS. */
struct http_answer http_busy(void);

#endif /* WEIR_CMD_HTTP_HTTP_H */
