/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_PASS_H
#define WEIR_CMD_JOBSERVER_PASS_H

/* Passing a descriptor between processes. */

/* Send fd; or errno, if fd is -1. */
void pass_send(int channel, int fd);
/* Receive the descriptor; -1: errno is that of the sender. */
int pass_receive(int channel);

#endif /* WEIR_CMD_JOBSERVER_PASS_H */
