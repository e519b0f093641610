/* SPDX-License-Identifier: MIT */
/* weir export: metrics for Prometheus. */
#include "cmd/export/export.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/export/accept.h"
#include "cmd/export/format.h"
#include "cmd/export/servers.h"
#include "cmd/export/sources.h"
#include "cmd/http/address.h"
#include "cmd/http/http.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"

#define PORT_DEFAULT "9464"
#define ADDRESS_DEFAULT "127.0.0.1:" PORT_DEFAULT

/* The time for the servers of an answer. */
#define LIMIT_NS INT64_C(4000000000)
#define LIMIT_MIN_NS INT64_C(500000000)

enum { OPT_LISTEN = 256, OPT_REMOTE, OPT_ONCE, OPT_OPENMETRICS, OPT_URL };

struct export_opts {
	const char *listen;
	bool remote, once, openmetrics;
};

/* Print the metrics to standard output. */
static void print_once(enum format format)
{
	struct metrics *m = metrics_new();

	m->wants_exemplars = format == FORMAT_OPENMETRICS;
	if (!source_all(m, LIMIT_NS))
		names_fail("export");
	metrics_merge(m);
	format_write(stdout, m, format);
	metrics_free(m);
	cmd_flush();
}

/* Exit if the folder of names cannot be read, as every answer would fail. */
static void check_folder(void)
{
	char **names;

	if (names_list(&names) < 0)
		names_fail("export");
	free(names);
}

/* The parameters of an answer. */
struct wanted {
	enum format format;
	int64_t limit_ns;
};

static bool write_page(FILE *out, void *user)
{
	const struct wanted *wanted = user;
	enum format format = wanted->format;
	struct metrics *m = metrics_new();
	bool is_read;
	int errnum;

	m->wants_exemplars = format == FORMAT_OPENMETRICS;
	is_read = source_all(m, wanted->limit_ns);
	errnum = errno;
	if (is_read) {
		metrics_merge(m);
		format_write(out, m, format);
	}
	metrics_free(m);
	errno = errnum;
	return is_read;
}

/*
 * The time for the servers.  A client that waits for a shorter time would get
 * nothing at all: Prometheus says for how long it waits.
 */
static int64_t limit_of(const struct http_request *request)
{
	double seconds = request->timeout ? strtod(request->timeout, NULL) : 0;
	double ns = seconds * 0.7e9;

	if (!(ns > 0) || ns >= (double)LIMIT_NS)
		return LIMIT_NS;
	return ns > (double)LIMIT_MIN_NS ? (int64_t)ns : LIMIT_MIN_NS;
}

static struct http_answer answer_metrics(const struct http_request *request)
{
	static struct wanted wanted[] = {
		[FORMAT_PROMETHEUS] = { .format = FORMAT_PROMETHEUS },
		[FORMAT_OPENMETRICS] = { .format = FORMAT_OPENMETRICS },
	};
	static struct page_source pages[] = {
		[FORMAT_PROMETHEUS] = { .write = write_page,
					.user = &wanted[FORMAT_PROMETHEUS] },
		[FORMAT_OPENMETRICS] = { .write = write_page,
					 .user = &wanted[FORMAT_OPENMETRICS] },
	};
	enum format format = accept_format(request->accept);
	struct page *page;

	wanted[format].limit_ns = limit_of(request);
	page = page_get(&pages[format]);
	if (page)
		return (struct http_answer){ .status = 200, .page = page,
					     .type = format_type(format) };
	if (errno == ENOBUFS)
		return http_busy();
	return (struct http_answer){
		.status = 500, .text = "the folder of names cannot be read\n"
	};
}

static struct http_answer answer(const struct http_request *request)
{
	if (!strcmp(request->path, "/metrics"))
		return answer_metrics(request);
	if (!strcmp(request->path, "/"))
		return (struct http_answer){
			.status = 200,
			.text = "weir export: the metrics are at /metrics\n"
		};
	return (struct http_answer){ .status = 404, .text = "see /metrics\n" };
}

