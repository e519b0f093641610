/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_LOCK_H
#define WEIR_BASE_LOCK_H

#include <stdint.h>

/*
 * A 32-bit mutex whose waiters sleep.  Zero is unlocked.  The store that
 * unlocks is the last access to the word, so the next holder may free it.
 */
void weir_lock_(uint32_t *lock);
void weir_unlock_(uint32_t *lock);

#endif /* WEIR_BASE_LOCK_H */
