/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_NAME_H
#define WEIR_POSIX_NAME_H

#include <semaphore.h>
#include <stddef.h>

/*
 * Write the name of *s, at most `size` bytes; `caller` is the address of the
 * call of sem_init.  The name of a variable with static storage is its symbol;
 * or its file and its offset, if the dynamic linker does not know the symbol.
 * Any other name consists of the place of the sem_init and the address of *s.
 * `weir explain` reads the debug information, and replaces file and offset by
 * the symbol, and the place by the line: cmd/diag/posix.c.
 */
void weir_posix_name_it_(const sem_t *s, const void *caller, char *name,
			 size_t size);

#endif /* WEIR_POSIX_NAME_H */
