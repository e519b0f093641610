/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_LIMIT_H
#define WEIR_DIAG_LIMIT_H

/* The limits of reports that the program has not requested. */
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if a report may be printed: at most `most` in a minute.  *spent is
 * 0 at first; it has the present minute and the number of reports in it.
 */
bool weir_diag_may_print_(uint64_t *spent, uint32_t most);

/*
 * Begin and end a report on the calling thread.  The report may be passed to a
 * function of the program.  weir_diag_begin_ returns false if a report of this
 * thread has not ended: an acquire of that function has timed out.  Otherwise
 * the thread cannot be cancelled until weir_diag_end_, which restores *before.
 */
bool weir_diag_begin_(int *before);
void weir_diag_end_(int before);

#endif /* WEIR_DIAG_LIMIT_H */
