/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_SPIN_H
#define WEIR_BASE_SPIN_H

/* No thread spins: there is one CPU. */
#include <stdbool.h>
#include <stdint.h>

struct weir_spin_wait_ {
	int64_t until_ns;
	uint32_t pauses, apart;
};

#define weir_spin_wait_may_pay_() false
#define WEIR_SPIN_WAKE_NS_ 0
#define WEIR_SPIN_LOCK_NS_ 0
#define WEIR_SPIN_SLEEP_NS_ 0
#define WEIR_SPIN_RETRY_NS_ 0
#define weir_spin_wait_begin_(ns) ((void)(ns), (struct weir_spin_wait_){ 0, 0, 0 })
#define weir_spin_wait_continue_(spin) ((void)(spin), false)
#define weir_spin_wait_back_off_(spin) ((void)(spin), false)
#define weir_spin_wait_end_(paid) ((void)(paid))

#endif /* WEIR_BASE_SPIN_H */
