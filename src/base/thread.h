/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_THREAD_H
#define WEIR_BASE_THREAD_H

#include <stdbool.h>

#include "weir/base.h"

/*
 * What a thread has to run after the call it is in: nodes, oldest first, and
 * whether somebody further out on its stack is running them.
 */
struct weir_to_run_ {
	struct weir_ring_ *ready;
	bool running;
};

/* This thread's own. */
struct weir_to_run_ *weir_thread_to_run_(void);

#endif /* WEIR_BASE_THREAD_H */
