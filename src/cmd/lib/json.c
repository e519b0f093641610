/* SPDX-License-Identifier: MIT */
/* Writing JSON.  Only one stream is written at a time. */
#include <inttypes.h>
#include <string.h>

#include "cmd/lib/json.h"
#include "cmd/lib/text.h"

/* True if the next item has to be separated from the last one. */
static bool comma;

static void string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putc('"', out);
	while (*at) {
		size_t size = text_utf8((const char *)at);

		if (!size) {
			fputs("\\ufffd", out);
			size = 1;
		} else if (*at < ' ' || *at == 127) {
			fprintf(out, "\\u%04x", *at);
		} else {
			if (*at == '"' || *at == '\\')
				putc('\\', out);
			fwrite(at, 1, size, out);
		}
		at += size;
	}
	putc('"', out);
}

static void item(FILE *out, const char *key)
{
	if (comma)
		putc(',', out);
	comma = true;
	if (key) {
		string(out, key);
		putc(':', out);
	}
}

void json_begin(FILE *out, const char *key)
{
	item(out, key);
	putc('{', out);
	comma = false;
}

void json_end(FILE *out)
{
	putc('}', out);
	comma = true;
}

void json_list(FILE *out, const char *key)
{
	item(out, key);
	putc('[', out);
	comma = false;
}

void json_list_end(FILE *out)
{
	putc(']', out);
	comma = true;
}

void json_text(FILE *out, const char *key, const char *text)
{
	item(out, key);
	string(out, text);
}

void json_int(FILE *out, const char *key, int64_t value)
{
	item(out, key);
	fprintf(out, "%" PRId64, value);
}

void json_bool(FILE *out, const char *key, bool value)
{
	item(out, key);
	fputs(value ? "true" : "false", out);
}

void json_line(FILE *out)
{
	putc('\n', out);
	comma = false;
}
