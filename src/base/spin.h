/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_SPIN_H
#define WEIR_BASE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Spin on memory for a short time before sleeping.  This pays if another CPU
 * changes the memory soon.
 *
 *     if (weir_spin_wait_may_pay_()) {
 *             struct weir_spin_wait_ spin = weir_spin_wait_begin_();
 *             bool done;
 *
 *             do
 *                     done = condition();
 *             while (!done && weir_spin_wait_continue_(&spin));
 *             weir_spin_wait_end_(done);
 *     }
 */
struct weir_spin_wait_ {
	int64_t until_ns;
	uint32_t polls;
};

/*
 * Returns true if this thread should spin now.  It should do so rarely if its
 * recent spins failed.
 */
bool weir_spin_wait_may_pay_(void);

struct weir_spin_wait_ weir_spin_wait_begin_(void);

/* Pause for a moment.  Returns false if the time to spin is over. */
bool weir_spin_wait_continue_(struct weir_spin_wait_ *spin);

void weir_spin_wait_end_(bool paid);

#endif /* WEIR_BASE_SPIN_H */
