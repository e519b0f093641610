/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HISTORY_LINEAR_H
#define TESTS_HISTORY_LINEAR_H

#include "history.h"

/* The memory of a search: made once, all of it at once, and used again. */
typedef struct linear linear;
linear *linear_new(void);
void linear_free(linear *l);

/*
 * Whether some order of steps explains the history: linear.c.  UNDECIDED after
 * so many steps, or if the memory is used up.
 */
void linear_check(linear *l, const history *h, uint64_t steps_max, verdict *v);

#endif /* TESTS_HISTORY_LINEAR_H */
