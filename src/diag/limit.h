/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_LIMIT_H
#define WEIR_DIAG_LIMIT_H

/* Reports that the program did not ask for: how many, and one at a time. */
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if a report may be printed: at most `most` in a minute.  *spent is
 * 0 at first; it has the minute and the reports in it.
 */
bool weir_diag_may_print_(uint64_t *spent, uint32_t most);

/*
 * Begin and end a report on the calling thread, which may call a function of the
 * program.  weir_diag_begin_ returns false if a report of this thread has not
 * ended: that function has timed out itself.  Otherwise the thread cannot be
 * cancelled until weir_diag_end_, which gets *before.
 */
bool weir_diag_begin_(int *before);
void weir_diag_end_(int before);

#endif /* WEIR_DIAG_LIMIT_H */
