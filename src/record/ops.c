/* SPDX-License-Identifier: MIT */
/*
 * The table of waiting operations (ops.h): a hash table of fixed size.  An
 * operation is in one of the OPS_REACH entries that follow its hash.
 */
#include "record/ops.h"

#include "base/atomic.h"

#ifndef WEIR_OPS_		/* the explorer uses less memory */
#define WEIR_OPS_ 4096u
#endif
#define OPS WEIR_OPS_		/* entries of the table of operations */
#define OPS_REACH 32u		/* entries in which an operation may be */

/* The key is set last and cleared last. */
static struct {
	uintptr_t op;		/* 0: unused; 1: being changed */
	char *base;		/* registry of the wait */
	uint32_t wait;		/* index + 1 */
	uint32_t context;	/* index + 1 */
} ops[OPS];

static uint32_t op_hash(const void *op)
{
	uintptr_t at = (uintptr_t)op >> 4;

	return (uint32_t)(at ^ at >> 7 ^ at >> 15);
}

bool weir_ops_add_(const void *op, char *base, uint32_t wait, uint32_t context)
{
	for (uint32_t i = 0; i < OPS_REACH; i++) {
		uint32_t at = (op_hash(op) + i) % OPS;
		uintptr_t none = 0;

		/* relaxed: all; the lock of the semaphore publishes it. */
		if (at_load_relaxed(&ops[at].op) ||
		    !at_cas_weak_relaxed(&ops[at].op, &none, 1))
			continue;
		ops[at].base = base;
		ops[at].wait = wait;
		ops[at].context = context;
		/* relaxed: as above. */
		at_store_relaxed(&ops[at].op, (uintptr_t)op);
		return true;
	}
	return false;
}

uint32_t weir_ops_find_(const void *op, const char *base)
{
	for (uint32_t i = 0; i < OPS_REACH; i++) {
		uint32_t at = (op_hash(op) + i) % OPS;

		/* relaxed: as in weir_ops_add_. */
		if (at_load_relaxed(&ops[at].op) == (uintptr_t)op &&
		    ops[at].base == base)
			return ops[at].wait;
	}
	return 0;
}

uint32_t weir_ops_remove_(const void *op, const char *base, uint32_t *context)
{
	for (uint32_t i = 0; i < OPS_REACH; i++) {
		uint32_t at = (op_hash(op) + i) % OPS, wait;

		/* relaxed: both; as in weir_ops_add_. */
		if (at_load_relaxed(&ops[at].op) != (uintptr_t)op)
			continue;
		wait = 0;
		/* An entry of the parent of a fork is only removed. */
		if (ops[at].base == base) {
			wait = ops[at].wait;
			*context = ops[at].context;
		}
		/* relaxed: as above. */
		at_store_relaxed(&ops[at].op, 0);
		if (wait)
			return wait;
	}
	return 0;
}
