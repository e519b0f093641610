/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_JSON_H
#define WEIR_CMD_LIB_JSON_H

/*
 * Writing JSON, one object per line.
 *
 *     json_begin(out, NULL);
 *     json_text(out, "name", name);
 *     json_end(out);
 *     json_line(out);
 *
 * The key is null for the outermost object and for elements of a list.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void json_begin(FILE *out, const char *key);
void json_end(FILE *out);
void json_list(FILE *out, const char *key);
void json_list_end(FILE *out);
void json_text(FILE *out, const char *key, const char *text);
void json_int(FILE *out, const char *key, int64_t value);
void json_bool(FILE *out, const char *key, bool value);
void json_line(FILE *out);

#endif /* WEIR_CMD_LIB_JSON_H */
