/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_SPIN_H
#define WEIR_BASE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Looking at memory for a while instead of going to sleep: worth it if another
 * CPU is about to change it.
 *
 *     if (weir_spin_wait_may_pay_()) {
 *             struct weir_spin_wait_ look = weir_spin_wait_begin_();
 *             bool seen;
 *
 *             do
 *                     seen = look();
 *             while (!seen && weir_spin_wait_continue_(&look));
 *             weir_spin_wait_end_(seen);
 *     }
 */
struct weir_spin_wait_ {
	int64_t until_ns;
	uint32_t looks;
};

/* Whether to look this time: seldom where it has not paid lately. */
bool weir_spin_wait_may_pay_(void);

struct weir_spin_wait_ weir_spin_wait_begin_(void);

/* Pause for a moment.  False: that was long enough. */
bool weir_spin_wait_continue_(struct weir_spin_wait_ *look);

void weir_spin_wait_end_(bool paid);

#endif /* WEIR_BASE_SPIN_H */
