/* SPDX-License-Identifier: MIT */
/* weir web: the watched semaphores of processes in a browser. */
#include "cmd/web/web.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/diag/source.h"
#include "cmd/http/address.h"
#include "cmd/http/http.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/options.h"
#include "cmd/web/data.h"
#include "cmd/web/hosts.h"
#include "cmd/web/key.h"
#include "cmd/web/page.h"

#define PORT_DEFAULT "9465"
#define ADDRESS_DEFAULT "127.0.0.1:" PORT_DEFAULT

enum { OPT_LISTEN = 256, OPT_REMOTE };

struct web_opts {
	const char *listen;
	bool remote;
	char **sources;		/* ends with null */
	size_t count;
};

/* Used by answer(). */
static struct address address;
static struct data_sources sources;

static const struct http_header headers[] = {
	{ "Content-Security-Policy", web_policy },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cache-Control", "no-store" },
	{ NULL, NULL }
};

static struct http_answer answer_data(void)
{
	static struct page_source source = { .write = data_write,
					     .user = &sources };
	struct page *page = page_get(&source);

	/* data_write cannot fail. */
	return page ? (struct http_answer){ .status = 200, .page = page,
					    .type = "application/json" } :
		      http_busy();
}

static struct http_answer answer(const struct http_request *request)
{
	const char *path = key_strip(request->path);

	if (!hosts_allow(&address, request->host))
		return (struct http_answer){
			.status = 403,
			.text = "weir web answers only if the host of the URL "
				"is localhost or the address of --listen\n"
		};
	if (!path)
		return (struct http_answer){
			.status = 404,
			.text = "open the URL that weir web has printed; its "
				"path is a key\n"
		};
	if (!*path)
		return (struct http_answer){
			.status = 200, .text = web_page,
			.type = "text/html; charset=utf-8"
		};
	if (!strcmp(path, "data.json"))
		return answer_data();
	return (struct http_answer){
		.status = 404, .text = "there are the page and data.json\n"
	};
}

/* Exit if a source that the user has named cannot be read. */
static void check_sources(const struct web_opts *opts)
{
	for (size_t i = 0; i < opts->count; i++) {
		struct diag diag;

		diag_open(&diag, opts->sources[i]);
		diag_read(&diag);
		diag_close(&diag);
	}
}

static void add_source(struct web_opts *opts, char *what)
{
	opts->sources = memory_realloc(opts->sources, (opts->count + 2) *
				       sizeof(*opts->sources));
	opts->sources[opts->count++] = what;
	opts->sources[opts->count] = NULL;
}

static void parse_options(const struct cmd *self, struct web_opts *opts,
			  int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP,
		{ "listen", required_argument, NULL, OPT_LISTEN },
		{ "allow-remote", no_argument, NULL, OPT_REMOTE },
		OPTIONS_END
	};
	int option;

	while ((option = options_next(self, argc, argv, "", longs)) != -1) {
		if (option == OPT_LISTEN)
			opts->listen = optarg;
		else if (option == OPT_REMOTE)
			opts->remote = true;
		else
			add_source(opts, optarg);
	}
	while (optind < argc)
		add_source(opts, argv[optind++]);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct http_site site = {
		.name = "web", .answer = answer,
		.headers = headers,
		.otherwise = "; \"weir top\" shows the semaphores on a terminal",
	};
	static char *none[] = { NULL };
	struct web_opts opts = { .listen = ADDRESS_DEFAULT, .sources = NULL };
	char room[ADDRESS_ROOM];
	int listener;

	parse_options(self, &opts, argc, argv);
	address_parse(self, opts.listen, PORT_DEFAULT, opts.remote, &address);
	site.path = key_path();
	http_load(&site);
	check_sources(&opts);
	sources.list = opts.sources ? opts.sources : none;
	sources.all = !opts.count;
	listener = address_listen(self, opts.listen, &address);
	http_run(&site, listener, address_text(&address, room));
	return EXIT_SUCCESS;
}

const struct cmd cmd_web = {
	.name = "web",
	.summary = "show the semaphores of processes as a web page with a graph",
	.help =
"usage: weir web [PID|FILE]... [--listen=ADDRESS:PORT] [--allow-remote]\n"
"\n"
"Serves a page for a browser, until SIGTERM or SIGINT: the watched semaphores of\n"
"the processes, dumps and core files, with their holders and waiters as a graph,\n"
"and the verdict.  The page updates every second.  Without PID and FILE it shows\n"
"all processes of this user, and the named semaphores.\n"
"\n"
"      --listen=ADDRESS:PORT  listen there (default: 127.0.0.1:9465); port 0\n"
"                     chooses a free port, which is printed\n"
"      --allow-remote allow an ADDRESS that other machines can reach\n"
"  -h, --help         print this text\n"
"\n"
"The printed URL contains a random key, without which there is no answer; the\n"
"environment variable WEIR_WEB_KEY sets another key.\n"
"\n"
"Exit status: 0 after SIGTERM or SIGINT; 64 wrong usage; 65 damaged; 69 no\n"
"such process or file, or no libmicrohttpd; 75 the port is in use; 77 permission\n"
"denied; 125 weir failed.\n",
	.run = run,
};
