/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WATCH_HISTORY_H
#define WEIR_CMD_WATCH_HISTORY_H

/* Use over time, and its sparkline. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_MAX 1024

struct history {
	/* Use in 1/1000 of the capacity; above 1000 if there is debt. */
	uint16_t samples[HISTORY_MAX];
	size_t count;		/* samples ever added */
};

void history_add(struct history *history, int64_t used, int64_t capacity);
/*
 * Write the last `width` samples as text, one character each, padded with
 * blanks on the left.  text has room for 3 * width + 1 bytes.
 */
void history_text(const struct history *history, size_t width, bool utf8,
		  char *text);

#endif /* WEIR_CMD_WATCH_HISTORY_H */