static void serve(const struct cmd *self, const struct export_opts *opts)
{
	static const struct http_site site = {
		.name = "export", .path = "/metrics", .answer = answer,
		.otherwise = "; \"weir export --once\" prints the metrics",
	};
	const char *text = opts->listen ? opts->listen : ADDRESS_DEFAULT;
	char room[ADDRESS_ROOM];
	struct address address;
	int listener;

	address_parse(self, text, PORT_DEFAULT, opts->remote, &address);
	http_load(&site);
	check_folder();
	listener = address_listen(self, text, &address);
	http_run(&site, listener, address_text(&address, room));
}

static void add_url(const struct cmd *self, const char *url)
{
	if (!strstr(url, "://"))
		cmd_misuse(self, "export: \"%s\" is not a URL such as "
			   "redis://host/", url);
	remote_refuse_password(url);
	servers_add(url, false);
}

static void parse_options(const struct cmd *self, struct export_opts *opts,
			  int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP,
		{ "listen", required_argument, NULL, OPT_LISTEN },
		{ "allow-remote", no_argument, NULL, OPT_REMOTE },
		{ "once", no_argument, NULL, OPT_ONCE },
		{ "openmetrics", no_argument, NULL, OPT_OPENMETRICS },
		{ "url", required_argument, NULL, OPT_URL },
		OPTIONS_END
	};
	const char *rest = "";
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_LISTEN)
			opts->listen = optarg;
		else if (option == OPT_REMOTE)
			opts->remote = true;
		else if (option == OPT_ONCE)
			opts->once = true;
		else if (option == OPT_OPENMETRICS)
			opts->openmetrics = true;
		else if (option == OPT_URL)
			add_url(self, optarg);
		else
			options_name(self, optarg, &rest);
	}
	options_rest(self, argc, argv, &rest);
	if (opts->once && (opts->listen || opts->remote))
		cmd_misuse(self, "export: --once does not listen; leave out "
			   "--listen and --allow-remote");
	if (opts->openmetrics && !opts->once)
		cmd_misuse(self, "export: --openmetrics needs --once; a server "
			   "chooses the format by the request");
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct export_opts opts = { .listen = NULL };
	const char *url = getenv("WEIR_URL");

	parse_options(self, &opts, argc, argv);
	if (url && *url)
		servers_add(url, true);
	servers_load();
	servers_check();
	if (opts.once)
		print_once(opts.openmetrics ? FORMAT_OPENMETRICS :
					      FORMAT_PROMETHEUS);
	else
		serve(self, &opts);
	return EXIT_SUCCESS;
}

const struct cmd cmd_export = {
	.name = "export",
	.summary = "serve metrics of semaphores to Prometheus",
	.help =
"usage: weir export [--listen=ADDRESS:PORT] [--allow-remote] [--url=URL]...\n"
"       weir export --once [--openmetrics] [--url=URL]...\n"
"\n"
"Serves the state of the semaphores between and in processes, and in servers,\n"
"over HTTP, for Prometheus, at the path /metrics, until SIGTERM or SIGINT.  They\n"
"are read when they are asked for, and not between requests.\n"
"\n"
"      --listen=ADDRESS:PORT  listen there (default: 127.0.0.1:9464); port 0\n"
"                     chooses a free port, which is printed\n"
"      --allow-remote allow an ADDRESS that other machines can reach\n"
"      --url=URL      also the semaphores of a server, such as redis://host/, or\n"
"                     one of them, redis://host/NAME; may be repeated.  The\n"
"                     server $WEIR_URL is read as well\n"
"      --once         print the metrics to standard output instead\n"
"      --openmetrics  with --once: in the format OpenMetrics\n"
"  -h, --help         print this text\n"
"\n"
"Exit status: 0 after SIGTERM or SIGINT, or --once; 64 wrong usage; 69 there is\n"
"no libmicrohttpd or no libweir-cluster; 75 the port is in use; 77 permission\n"
"denied; 125 weir failed.\n",
	.run = run,
};
