/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_FIBER_H
#define TESTS_MODEL_FIBER_H

/*
 * User-level threads: a stack each, and a switch that costs a few nanoseconds.
 */
#include <stddef.h>
#include <stdint.h>

#define FIBER_STACK (64 * 1024)

struct fiber {
	void *sp;	/* where it stands while it does not run */
	char *stack;	/* FIBER_STACK bytes, aligned to 16 */
};

/* Ready to run entry(), which must not return. */
void fiber_prepare(struct fiber *fiber, void (*entry)(void));

/* Go on with `to`; returns when somebody switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif /* TESTS_MODEL_FIBER_H */
