/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOBSERVER_PASS_H
#define WEIR_CMD_JOBSERVER_PASS_H

/* Passing a descriptor between processes. */

/* Send fd; if fd is -1, send errno instead. */
void pass_send(int channel, int fd);
/*
 * Receive the descriptor.  Returns -1 with the errno of the sender if the
 * sender had none.
 */
int pass_receive(int channel);

#endif /* WEIR_CMD_JOBSERVER_PASS_H */
