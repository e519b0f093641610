/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_SITE_H
#define WEIR_CORE_SITE_H

/* The call site in the program, for acquires that the library itself makes. */
#include <stdbool.h>
#include <stdint.h>

#include "core/sem_watched.h"
#include "core/sem_word.h"
#include "record/record.h"

/*
 * Acquires between begin and end are recorded with the call site of the public
 * function, `site`.  No function of the program is called between them.  Begin
 * returns true if *sem is watched; the caller passes this result to end.
 */
static inline bool weir_site_begin_(const weir_sem *sem, uint64_t site)
{
	bool watched = weir_state_(sem) & WEIR_STATE_TRACKED_;

	if (watched)
		weir_record_begin_(site);
	return watched;
}

static inline void weir_site_end_(bool watched)
{
	if (watched)
		weir_record_end_();
}

#endif /* WEIR_CORE_SITE_H */
