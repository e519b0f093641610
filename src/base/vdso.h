/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_VDSO_H
#define WEIR_BASE_VDSO_H

#include <stdint.h>

/*
 * The vDSO: an ELF image that the kernel maps into every process.  Its functions
 * read the clocks without a system call.  libc calls them too, but adds 3 ns.
 *
 * Returns the address of a function of the vDSO, or 0 if there is no vDSO or it
 * lacks this function.  May be called in a signal handler.
 */
uintptr_t weir_vdso_find_(const char *name);

#endif /* WEIR_BASE_VDSO_H */
