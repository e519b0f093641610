/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_FIBER_H
#define TESTS_MODEL_FIBER_H

/*
 * User-level threads: each has a stack; a switch costs a few nanoseconds.
 */
#include <stddef.h>
#include <stdint.h>

#define FIBER_STACK (64 * 1024)

struct fiber {
	void *sp;	/* stack pointer while it does not run */
	char *stack;	/* FIBER_STACK bytes, aligned to 16 */
};

/* Make *fiber run entry(), which must not return. */
void fiber_prepare(struct fiber *fiber, void (*entry)(void));

/* Switch to `to`.  Returns when another fiber switches back to `from`. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif /* TESTS_MODEL_FIBER_H */
