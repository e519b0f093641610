/* SPDX-License-Identifier: MIT */
/* This file replaces http.c if libmicrohttpd is not available. */
#include "cmd/export/http.h"
#include "cmd/lib/fail.h"

void http_load(void)
{
	cmd_die(EXIT_CLOSED, "export: this weir was built without "
		"libmicrohttpd, so it cannot listen; \"weir export --once\" "
		"prints the metrics");
}

void http_run(int listener, const char *address)
{
	(void)listener;
	(void)address;
}
