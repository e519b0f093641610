/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_FORK_H
#define WEIR_BASE_FORK_H

#include <stdint.h>

/*
 * How many forks lie between the process that loaded the library and this one;
 * or another number that no process on the way has, 0 for the first of them.  A
 * waiter that carries another number is a thread that this process lacks.
 */
uint32_t weir_forks_(void);

#endif /* WEIR_BASE_FORK_H */
