/* SPDX-License-Identifier: MIT */
#ifndef WEIR_DIAG_CALLERS_H
#define WEIR_DIAG_CALLERS_H

#include <stdint.h>

/*
 * Store the return addresses of the functions that have led to the call at
 * `site`, the innermost first: the first one is the call of the function that
 * contains `site`.  `site` is a return address on the stack of the calling
 * thread; if it is not on the stack, there are none.  Returns the number of
 * addresses, at most max.
 *
 * The compiler's unwinder walks the stack, and stops at the first function without
 * unwind tables.  It uses no memory of the heap, except for its index of a static
 * program with glibc.  It may wait while another thread changes the list of loaded
 * libraries, but not for the constructors of a library.  Without an unwinder, or
 * without unwind tables, there are no addresses.
 */
uint32_t weir_diag_callers_(uint64_t site, uint64_t *to, uint32_t max);

#endif /* WEIR_DIAG_CALLERS_H */
