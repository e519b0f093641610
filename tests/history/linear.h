/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HISTORY_LINEAR_H
#define TESTS_HISTORY_LINEAR_H

#include "history.h"

/* The memory of a search: allocated once, completely, and reused. */
typedef struct linear linear;
linear *linear_new(void);
void linear_free(linear *l);

/*
 * Check whether some order of steps explains the history: linear.c.  The
 * verdict is UNDECIDED after steps_max steps, or if the memory is exhausted.
 */
void linear_check(linear *l, const history *h, uint64_t steps_max, verdict *v);

#endif /* TESTS_HISTORY_LINEAR_H */
