/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_ACQUIRE_H
#define WEIR_CMD_LIB_ACQUIRE_H

/* Acquiring permits according to the options of run and hold. */
#include "cmd/lib/acquire_opts.h"
#include "cmd/lib/signals.h"
#include "weir/named.h"

/* Open the semaphore, or create it if -n was given. */
weir_named *acquire_open(const struct acquire_opts *opts);
/*
 * Acquire the permits.  Signals that end a wait are unblocked meanwhile.  *sig
 * is the signal that arrived, or 0.  If *sig is not 0 and WEIR_OK is returned,
 * the permits were granted nevertheless, and the caller has to release them.
 *
 * If "weir rm" removes the semaphore while the request arrives, and -n was
 * given, then *sem becomes a new semaphore of this name.
 */
weir_err acquire_permits(const struct acquire_opts *opts, weir_named **sem,
			 const struct signals *signals, int *sig);
/* Print why the permits were not granted.  Returns the exit status. */
int acquire_refused(const struct acquire_opts *opts, weir_named *sem,
		    weir_err err);

#endif /* WEIR_CMD_LIB_ACQUIRE_H */
