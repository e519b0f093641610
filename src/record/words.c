/* SPDX-License-Identifier: MIT */
#include "record/words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define REPORTS 6u		/* a minute, for the word `report` alone */
#define REPORTS_MAX 6000u

static struct weir_diag_words_ words;
static bool parsed;

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

/* "report=N": returns N, or the default if N is missing or no number. */
static uint32_t reports_of(const char *text, size_t length)
{
	uint32_t n = 0;

	if (length <= strlen("report="))
		return REPORTS;
	for (size_t i = strlen("report="); i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return REPORTS;
		n = n * 10 + (uint32_t)(text[i] - '0');
		if (n > REPORTS_MAX)
			n = REPORTS_MAX;
	}
	return n;
}

struct weir_diag_words_ weir_diag_parse_(const char *text)
{
	struct weir_diag_words_ found = { false, false, false, false, 0 };

	while (text && *text) {
		size_t length = strcspn(text, ",");

		if (is_word(text, length, "off"))
			found.off = true;
		else if (is_word(text, length, "all"))
			found.all = true;
		else if (is_word(text, length, "watchdog"))
			found.watchdog = true;
		else if (is_word(text, length, "order"))
			found.order = true;
		else if (is_word(text, length, "report") ||
			 (length > 6 && !memcmp(text, "report=", 7)))
			found.report = reports_of(text, length);
		text += length;
		text += *text == ',';
	}
	return found;
}

/*
 * A constructor of the program may initialise a semaphore before this one runs:
 * weir_diag_words_ calls it then.
 */
__attribute__((constructor)) static void parse(void)
{
	if (!parsed)
		words = weir_diag_parse_(secure_getenv("WEIR_DIAG"));
	parsed = true;
}

const struct weir_diag_words_ *weir_diag_words_(void)
{
	if (!parsed)
		parse();
	return &words;
}
