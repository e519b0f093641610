/* SPDX-License-Identifier: MIT */
/* Which instructions there are: weir/atomic.h. */
#include "weir/atomic.h"

/* Part of the ABI everywhere, so that the library exports the same names. */
extern WEIR_API uint8_t weir_has_lse_;
uint8_t weir_has_lse_;

#if defined(__aarch64__)
#include <sys/auxv.h>

/* Calls that come before this one are slower, and as good. */
__attribute__((constructor)) static void find_instructions(void)
{
	weir_has_lse_ = (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
}
#endif
