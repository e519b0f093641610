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
#include "cmd/export/sources.h"
#include "cmd/http/address.h"
#include "cmd/http/http.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"

#define PORT_DEFAULT "9464"
#define ADDRESS_DEFAULT "127.0.0.1:" PORT_DEFAULT

enum { OPT_LISTEN = 256, OPT_REMOTE, OPT_ONCE, OPT_OPENMETRICS };

struct export_opts {
	const char *listen;
	bool remote, once, openmetrics;
};

/* Print the metrics to standard output. */
static void print_once(enum format format)
{
	struct metrics *m = metrics_new();

	m->wants_exemplars = format == FORMAT_OPENMETRICS;
	if (!source_all(m))
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

static bool write_page(FILE *out, void *user)
{
	enum format format = *(const enum format *)user;
	struct metrics *m = metrics_new();
	bool is_read;
	int errnum;

	m->wants_exemplars = format == FORMAT_OPENMETRICS;
	is_read = source_all(m);
	errnum = errno;
	if (is_read) {
		metrics_merge(m);
		format_write(out, m, format);
	}
	metrics_free(m);
	errno = errnum;
	return is_read;
}

static struct http_answer answer_metrics(enum format format)
{
	static enum format formats[] = { FORMAT_PROMETHEUS,
					 FORMAT_OPENMETRICS };
	static struct page_source pages[] = {
		[FORMAT_PROMETHEUS] = { .write = write_page,
					.user = &formats[0] },
		[FORMAT_OPENMETRICS] = { .write = write_page,
					 .user = &formats[1] },
	};
	struct page *page = page_get(&pages[format]);

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
		return answer_metrics(accept_format(request->accept));
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

static void parse_options(const struct cmd *self, struct export_opts *opts,
			  int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP,
		{ "listen", required_argument, NULL, OPT_LISTEN },
		{ "allow-remote", no_argument, NULL, OPT_REMOTE },
		{ "once", no_argument, NULL, OPT_ONCE },
		{ "openmetrics", no_argument, NULL, OPT_OPENMETRICS },
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

	parse_options(self, &opts, argc, argv);
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
"usage: weir export [--listen=ADDRESS:PORT] [--allow-remote]\n"
"       weir export --once [--openmetrics]\n"
"\n"
"Serves the state of the semaphores between and in processes over HTTP, for\n"
"Prometheus, at the path /metrics, until SIGTERM or SIGINT.  They are read when\n"
"they are asked for, and not between requests.\n"
"\n"
"      --listen=ADDRESS:PORT  listen there (default: 127.0.0.1:9464); port 0\n"
"                     chooses a free port, which is printed\n"
"      --allow-remote allow an ADDRESS that other machines can reach\n"
"      --once         print the metrics to standard output instead\n"
"      --openmetrics  with --once: in the format OpenMetrics\n"
"  -h, --help         print this text\n"
"\n"
"Exit status: 0 after SIGTERM or SIGINT, or --once; 64 wrong usage; 69 there is\n"
"no libmicrohttpd; 75 the port is in use; 77 permission denied; 125 weir failed.\n",
	.run = run,
};
