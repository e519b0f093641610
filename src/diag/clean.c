/* SPDX-License-Identifier: MIT */
/* Text of another process, made harmless for a terminal. */
#include "diag/bytes.h"

/*
 * Decode the UTF-8 character at `text`.  Returns its size in bytes; 0 if it is
 * invalid or does not end within `left` bytes.
 */
static size_t decode(const unsigned char *text, size_t left, uint32_t *c)
{
	size_t size = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 :
		      text[0] >> 4 == 14 ? 3 : text[0] >> 3 == 30 ? 4 : 0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (!size || size > left)
		return 0;
	*c = size == 1 ? text[0] : text[0] & (0xffu >> (size + 1));
	for (size_t i = 1; i < size; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		*c = *c << 6 | (text[i] & 0x3f);
	}
	return *c < least[size] || *c > 0x10ffff ||
	       (*c >= 0xd800 && *c < 0xe000) ? 0 : size;
}

/* Returns true if c moves the cursor, or changes the direction of text. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfeff || c == 0x61c;
}

void weir_diag_clean_(char *to, size_t to_size, const char *from, size_t size)
{
	const unsigned char *text = (const unsigned char *)from;
	size_t used = 0, at = 0;

	while (at < size && text[at]) {
		uint32_t c = 0;
		size_t n = decode(text + at, size - at, &c);

		if (used + (n ? n : 1) >= to_size)
			break;
		if (!n || is_control(c)) {
			to[used++] = '?';
			at += n ? n : 1;
			continue;
		}
		for (size_t i = 0; i < n; i++)
			to[used++] = from[at++];
	}
	to[used] = '\0';
}
