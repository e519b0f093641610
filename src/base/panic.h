/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_PANIC_H
#define WEIR_BASE_PANIC_H

#include "weir/base.h"

/*
 * Report a programming error to the panic hook, as one line.  The format knows
 * %s (null prints as "(unnamed)"), %d (int64_t) and %p.  Async-signal-safe.
 * Never called with a lock held.  If the hook returns, returns WEIR_EINVAL for
 * the caller to pass on.
 */
weir_err weir_panic_(const char *format, ...);

#endif /* WEIR_BASE_PANIC_H */
