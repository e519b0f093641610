/* SPDX-License-Identifier: MIT */
/*
 * URLs of semaphores:
 *
 *     SCHEME://[USER[:PASSWORD]@]HOST[:PORT][,...][/DATABASE]/NAME[?OPTIONS]
 *
 * The URL of a server ends before /NAME.  A host may be an IPv6 address in
 * brackets.  "%41" stands for "A" in every part.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/url.h"

/* Copy [from, to) and decode it.  Returns false if it does not fit. */
static bool copy(char *out, size_t size, const char *from, const char *to)
{
	size_t used = 0;

	while (from < to) {
		char c = *from++;

		if (c == '%') {
			char hex[3] = { 0 };

			if (to - from < 2 || !isxdigit((unsigned char)from[0]) ||
			    !isxdigit((unsigned char)from[1]))
				return false;
			memcpy(hex, from, 2);
			c = (char)strtol(hex, NULL, 16);
			from += 2;
		}
		if (!c || used + 1 >= size)
			return false;
		out[used++] = c;
	}
	out[used] = 0;
	return true;
}

/* Parse one HOST[:PORT]. */
static bool parse_host(struct url_host *host, const char *from, const char *to)
{
	const char *end = to, *port = NULL;
	long number;

	if (from < to && *from == '[') {
		end = memchr(from, ']', (size_t)(to - from));
		if (!end)
			return false;
		from++;
		if (end + 1 < to && end[1] != ':')
			return false;
		port = end + 1 < to ? end + 2 : NULL;
	} else {
		const char *colon = memchr(from, ':', (size_t)(to - from));

		if (colon) {
			end = colon;
			port = colon + 1;
		}
	}
	if (!copy(host->name, sizeof(host->name), from, end) || !host->name[0])
		return false;
	host->port[0] = 0;
	if (!port)
		return true;
	for (const char *p = port; p < to; p++)
		if (!isdigit((unsigned char)*p))
			return false;
	if (port == to || !copy(host->port, sizeof(host->port), port, to))
		return false;
	/* getaddrinfo would take the number modulo 2^16. */
	number = strtol(host->port, NULL, 10);
	return number > 0 && number <= UINT16_MAX;
}

static bool parse_hosts(struct url *url, const char *from, const char *to)
{
	while (from < to) {
		const char *comma = memchr(from, ',', (size_t)(to - from));
		const char *end = comma ? comma : to;

		if (url->host_count == URL_HOSTS ||
		    !parse_host(&url->hosts[url->host_count], from, end))
			return false;
		url->host_count++;
		from = comma ? comma + 1 : to;
	}
	return url->host_count > 0;
}

/* Parse "250ms", "10s", "5m", "1h"; a number alone is in seconds. */
static bool parse_time(const char *text, int64_t *ns)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {
		{ "ms", 1000000 }, { "s", 1000000000 }, { "", 1000000000 },
		{ "m", INT64_C(60000000000) }, { "h", INT64_C(3600000000000) },
	};
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || value <= 0 || value > 1000000)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].unit)) {
			*ns = value * units[i].ns;
			return true;
		}
	return false;
}

static bool set_text(char *out, size_t size, const char *value)
{
	size_t length = strlen(value);

	if (length >= size)
		return false;
	memcpy(out, value, length + 1);
	return true;
}

static const char *unless(bool ok, const char *why)
{
	return ok ? NULL : why;
}

/* The value has been decoded.  Returns null, or a message. */
static const char *set_option(struct url *url, const char *key,
			      const char *value)
{
	char *end;
	long number;

	if (!strcmp(key, "ttl"))
		return unless(parse_time(value, &url->ttl_ns),
			      "the option ttl is not a time such as 10s");
	if (!strcmp(key, "timeout"))
		return unless(parse_time(value, &url->timeout_ns),
			      "the option timeout is not a time such as 10s");
	if (!strcmp(key, "db"))
		return unless(set_text(url->database, sizeof(url->database),
				       value), "the option db is too long");
	if (!strcmp(key, "ca"))
		return unless(set_text(url->ca, sizeof(url->ca), value),
			      "the option ca is too long");
	if (!strcmp(key, "sslmode"))
		return unless(set_text(url->sslmode, sizeof(url->sslmode),
				       value), "the option sslmode is too long");
	if (strcmp(key, "replicas"))
		return "an option is unknown; the options are ttl, timeout, db, "
		       "ca, sslmode and replicas";
	number = strtol(value, &end, 10);
	url->replicas = (uint32_t)number;
	return unless(end != value && !*end && number >= 0 && number < 100,
		      "the option replicas is not a number from 0 to 99");
}

