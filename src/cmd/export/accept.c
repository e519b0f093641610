/* SPDX-License-Identifier: MIT */
/*
 * The header Accept: a list such as
 *
 *     application/openmetrics-text;version=1.0.0,text/plain;q=0.5
 *
 * The header comes from the client.  Anything that cannot be parsed is ignored.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cmd/export/accept.h"

#define BLANKS " \t"

/* A part of the header: [at, end). */
struct span {
	const char *at, *end;
};

static struct span trim(struct span span)
{
	while (span.at < span.end && strchr(BLANKS, *span.at))
		span.at++;
	while (span.end > span.at && strchr(BLANKS, span.end[-1]))
		span.end--;
	return span;
}

/*
 * Cut the text before the first `separator` off rest, and return it without
 * blanks.  Both are empty at the end.
 */
static struct span cut(struct span *rest, char separator)
{
	const char *end = memchr(rest->at, separator,
				 (size_t)(rest->end - rest->at));
	struct span first = { rest->at, end ? end : rest->end };

	rest->at = end ? end + 1 : rest->end;
	return trim(first);
}

static bool is(struct span span, const char *word)
{
	return (size_t)(span.end - span.at) == strlen(word) &&
	       !strncasecmp(span.at, word, strlen(word));
}

/* Returns a weight such as "0.75" in thousandths; -1 if it is not valid. */
static int weight(struct span text)
{
	int value = 0, unit = 1000;

	if (text.at == text.end || (*text.at != '0' && *text.at != '1'))
		return -1;
	value = (*text.at++ - '0') * 1000;
	if (text.at < text.end && *text.at++ != '.')
		return -1;
	for (; text.at < text.end; text.at++) {
		if (*text.at < '0' || *text.at > '9' || unit == 1)
			return -1;
		unit /= 10;
		value += (*text.at - '0') * unit;
	}
	return value <= 1000 ? value : -1;
}

/* One element of the list. */
struct range {
	struct span type;
	int weight;		/* in thousandths */
	bool known_version;	/* no version, or one that format.c writes */
};

static struct range parse(struct span element)
{
	struct range range = { cut(&element, ';'), 1000, true };

	while (element.at < element.end) {
		struct span value = cut(&element, ';');
		struct span name = cut(&value, '=');

		value = trim(value);
		if (value.end - value.at > 1 && *value.at == '"' &&
		    value.end[-1] == '"') {
			value.at++;
			value.end--;
		}
		if (is(name, "q"))
			range.weight = weight(value);
		else if (is(name, "version"))
			range.known_version = is(value, "1.0.0") ||
					      is(value, "0.0.1");
	}
	return range;
}

enum format accept_format(const char *header)
{
	struct span rest = { header, header ? header + strlen(header) : NULL };
	int open = 0, text = 0;

	while (rest.at < rest.end) {
		struct range range = parse(cut(&rest, ','));

		if (is(range.type, "application/openmetrics-text")) {
			if (range.known_version && range.weight > open)
				open = range.weight;
		} else if ((is(range.type, "text/plain") ||
			    is(range.type, "text/*") ||
			    is(range.type, "*/*")) && range.weight > text) {
			text = range.weight;
		}
	}
	return open && open >= text ? FORMAT_OPENMETRICS : FORMAT_PROMETHEUS;
}
