/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HOLD_H
#define WEIR_CMD_HOLD_H

/* `weir hold`: between what the script starts and the process that holds. */
#include "cmd/take.h"

struct hold_opts {
	struct take take;
	int pidfd;	/* of the process as long as which it holds */
	int pair;	/* towards each other */
};

/* What is said when the permits are there: the token; then, if it is out: */
#define HOLD_TOKEN_ROOM 4400
#define HOLD_TOLD 't'

/* keep.c: the process that holds; its exit status. */
int keep_permits(const struct hold_opts *opts, const struct signals *signals,
		 pid_t parent);

#endif /* WEIR_CMD_HOLD_H */
