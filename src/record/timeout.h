/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_TIMEOUT_H
#define WEIR_RECORD_TIMEOUT_H

#include <stdint.h>

/*
 * Called when a recorded wait has timed out, before its record ends and without
 * a lock; `wait` is the index of the record.  src/diag implements it: it prints
 * a report if one was asked for.
 */
void weir_diag_timed_out_(uint64_t object, uint32_t wait);

#endif /* WEIR_RECORD_TIMEOUT_H */
