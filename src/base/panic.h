/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_PANIC_H
#define WEIR_BASE_PANIC_H

#include "weir/base.h"

/*
 * Report a programming error, in one line: call the panic hook, or write the
 * line to stderr and abort if no hook is set.  The format supports %s (null
 * or "" prints as "(unnamed)"), %d (int64_t), %p, and %o for an object: it takes
 * two arguments, a name and an address, and prints the name in quotes, or the
 * address if the name is null or "".  Async-signal-safe.  Requires: no lock is
 * held.  Returns WEIR_EINVAL if the hook returns; the caller passes this result
 * on.
 */
weir_err weir_panic_(const char *format, ...);

#endif /* WEIR_BASE_PANIC_H */
