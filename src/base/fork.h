/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_FORK_H
#define WEIR_BASE_FORK_H

#include <stdint.h>

/*
 * Returns the number of forks between the process that loaded the library and
 * this process.  If no handler counts them, forks of a process that never
 * called this function are left out.  A waiter with another number belongs to a
 * thread that does not exist in this process.
 */
uint32_t weir_forks_(void);

/*
 * 1 in the process that loaded the library, and one more in the child of each
 * fork.  Always 1 if no handler counts the forks.  A plain read suffices: it
 * changes only while the process has one thread.
 */
extern uint32_t weir_generation_ __attribute__((visibility("hidden")));

#endif /* WEIR_BASE_FORK_H */
