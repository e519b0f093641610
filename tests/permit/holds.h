/* SPDX-License-Identifier: MIT */
/* Checks of the content of a permit. */
#ifndef TESTS_PERMIT_HOLDS_H
#define TESTS_PERMIT_HOLDS_H

#include "check.h"
#include "weir/permit.h"

/* Returns true if every byte is as in WEIR_PERMIT_INIT. */
static inline bool is_empty(const weir_permit *permit)
{
	const weir_permit empty = WEIR_PERMIT_INIT;

	return memcmp(permit, &empty, sizeof(empty)) == 0;
}

#define CHECK_HOLDS(permit, sem, n)                                            \
	do {                                                                   \
		CHECK(weir_permit_sem(permit) == (sem));                       \
		CHECK_EQ(weir_permit_count(permit), (n));                      \
	} while (0)

#endif /* TESTS_PERMIT_HOLDS_H */
