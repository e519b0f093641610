/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HOLD_HOLD_DAEMON_H
#define WEIR_CMD_HOLD_HOLD_DAEMON_H

/* The process that holds the permits of `weir hold`. */
#include <sys/types.h>

#include "cmd/lib/acquire_opts.h"
#include "cmd/lib/signals.h"

struct hold_opts {
	struct acquire_opts acquire;
	int pidfd;	/* of the process whose exit ends the hold */
	int pair;	/* this process's end of the socket pair */
};

/*
 * On the socket pair, the hold daemon sends the token when it has acquired the
 * permits.  `weir hold` prints the token and answers with HOLD_PRINTED.
 */
#define HOLD_TOKEN_ROOM 4400
#define HOLD_PRINTED 'p'

/* Run the hold daemon, after its fork.  Returns the exit status. */
int hold_daemon_main(const struct hold_opts *opts,
		     const struct signals *signals, pid_t parent);

#endif /* WEIR_CMD_HOLD_HOLD_DAEMON_H */
