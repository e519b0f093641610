/* SPDX-License-Identifier: MIT */
/* Detects the atomic instructions (LSE) of arm64: weir/atomic.h. */
#include "weir/atomic.h"

/*
 * This variable is part of the ABI on all architectures, so that the library
 * exports the same symbols everywhere.
 */
extern WEIR_API uint8_t weir_has_lse_;
uint8_t weir_has_lse_;

#if defined(__aarch64__)
#include <sys/auxv.h>

/* A call before this constructor uses the slower, equally correct code. */
__attribute__((constructor)) static void find_instructions(void)
{
	weir_has_lse_ = (getauxval(AT_HWCAP) & HWCAP_ATOMICS) != 0;
}
#endif