static const char *parse_options(struct url *url, const char *from)
{
	const char *why = NULL;

	while (!why && *from) {
		const char *end = strchrnul(from, '&');
		const char *equals = memchr(from, '=', (size_t)(end - from));
		char key[16], value[URL_TEXT];

		if (!equals || !copy(key, sizeof(key), from, equals) ||
		    !copy(value, sizeof(value), equals + 1, end))
			return "an option does not have the form KEY=VALUE, or "
			       "is too long";
		why = set_option(url, key, value);
		from = *end ? end + 1 : end;
	}
	return why;
}

/* Parse [USER[:PASSWORD]@]HOSTS. */
static const char *parse_authority(struct url *url, const char *from,
				   const char *to)
{
	const char *at = memrchr(from, '@', (size_t)(to - from));

	if (at) {
		const char *colon = memchr(from, ':', (size_t)(at - from));
		const char *end = colon ? colon : at;

		if (!copy(url->user, sizeof(url->user), from, end) ||
		    (colon && !copy(url->password, sizeof(url->password),
				    colon + 1, at)))
			return "the user is not valid";
		from = at + 1;
	}
	return parse_hosts(url, from, to) ? NULL :
	       "a host or a port is not valid";
}

/* Parse [/DATABASE][/], the path of a server. */
static const char *parse_server(struct url *url, const char *from,
				const char *to)
{
	if (to > from && to[-1] == '/')
		to--;
	if (to > from + 1 &&
	    !copy(url->database, sizeof(url->database), from + 1, to))
		return "the database is not valid";
	return NULL;
}

/* Parse [/DATABASE]/NAME. */
static const char *parse_path(struct url *url, const char *from,
			      const char *to)
{
	const char *slash = memrchr(from, '/', (size_t)(to - from));

	if (!slash || slash + 1 == to)
		return "the name is missing";
	if (slash > from &&
	    !copy(url->database, sizeof(url->database), from + 1, slash))
		return "the database is not valid";
	if (!copy(url->name, sizeof(url->name), slash + 1, to))
		return "the name is longer than 128 bytes, or has a % that two "
		       "hexadecimal digits do not follow";
	for (const char *p = url->name; *p; p++)
		if (iscntrl((unsigned char)*p) || *p == '{' || *p == '}' ||
		    *p == '/')
			return "the name has a control character, a slash or a "
			       "brace";
	return NULL;
}

const char *weir_cl_url_parse_(const char *text, bool named, struct url *url)
{
	const char *rest = strstr(text, "://"), *path, *query, *why;

	memset(url, 0, sizeof(*url));
	if (!rest || rest == text ||
	    !copy(url->scheme, sizeof(url->scheme), text, rest))
		return "there is no scheme";
	rest += 3;
	query = strchrnul(rest, '?');
	path = memchr(rest, '/', (size_t)(query - rest));
	if (!path && named)
		return "the name is missing";
	if (!path)
		path = query;
	why = parse_authority(url, rest, path);
	if (!why)
		why = named ? parse_path(url, path, query) :
			      parse_server(url, path, query);
	if (!why && *query)
		why = parse_options(url, query + 1);
	url->tls = !strcmp(url->scheme, "rediss") ||
		   !strcmp(url->scheme, "etcds");
	if (!why && !strncmp(url->scheme, "etcd", 4) &&
	    (url->user[0] || url->password[0]))
		why = "weir does not authenticate users of etcd";
	return why;
}
