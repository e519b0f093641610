/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_OPS_H
#define WEIR_RECORD_OPS_H

/*
 * The table of waiting operations.  An operation has no room for the number of
 * its wait: this table finds the wait by the address of the operation.
 *
 * Each function is called with the semaphore of the operation locked, or by the
 * only thread that may use the operation.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * Add an operation with its wait and its context, both as index + 1, in the
 * registry at `base`.  Returns false if the table is full.
 */
bool weir_ops_add_(const void *op, char *base, uint32_t wait, uint32_t context);

/* Returns the wait of an operation; 0: there is none in this registry. */
uint32_t weir_ops_find_(const void *op, const char *base);

/*
 * As weir_ops_find_, and removes the operation.  Sets *context if the result is
 * not 0.
 */
uint32_t weir_ops_remove_(const void *op, const char *base, uint32_t *context);

#endif /* WEIR_RECORD_OPS_H */
