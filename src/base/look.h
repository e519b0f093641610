/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_LOOK_H
#define WEIR_BASE_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Looking at memory for a while instead of going to sleep: worth it if another
 * CPU is about to change it.
 *
 *     if (weir_look_may_pay_()) {
 *             struct weir_look_ look = weir_look_begin_();
 *             bool seen;
 *
 *             do
 *                     seen = look();
 *             while (!seen && weir_look_goes_on_(&look));
 *             weir_look_end_(seen);
 *     }
 */
struct weir_look_ {
	int64_t until_ns;
	uint32_t looks;
};

/* Whether to look this time: seldom where it has not paid lately. */
bool weir_look_may_pay_(void);

struct weir_look_ weir_look_begin_(void);

/* Pause for a moment.  False: that was long enough. */
bool weir_look_goes_on_(struct weir_look_ *look);

void weir_look_end_(bool paid);

#endif /* WEIR_BASE_LOOK_H */
