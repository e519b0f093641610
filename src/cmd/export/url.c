/* SPDX-License-Identifier: MIT */
/* The label and the name of a URL. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/export/servers.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/remote.h"

/* Returns the value of the option "db"; "" if there is none. */
static const char *database(const char *options)
{
	while (*options) {
		options++;	/* '?' or '&' */
		if (!strncmp(options, "db=", 3))
			return options + 3;
		options += strcspn(options, "&");
	}
	return "";
}

const char *url_label(const char *url, bool is_server)
{
	/* Without the password, also if the URL is not valid. */
	const char *shown = remote_display(url);
	const char *scheme = strstr(shown, "://");
	const char *from = scheme ? scheme + 3 : shown;
	const char *options = from + strcspn(from, "?");
	const char *to = options, *host, *db = database(options);
	size_t scheme_size = (size_t)(from - shown), size, db_size;
	char *label, *clean;

	if (!is_server && remote_has_name(shown))
		while (to > from && to[-1] != '/')
			to--;
	while (to > from && to[-1] == '/')
		to--;
	/* A name or a database may contain "@", too. */
	host = memrchr(from, '@', strcspn(from, "/?"));
	host = host ? host + 1 : from;
	size = (size_t)(to - host);
	db_size = strcspn(db, "&");
	label = memory_realloc(NULL, scheme_size + size + db_size + 6);
	memcpy(label, shown, scheme_size);
	memcpy(label + scheme_size, host, size);
	label[scheme_size + size] = 0;
	if (db_size) {
		strcat(label, "/?db=");
		strncat(label, db, db_size);
	}
	/* $WEIR_URL may be any text; a mistake is reported later. */
	clean = metrics_clean(label);
	free(label);
	return clean;
}

void url_name(const char *url, bool is_server, char *to, size_t size)
{
	const char *end = url + strcspn(url, "?"), *from = end;
	size_t used = 0;

	while (!is_server && remote_has_name(url) && from[-1] != '/')
		from--;
	while (from < end && used + 1 < size) {
		if (*from == '%' && isxdigit((unsigned char)from[1]) &&
		    isxdigit((unsigned char)from[2])) {
			char hex[3] = { from[1], from[2], 0 };

			to[used++] = (char)strtol(hex, NULL, 16);
			from += 3;
		} else {
			to[used++] = *from++;
		}
	}
	to[used] = 0;
}
