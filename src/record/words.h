/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_WORDS_H
#define WEIR_RECORD_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The words of the environment variable WEIR_DIAG, which are separated by
 * commas.  An unknown word is ignored, and a wrong value is replaced by the
 * default; the first bad word is named on standard error.  The variable is read
 * once, when the library is loaded or the first semaphore is initialised, and
 * not at all in a program that runs with the privileges of another user.
 */
struct weir_diag_words_ {
	bool off;		/* nothing is watched */
	bool all;		/* also semaphores without a name */
	bool order;
	uint32_t report;	/* timeout reports a minute; 0: none */
	uint32_t watchdog_ms;	/* period of the watchdog thread; 0: none */
	uint32_t hold_ms;	/* a longer hold is reported; 0: none */
	const char *bad;	/* the first bad word; null: none */
	size_t bad_length;
};

/* Reports a minute, for `report` without a number. */
#define WEIR_DIAG_REPORTS_ 6u

const struct weir_diag_words_ *weir_diag_words_(void);

/* Parse `text` (may be null); for tests. */
struct weir_diag_words_ weir_diag_parse_(const char *text);

#endif /* WEIR_RECORD_WORDS_H */
