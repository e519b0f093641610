/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HISTORY_INTERVAL_H
#define TESTS_HISTORY_INTERVAL_H

#include "history.h"

/*
 * Check necessary conditions of a correct history: interval.c.  The verdict is
 * never UNDECIDED.
 */
void interval_check(const history *h, verdict *v);

#endif /* TESTS_HISTORY_INTERVAL_H */
