/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_SITE_H
#define WEIR_BASE_SITE_H

#include <stdint.h>

#include "weir/atomic.h"

/*
 * The return address of the current function, for a comparison.  The value may
 * be wrong.  The comparison must then fail and have no other effect.  Requires:
 * the function calls no other function, except by a jump at its end.
 *
 * On aarch64 the builtin costs a stack frame: gcc and clang save the link
 * register before they remove the pointer authentication code from it.
 * Reloading the register delays the caller.  This function reads the link
 * register instead.
 */
#if defined(__aarch64__) && defined(__OPTIMIZE__) &&                           \
	!defined(WEIR_ATOMICS_SEEN_)
static inline __attribute__((always_inline)) uint64_t weir_site_guess_(void)
{
	uint64_t site;

	__asm__("mov %0, x30" : "=r"(site));
	return site;
}
#define WEIR_SITE_GUESS_ weir_site_guess_()
#else
#define WEIR_SITE_GUESS_ ((uint64_t)(uintptr_t)__builtin_return_address(0))
#endif

#endif /* WEIR_BASE_SITE_H */
