/* SPDX-License-Identifier: MIT */
/* This file replaces http.c if libmicrohttpd is not available. */
#include "cmd/http/http.h"
#include "cmd/lib/fail.h"

void http_load(const struct http_site *site)
{
	cmd_die(EXIT_CLOSED, "%s: this weir was built without libmicrohttpd, so "
		"it cannot listen%s", site->name, site->otherwise);
}

void http_run(const struct http_site *site, int listener, const char *address)
{
	(void)site;
	(void)listener;
	(void)address;
}

struct http_answer http_busy(void)
{
	return (struct http_answer){ .status = 503 };
}
