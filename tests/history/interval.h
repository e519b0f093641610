/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HISTORY_INTERVAL_H
#define TESTS_HISTORY_INTERVAL_H

#include "history.h"

/* Conditions that every right history meets: interval.c.  Never UNDECIDED. */
void interval_check(const history *h, verdict *v);

#endif /* TESTS_HISTORY_INTERVAL_H */
