/* SPDX-License-Identifier: MIT */
/*
 * Seeing who takes a token: reads and writes of one byte stop in the kernel
 * until they have been answered here (seccomp_unotify(2)).
 *
 * A byte is in the pipe, or on the books of a process that is alive: it is
 * written down before the call is answered, and if the call is gone by then (a
 * signal, a death) both are undone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/jobserver.h"

/*
 * The kernel's own, from linux/seccomp.h, which not every C library's compiler
 * finds.
 */
struct call {
	uint64_t id;
	uint32_t tid;
	uint32_t flags;
	struct see_data data;
};

struct answer {
	uint64_t id;
	int64_t value;
	int32_t error;
	uint32_t flags;
};

#define GO_ON 1u
#define RECEIVE _IOWR('!', 0, struct call)
#define SEND _IOWR('!', 1, struct answer)
#define IS_VALID _IOW('!', 2, uint64_t)

/* C libraries do not agree about the type of ioctl's second argument. */
static bool ask(int listener, unsigned long what, void *about)
{
	return !syscall(SYS_ioctl, listener, what, about);
}

/* False: the call is gone. */
static bool send_answer(int listener, const struct call *call, int64_t value,
			int error, uint32_t flags)
{
	struct answer answer = { call->id, value, error, flags };

	return ask(listener, SEND, &answer);
}

static bool is_there(int listener, const struct call *call)
{
	uint64_t id = call->id;

	return ask(listener, IS_VALID, &id);
}

static void let_pass(int listener, const struct call *call)
{
	(void)send_answer(listener, call, 0, 0, GO_ON);
}

/* Whether it is about our pipe. */
static bool is_pipe(const struct call *call, const struct pool *pool)
{
	struct stat status;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", call->tid,
		       (int)(uint32_t)call->data.args[0]);
	return !stat(path, &status) && status.st_dev == pool->device &&
	       status.st_ino == pool->inode;
}

/* A line of a file about the calling thread, as a number; -1: not known. */
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

/* Copy the one byte; false: the buffer is none, or not ours to touch. */
static bool copy(const struct call *call, char *byte, bool to_client)
{
	struct iovec here = { byte, 1 };
	struct iovec there = { (void *)(uintptr_t)call->data.args[1], 1 };
	pid_t tid = (pid_t)call->tid;

	return (to_client ? process_vm_writev(tid, &here, 1, &there, 1, 0) :
			    process_vm_readv(tid, &here, 1, &there, 1, 0)) == 1;
}

/* Calls that wait for a byte, oldest first. */
static struct call *kept;
static size_t kept_count, kept_room;

static void keep(const struct call *call)
{
	if (kept_count == kept_room) {
		kept_room = kept_room ? 2 * kept_room : 16;
		kept = pool_room(kept, kept_room * sizeof(*kept));
	}
	kept[kept_count++] = *call;
}

/* Answer a read with a byte; false: there is none. */
static bool serve_read(int listener, struct pool *pool,
		       const struct call *call, pid_t pid)
{
	char byte;

	if (!pool_take(pool, &byte))
		return false;
	/* What we asked of /proc was about this call, if it is there still. */
	if (!is_there(listener, call)) {
		pool_put(pool, byte);
		return true;
	}
	if (!copy(call, &byte, true)) {
		/* We may not touch it.  It reads for itself, unseen. */
		pool_put(pool, byte);
		let_pass(listener, call);
		return true;
	}
	pool_has_taken(pool, pid);
	if (!send_answer(listener, call, 1, 0, 0) &&
	    pool_gives_back(pool, pid))
		pool_put(pool, byte);
	return true;
}

static void serve_write(int listener, struct pool *pool,
			const struct call *call, pid_t pid)
{
	char byte;

	if (!copy(call, &byte, false)) {
		let_pass(listener, call);
		return;
	}
	if (!send_answer(listener, call, 1, 0, 0))
		return;
	if (pool_gives_back(pool, pid))
		pool_put(pool, byte);
	else
		cmd_say("jobserver: process %d returns a token that nobody "
			"has", (int)pid);
}

void see_call(int listener, struct pool *pool)
{
	struct call call;
	long pid;

	memset(&call, 0, sizeof(call));
	if (!ask(listener, RECEIVE, &call))
		return;
	pid = is_pipe(&call, pool) ? number_of(&call, "status", "\nTgid:", 10) :
				     -1;
	if (pid <= 1)
		let_pass(listener, &call);
	else if (call.data.nr == SYS_write)
		serve_write(listener, pool, &call, (pid_t)pid);
	else if (!serve_read(listener, pool, &call, (pid_t)pid)) {
		if (is_nonblocking(&call))
			(void)send_answer(listener, &call, 0, -EAGAIN, 0);
		else
			keep(&call);
	}
}

void see_tokens(int listener, struct pool *pool)
{
	size_t left = 0;

	for (size_t i = 0; i < kept_count; i++) {
		const struct call *call = &kept[i];
		long pid;

		/* Ended by a signal, or dead. */
		if (!is_there(listener, call))
			continue;
		pid = number_of(call, "status", "\nTgid:", 10);
		if (pid <= 1 || serve_read(listener, pool, call, (pid_t)pid))
			continue;
		kept[left++] = *call;
	}
	kept_count = left;
}

void see_pass(int listener)
{
	struct pollfd end = { .fd = listener, .events = POLLIN };

	for (size_t i = 0; i < kept_count; i++)
		let_pass(listener, &kept[i]);
	while (poll(&end, 1, -1) > 0 && !(end.revents & POLLHUP)) {
		struct call call;

		memset(&call, 0, sizeof(call));
		if (ask(listener, RECEIVE, &call))
			let_pass(listener, &call);
	}
}
