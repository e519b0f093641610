/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HISTORY_GENERATE_H
#define TESTS_HISTORY_GENERATE_H

#include "history.h"

#define GENERATED_MAX 400

/*
 * A history that is correct by construction: the sequential model of
 * tests/refmodel performs one operation after the other, and each call gets
 * stamps before and after its operation. `spread` is the maximum distance of
 * the stamps, in operations; with 0, calls that do not wait do not overlap.
 */
history generate(uint64_t *random, weir_policy policy, int spread, op *ops);

/*
 * Make one result wrong.  Returns false if no result can be changed so that the
 * error is visible.
 */
bool spoil(history *h, uint64_t *random);

#endif /* TESTS_HISTORY_GENERATE_H */
