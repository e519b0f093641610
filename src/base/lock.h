/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_LOCK_H
#define WEIR_BASE_LOCK_H

#include <stdint.h>

/*
 * A mutex in 32 bits that sleeps.  Zero is unlocked.  After the store that
 * unlocks, the word is not read or written again: its owner may free it.
 */
void weir_lock_(uint32_t *lock);
void weir_unlock_(uint32_t *lock);

#endif /* WEIR_BASE_LOCK_H */
