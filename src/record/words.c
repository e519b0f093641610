/* SPDX-License-Identifier: MIT */
#include "record/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"

#define REPORTS_MAX 6000u
#define PERIOD_MS 5000u		/* for the word `watchdog` alone */
#define PERIOD_MS_MIN 10u
#define SECONDS_MAX 86400u

static struct weir_diag_words_ words;
static bool parsed;

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Read a number of `length` digits.  The result is at most `most`.  Returns
 * false if the text is not a number.
 */
static bool read_number(const char *text, size_t length, uint32_t most,
			uint32_t *number)
{
	uint32_t n = 0;

	if (!length)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!is_digit(text[i]))
			return false;
		n = n * 10 + (uint32_t)(text[i] - '0');
		if (n > most)
			n = most;
	}
	*number = n;
	return true;
}

/* "60", "0.25": seconds.  Returns false if it is no number, or below 1 ms. */
static bool read_seconds(const char *text, size_t length, uint32_t *ms)
{
	size_t whole = 0;
	uint32_t seconds = 0, part = 0, unit = 100;

	while (whole < length && text[whole] != '.')
		whole++;
	if (!read_number(text, whole, SECONDS_MAX, &seconds))
		return false;
	for (size_t i = whole + 1; i < length; i++, unit /= 10) {
		if (!is_digit(text[i]))
			return false;
		part += (uint32_t)(text[i] - '0') * unit;
	}
	if (!seconds && !part)
		return false;
	*ms = seconds * 1000 + part;
	return true;
}

/*
 * Returns the value in "name=value"; null: the text has another form or name.
 */
static const char *value_of(const char *text, size_t length, const char *name)
{
	size_t size = strlen(name);

	return length > size && !memcmp(text, name, size) &&
	       text[size] == '=' ? text + size + 1 : NULL;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

/*
 * Take a word with a value.  `report` and `watchdog` with a wrong value get
 * their default.  Returns false if the word is unknown or its value is wrong.
 */
static bool take_value(struct weir_diag_words_ *found, const char *text,
		       size_t length)
{
	const char *end = text + length, *value;

	value = value_of(text, length, "report");
	if (value) {
		found->report = WEIR_DIAG_REPORTS_;
		return read_number(value, (size_t)(end - value), REPORTS_MAX,
				   &found->report);
	}
	value = value_of(text, length, "watchdog");
	if (value) {
		bool good = read_seconds(value, (size_t)(end - value),
					 &found->watchdog_ms);

		if (!good)
			found->watchdog_ms = PERIOD_MS;
		else if (found->watchdog_ms < PERIOD_MS_MIN)
			found->watchdog_ms = PERIOD_MS_MIN;
		return good;
	}
	value = value_of(text, length, "hold");
	if (!value ||
	    !read_seconds(value, (size_t)(end - value), &found->hold_ms))
		return false;
	if (!found->watchdog_ms)
		found->watchdog_ms = PERIOD_MS;
	return true;
}

static bool take(struct weir_diag_words_ *found, const char *text,
		 size_t length)
{
	if (is_word(text, length, "off"))
		found->off = true;
	else if (is_word(text, length, "all"))
		found->all = true;
	else if (is_word(text, length, "order"))
		found->order = true;
	else if (is_word(text, length, "report"))
		found->report = WEIR_DIAG_REPORTS_;
	else if (is_word(text, length, "watchdog"))
		found->watchdog_ms = PERIOD_MS;
	else
		return !length || take_value(found, text, length);
	return true;
}

struct weir_diag_words_ weir_diag_parse_(const char *text)
{
	struct weir_diag_words_ found = { 0 };

	while (text && *text) {
		size_t length = strcspn(text, ",");

		if (!take(&found, text, length) && !found.bad) {
			found.bad = text;
			found.bad_length = length;
		}
		text += length;
		text += *text == ',';
	}
	return found;
}

/* Name the first bad word on standard error, without control characters. */
static void complain(const char *bad, size_t length)
{
	char line[96] = "weir: WEIR_DIAG: unknown word or value: ";
	size_t used = strlen(line);
	int before = errno;

	for (size_t i = 0; i < length && i < 48; i++)
		line[used++] = bad[i] > ' ' && bad[i] < 127 ? bad[i] : '?';
	line[used++] = '\n';
	weir_print_(STDERR_FILENO, line, used);
	errno = before;
}

/*
 * A constructor of the program may initialise a semaphore before this
 * constructor runs.  weir_diag_words_ then calls this function.
 */
__attribute__((constructor)) static void parse(void)
{
	if (parsed)
		return;
	words = weir_diag_parse_(secure_getenv("WEIR_DIAG"));
	parsed = true;
	if (words.bad)
		complain(words.bad, words.bad_length);
}

const struct weir_diag_words_ *weir_diag_words_(void)
{
	if (!parsed)
		parse();
	return &words;
}
