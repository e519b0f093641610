/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_WORDS_H
#define WEIR_RECORD_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The words of the environment variable WEIR_DIAG, which are separated by
 * commas.  Unknown words are ignored.  The variable is read once, when the
 * library is loaded or the first semaphore is initialised, and not at all in a
 * program that runs with the privileges of another user.
 */
struct weir_diag_words_ {
	bool off;		/* nothing is watched */
	bool all;		/* also semaphores without a name */
	bool watchdog;
	bool order;
	uint32_t report;	/* timeout reports a minute; 0: none */
};

const struct weir_diag_words_ *weir_diag_words_(void);

/* Parse `text` (may be null); for tests. */
struct weir_diag_words_ weir_diag_parse_(const char *text);

#endif /* WEIR_RECORD_WORDS_H */
