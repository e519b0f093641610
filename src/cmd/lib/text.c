/* SPDX-License-Identifier: MIT */
/* Spelling suggestions, and output of text that other users wrote. */
#include <stdbool.h>
#include <string.h>

#include "cmd/lib/text.h"

#define WORD_MAX 32

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns the edit distance of two words: the number of letters to insert,
 * delete, replace or swap with their neighbour.
 */
static size_t distance(const char *a, const char *b)
{
	size_t m = strlen(a), n = strlen(b);
	size_t row[3][WORD_MAX + 1];

	if (m > WORD_MAX || n > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= n; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= m; i++) {
		size_t *now = row[i % 3];
		const size_t *last = row[(i + 2) % 3];
		const size_t *before_last = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= n; j++) {
			now[j] = least(least(last[j], now[j - 1]) + 1,
				       last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = least(now[j],
					       before_last[j - 2] + 1);
		}
	}
	return row[m % 3][n];
}

const char *text_nearest(const char *text, const char *const *words,
			 size_t count)
{
	/* Short words allow fewer errors: any short word resembles others. */
	size_t length = strlen(text);
	size_t best = (length < 4 ? 1 : least(length / 2, 3)) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t far = distance(text, words[i]);

		if (far < best && far < strlen(words[i])) {
			best = far;
			found = words[i];
		}
	}
	return found;
}

/* Returns the number of continuation bytes that a UTF-8 lead byte announces. */
static int utf8_tail(unsigned char lead)
{
	return lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
}

void text_trim(char *text)
{
	char *end = strchr(text, 0), *last = end - 1;

	if (end == text)
		return;
	while (last > text && (*last & 0xc0) == 0x80)
		last--;
	if (utf8_tail((unsigned char)*last) > end - 1 - last)
		*last = 0;
}

void text_tidy(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		bool blank = (unsigned char)*at <= ' ' || *at == 127;

		if (!blank)
			*to++ = *at;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = 0;
	text_trim(text);
}

/*
 * Returns true for these characters of three bytes, which are invisible or change
 * the direction of text: U+200B to U+200F, U+2028 to U+202E, U+2066 to U+2069,
 * U+FEFF.
 */
static bool is_invisible(const unsigned char *text)
{
	if (text[0] == 0xef)
		return text[1] == 0xbb && text[2] == 0xbf;
	if (text[0] != 0xe2)
		return false;
	return text[1] == 0x80 ? (text[2] >= 0x8b && text[2] <= 0x8f) ||
				 (text[2] >= 0xa8 && text[2] <= 0xae) :
	       text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9;
}

/*
 * The control characters U+0080 to U+009F, and U+061C, which changes the direction
 * of text, have two bytes in UTF-8.
 */
size_t text_control(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if ((bytes[0] == 0xc2 && (bytes[1] & 0xe0) == 0x80) ||
	    (bytes[0] == 0xd8 && bytes[1] == 0x9c))
		return 2;
	if (is_invisible(bytes))
		return 3;
	return *bytes < ' ' || *bytes == 127;
}

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

size_t text_utf8(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t size = utf8_size(*bytes);

	for (size_t i = 1; i < size; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return is_invalid(bytes) ? 0 : size;
}

/*
 * Returns true if the character at text may be written: it is well-formed, and
 * no control character.  *size is set to its length in any case.
 */
static bool is_plain(const char *text, size_t *size)
{
	size_t control = text_control(text);

	*size = control ? control : text_utf8(text);
	if (*size)
		return !control;
	*size = 1;
	return false;
}

void text_clean(char *text)
{
	char *to = text;
	size_t size;

	for (; *text; text += size) {
		if (is_plain(text, &size)) {
			memmove(to, text, size);
			to += size;
		} else {
			*to++ = '?';
		}
	}
	*to = 0;
}

void text_plain(FILE *out, const char *text)
{
	size_t size;

	for (; *text; text += size) {
		if (is_plain(text, &size))
			fwrite(text, 1, size, out);
		else
			putc('?', out);
	}
}

const char *text_visible(const char *text)
{
	return *text ? text : "\"\"";
}

size_t text_columns(const char *text)
{
	size_t count = 0, size;

	for (; *text; text += size, count++)
		(void)is_plain(text, &size);
	return count;
}
