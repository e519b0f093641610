/* SPDX-License-Identifier: MIT */
/*
 * Answering the system calls that the filter stops: the reads and writes of one
 * byte wait in the kernel until they are answered here (seccomp_unotify(2)).
 * So the server learns which process takes a token.
 *
 * A token is always in the pipe or recorded for a process that was alive.  The
 * server records the token before it answers the call.  If a signal or a death
 * has ended the call, the server removes the record and puts the byte back.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/jobserver/filter.h"
#include "cmd/jobserver/seccomp_notify.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"

/* The types are those of linux/seccomp.h, which musl-gcc does not find. */
struct call {
	uint64_t id;
	uint32_t tid;
	uint32_t flags;
	struct filter_data data;
};

struct answer {
	uint64_t id;
	int64_t value;
	int32_t error;
	uint32_t flags;
};

#define CONTINUE 1u
#define RECEIVE _IOWR('!', 0, struct call)
#define SEND _IOWR('!', 1, struct answer)
#define IS_VALID _IOW('!', 2, uint64_t)

/*
 * Use syscall(), because the type of ioctl's second argument differs between
 * libcs.
 */
static bool control(int listener, unsigned long request, void *arg)
{
	return !syscall(SYS_ioctl, listener, request, arg);
}

/* Returns false if the call has ended. */
static bool send_answer(int listener, const struct call *call, int64_t value,
			int error, uint32_t flags)
{
	struct answer answer = { call->id, value, error, flags };

	return control(listener, SEND, &answer);
}

/* Returns true if the call still waits for its answer. */
static bool is_waiting(int listener, const struct call *call)
{
	uint64_t id = call->id;

	return control(listener, IS_VALID, &id);
}

/* Let the kernel execute the call. */
static void let_continue(int listener, const struct call *call)
{
	(void)send_answer(listener, call, 0, 0, CONTINUE);
}

/* Returns true if the descriptor of the call is our pipe. */
static bool is_pipe(const struct call *call, const struct pool *pool)
{
	struct stat status;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", call->tid,
		       (int)(uint32_t)call->data.args[0]);
	return !stat(path, &status) && status.st_dev == pool->device &&
	       status.st_ino == pool->inode;
}

/*
 * Returns the number after `key` in a /proc file of the caller; -1 if it is
 * unknown.
 */
static long number_of(const struct call *call, const char *file,
		      const char *key, int base)
{
	char path[64], text[4096];
	const char *line;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", call->tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	line = strstr(text, key);
	return line ? strtol(line + strlen(key), NULL, base) : -1;
}

static bool is_nonblocking(const struct call *call)
{
	char file[32];
	long flags;

	(void)snprintf(file, sizeof(file), "fdinfo/%d",
		       (int)(uint32_t)call->data.args[0]);
	flags = number_of(call, file, "flags:", 8);
	return flags >= 0 && (flags & O_NONBLOCK);
}

/*
 * Copy the byte to or from the buffer of the call.  Returns false if the buffer
 * is invalid or access is not permitted.
 */
static bool copy(const struct call *call, char *byte, bool to_client)
{
	struct iovec here = { byte, 1 };
	struct iovec there = { (void *)(uintptr_t)call->data.args[1], 1 };
	pid_t tid = (pid_t)call->tid;

	return (to_client ? process_vm_writev(tid, &here, 1, &there, 1, 0) :
			    process_vm_readv(tid, &here, 1, &there, 1, 0)) == 1;
}

/* Reads of the empty pipe, oldest first. */
static struct call *pending;
static size_t pending_count, pending_room;

static void add_pending(const struct call *call)
{
	if (pending_count == pending_room) {
		pending_room = pending_room ? 2 * pending_room : 16;
		pending = memory_realloc(pending,
					 pending_room * sizeof(*pending));
	}
	pending[pending_count++] = *call;
}

/* Answer a read with a byte.  Returns false if the pipe is empty. */
static bool serve_read(int listener, struct pool *pool,
		       const struct call *call, pid_t pid)
{
	char byte;

	if (!pool_read(pool, &byte))
		return false;
	/*
	 * If the call has ended, the data from /proc may belong to another
	 * process.
	 */
	if (!is_waiting(listener, call)) {
		pool_write(pool, byte);
		return true;
	}
	if (!copy(call, &byte, true)) {
		/*
		 * The server has no access to the buffer: the client reads the
		 * pipe itself, unseen.
		 */
		pool_write(pool, byte);
		let_continue(listener, call);
		return true;
	}
	pool_taken(pool, pid);
	if (!send_answer(listener, call, 1, 0, 0) &&
	    pool_returned(pool, pid))
		pool_write(pool, byte);
	return true;
}

static void serve_write(int listener, struct pool *pool,
			const struct call *call, pid_t pid)
{
	char byte;

	if (!copy(call, &byte, false)) {
		let_continue(listener, call);
		return;
	}
	if (!send_answer(listener, call, 1, 0, 0))
		return;
	if (pool_returned(pool, pid))
		pool_write(pool, byte);
	else
		cmd_message("jobserver: process %d: returned a token, but none "
			    "is missing", (int)pid);
}

void seccomp_notify_call(int listener, struct pool *pool)
{
	struct call call;
	long pid;

	memset(&call, 0, sizeof(call));
	if (!control(listener, RECEIVE, &call))
		return;
	pid = is_pipe(&call, pool) ? number_of(&call, "status", "\nTgid:", 10) :
				     -1;
	if (pid <= 1)
		let_continue(listener, &call);
	else if (call.data.nr == SYS_write)
		serve_write(listener, pool, &call, (pid_t)pid);
	else if (!serve_read(listener, pool, &call, (pid_t)pid)) {
		if (is_nonblocking(&call))
			(void)send_answer(listener, &call, 0, -EAGAIN, 0);
		else
			add_pending(&call);
	}
}

void seccomp_notify_pending(int listener, struct pool *pool)
{
	size_t left = 0;

	for (size_t i = 0; i < pending_count; i++) {
		const struct call *call = &pending[i];
		long pid;

		/* A signal or the death of the caller has ended the call. */
		if (!is_waiting(listener, call))
			continue;
		pid = number_of(call, "status", "\nTgid:", 10);
		if (pid <= 1)
			/*
			 * The caller is unknown, for example because the server
			 * has no free descriptor.  A call that is dropped
			 * without an answer would wait forever.
			 */
			let_continue(listener, call);
		else if (!serve_read(listener, pool, call, (pid_t)pid))
			pending[left++] = *call;
	}
	pending_count = left;
}

void seccomp_notify_continue_all(int listener)
{
	struct pollfd end = { .fd = listener, .events = POLLIN };

	for (size_t i = 0; i < pending_count; i++)
		let_continue(listener, &pending[i]);
	while (poll(&end, 1, -1) > 0 && !(end.revents & POLLHUP)) {
		struct call call;

		memset(&call, 0, sizeof(call));
		if (control(listener, RECEIVE, &call))
			let_continue(listener, &call);
	}
}
