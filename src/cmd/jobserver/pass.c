/* SPDX-License-Identifier: MIT */
/*
 * Passing a descriptor: the child sends the listener of its filter to the
 * server.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cmd/jobserver/pass.h"

void pass_send(int channel, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	int error = fd < 0 ? errno : 0;
	struct iovec data = { &error, sizeof(error) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	memset(&control, 0, sizeof(control));
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	(void)sendmsg(channel, &message, 0);
}

int pass_receive(int channel)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	int error = 0, fd = -1;
	struct iovec data = { &error, sizeof(error) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) <= 0)
		error = ECHILD;
	else if (message.msg_controllen >= sizeof(control.header))
		memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	errno = error;
	return fd;
}
