/* SPDX-License-Identifier: MIT */
/* Use over time, and the line that shows it. */
#include <string.h>

#include "cmd/watch.h"

int64_t watch_used(const weir_named_info *info)
{
	return info->held + info->granted;
}

void history_add(struct history *history, const weir_named_info *info)
{
	/* Counts reach 2^60: as parts of one they fit, and rounding is fine. */
	double used = (double)watch_used(info), all = (double)info->capacity;
	double part = used <= 0 ? 0 : all <= 0 ? 2000 : 1000 * used / all;

	/* A little is not nothing. */
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

			/* All of it, and nothing else, is the highest. */
			level = part >= 1000 ? 8 : (part * 7 + 999) / 1000;
		}
		text = stpcpy(text, (utf8 ? blocks : marks)[level]);
	}
}
