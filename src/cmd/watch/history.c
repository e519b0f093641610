/* SPDX-License-Identifier: MIT */
/* Use over time, and its sparkline. */
#include <string.h>

#include "cmd/watch/history.h"

void history_add(struct history *history, int64_t used, int64_t capacity)
{
	/*
	 * The computation is in floating point, because 1000 * used may
	 * overflow an integer.
	 */
	double part = used <= 0 ? 0 : capacity <= 0 ? 2000 :
		      1000 * (double)used / (double)capacity;

	/* If a permit is used, the use is at least 1, so that it is visible. */
	if (used > 0 && part < 1)
		part = 1;
	if (part > 2000)
		part = 2000;
	history->samples[history->count++ % HISTORY_MAX] = (uint16_t)part;
}

void history_text(const struct history *history, size_t width, bool utf8,
		  char *text)
{
	static const char *const blocks[] = {
		" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
		"\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
		"\xe2\x96\x87", "\xe2\x96\x88",
	};
	static const char *const marks[] = { " ", ".", ":", "-", "=",
					     "+", "*", "%", "#" };
	size_t known = history->count < HISTORY_MAX ? history->count :
						      HISTORY_MAX;
	size_t blank = known < width ? width - known : 0;

	*text = '\0';
	for (size_t i = 0; i < width; i++) {
		size_t at = history->count + i - width, level = 0;

		if (i >= blank) {
			unsigned part = history->samples[at % HISTORY_MAX];

			/* The highest level means that all permits are used. */
			level = part >= 1000 ? 8 : (part * 7 + 999) / 1000;
		}
		text = stpcpy(text, (utf8 ? blocks : marks)[level]);
	}
}
