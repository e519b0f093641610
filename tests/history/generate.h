/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HISTORY_GENERATE_H
#define TESTS_HISTORY_GENERATE_H

#include "history.h"

#define GENERATED_MAX 400

/*
 * A history that is right because it was made so: the sequential model of
 * tests/refmodel does one operation after the other, and the calls are given
 * stamps around the moments at which they happened there.  `spread` is how far
 * around, in operations; 0: calls that do not wait do not overlap.
 */
history generate(uint64_t *random, weir_policy policy, int spread, op *ops);

/*
 * Make one answer wrong, if there is one that can be made wrong in a way that
 * shows; false if not.
 */
bool spoil(history *h, uint64_t *random);

#endif /* TESTS_HISTORY_GENERATE_H */
