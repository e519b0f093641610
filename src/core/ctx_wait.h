/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CORE_CTX_WAIT_H
#define WEIR_CORE_CTX_WAIT_H

#include "core/waiter.h"
#include "weir/ctx.h"

/*
 * Why ctx has ended as far as anybody knows: by a cancel, or by a deadline that
 * somebody has noticed.  Reads no clock.
 */
weir_err weir_ctx_cancelled_(const weir_ctx *ctx);

/*
 * Let the end of ctx reach w.  An error: ctx has ended, and w has not been put
 * on it.  Otherwise weir_ctx_leave_ must follow, before w's call returns: it
 * waits out a cancel that is at work on w, and tells whether ctx has ended;
 * `late` if the caller knows that its deadline has passed.
 */
weir_err weir_ctx_join_(weir_ctx *ctx, struct weir_waiter_ *w);
weir_err weir_ctx_leave_(weir_ctx *ctx, struct weir_waiter_ *w, bool late);

#endif /* WEIR_CORE_CTX_WAIT_H */
