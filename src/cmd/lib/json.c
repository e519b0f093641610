/* SPDX-License-Identifier: MIT */
/* Writing JSON.  Only one stream is written at a time. */
#include <inttypes.h>
#include <string.h>

#include "cmd/lib/json.h"

/* True if the next item has to be separated from the last one. */
static bool comma;

/*
 * Returns the length of a UTF-8 sequence by its lead byte; 0 if the byte is not
 * a lead byte.
 */
static size_t utf8_size(unsigned char lead)
{
	return lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 :
	       (lead & 0xf0) == 0xe0 ? 3 :
	       lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

/*
 * Returns true for an overlong form, a surrogate, or a value above U+10FFFF.
 * Requires: text is a lead byte and its continuation bytes.
 */
static bool is_invalid(const unsigned char *text)
{
	return (text[0] == 0xe0 && text[1] < 0xa0) ||
	       (text[0] == 0xed && text[1] > 0x9f) ||
	       (text[0] == 0xf0 && text[1] < 0x90) ||
	       (text[0] == 0xf4 && text[1] > 0x8f);
}

/*
 * Returns the length of the well-formed UTF-8 character at text; 0 if there is
 * none.
 */
static size_t utf8(const unsigned char *text)
{
	size_t size = utf8_size(*text);

	for (size_t i = 1; i < size; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return is_invalid(text) ? 0 : size;
}

static void string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putc('"', out);
	while (*at) {
		size_t size = utf8(at);

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
