/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_TEXT_H
#define WEIR_CMD_LIB_TEXT_H

/* Spelling suggestions, and output of text that other users wrote. */
#include <stddef.h>
#include <stdio.h>

/* Returns the word that `text` is probably a misspelling of, or null. */
const char *text_nearest(const char *text, const char *const *words,
			 size_t count);
/* Remove an incomplete UTF-8 character at the end. */
void text_trim(char *text);
/*
 * Make a label in place: white space and control characters become single
 * spaces, and an incomplete UTF-8 character at the end is removed.
 */
void text_tidy(char *text);
/*
 * Replace control characters, characters that change the direction of text, and
 * bytes that are not UTF-8, by '?': in place, or while the text is written.
 */
void text_clean(char *text);
void text_plain(FILE *out, const char *text);
/* Returns the text, or "" in quotes if it is empty, for a message. */
const char *text_visible(const char *text);
/* Returns the number of characters that text_plain writes. */
size_t text_columns(const char *text);
/*
 * Return the length of the control character, or of the well-formed UTF-8
 * character, at text; 0 if there is none.  Characters that change the direction
 * of text count as control characters.
 */
size_t text_control(const char *text);
size_t text_utf8(const char *text);

#endif /* WEIR_CMD_LIB_TEXT_H */
