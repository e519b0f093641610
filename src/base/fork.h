/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_FORK_H
#define WEIR_BASE_FORK_H

#include <stdint.h>

/*
 * Returns the number of forks between the process that loaded the library and
 * this process.  If forks cannot be counted, the result is a number that is 0
 * in the process that loaded the library and different in each descendant.  A
 * waiter with another number belongs to a thread that does not exist in this
 * process.
 */
uint32_t weir_forks_(void);

#endif /* WEIR_BASE_FORK_H */
