/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_SEMAPHORE_H
#define WEIR_CMD_LIB_SEMAPHORE_H

/* Opening a semaphore by name, and waiting for it to be idle. */
#include <stdbool.h>

#include "weir/named.h"

/*
 * Open the semaphore, or exit with a message.  If opts has WEIR_NAMED_CREATE
 * and the semaphore exists with another capacity, a warning is printed.
 * semaphore_open_or_create is for subcommands with -n: its message about a
 * missing semaphore mentions that option.
 */
weir_named *semaphore_open(const char *name, const weir_named_opts *opts);
weir_named *semaphore_open_or_create(const char *name,
				     const weir_named_opts *opts);
/* Returns true unless the semaphore is missing. */
bool semaphore_exists(const char *name);
/*
 * Print that n permits are more than the capacity; `request` names the request,
 * such as "a weight of".
 */
void semaphore_print_too_big(const char *name, weir_named *sem,
			     const char *request, int64_t n);
/*
 * Wait until no permit is held.  Returns WEIR_OK even for a timeout of 0 if the
 * semaphore is idle already.
 */
weir_err semaphore_wait_idle(weir_named *sem, int64_t timeout_ns);

#endif /* WEIR_CMD_LIB_SEMAPHORE_H */
