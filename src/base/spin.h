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
 *             struct weir_spin_wait_ spin =
 *                     weir_spin_wait_begin_(WEIR_SPIN_WAKE_NS_);
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
	uint32_t pauses;
	uint32_t apart;		/* pauses that a backoff adds to `pauses` */
};

/*
 * Returns true if this thread should spin now.  If its recent spins failed,
 * then the result is rarely true.
 */
bool weir_spin_wait_may_pay_(void);

/*
 * How long to spin.
 *
 *   WAKE   For a permit or an item.  Slightly longer than a wake-up takes: a
 *          shorter spin rarely succeeds, and a longer spin gains nothing.
 *   SLEEP  For a thread that is about to sleep and is notified at the next
 *          release.  As long as it takes to fall asleep and to wake up.
 *   RETRY  For a permit that is known to be released and acquired often.  As
 *          long as ten wake-ups, with pauses that grow.
 *   LOCK   For a lock that is held for a few dozen instructions.  Ten times as
 *          long as these take.
 *   THREAD For a thread that starts or ends on another CPU.  As long as that
 *          takes.
 */
#define WEIR_SPIN_WAKE_NS_ 5000
#define WEIR_SPIN_SLEEP_NS_ 2000
#define WEIR_SPIN_RETRY_NS_ 50000
#define WEIR_SPIN_LOCK_NS_ 1000
#define WEIR_SPIN_THREAD_NS_ 20000

struct weir_spin_wait_ weir_spin_wait_begin_(int64_t ns);

/* Pause for a moment.  Returns false if the time to spin is over. */
bool weir_spin_wait_continue_(struct weir_spin_wait_ *spin);

/*
 * As weir_spin_wait_continue_, but the pauses grow: each takes up to half as
 * long as all pauses before it.  For memory that running threads modify: each
 * poll takes its cache line away from them.  A change is seen late by at most
 * half of the time that has passed; the time to spin is exceeded by as much.
 */
bool weir_spin_wait_back_off_(struct weir_spin_wait_ *spin);

void weir_spin_wait_end_(bool paid);

#endif /* WEIR_BASE_SPIN_H */
