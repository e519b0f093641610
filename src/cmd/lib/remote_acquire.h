/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_REMOTE_ACQUIRE_H
#define WEIR_CMD_LIB_REMOTE_ACQUIRE_H

/* Acquiring permits between machines; each function is as in acquire.h. */
#include "cmd/lib/acquire_opts.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/signals.h"

weir_cluster *remote_acquire_open(const struct acquire_opts *opts,
				  const char *url);
/* If the result is not WEIR_OK, then *lease is null. */
weir_err remote_acquire_permits(const struct acquire_opts *opts,
				weir_cluster *c, const struct signals *signals,
				weir_lease **lease, int *sig);
int remote_acquire_refused(const struct acquire_opts *opts, const char *url,
			   weir_cluster *c, weir_err err);
/* As semaphore_print_too_big. */
void remote_print_too_big(const char *url, weir_cluster *c,
			  const char *request, int64_t n);
/* As semaphore_wait_idle. */
weir_err remote_wait_idle(weir_cluster *c, int64_t timeout_ns);

#endif /* WEIR_CMD_LIB_REMOTE_ACQUIRE_H */
