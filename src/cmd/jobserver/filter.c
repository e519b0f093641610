/* SPDX-License-Identifier: MIT */
/*
 * The seccomp filter of the command: which system calls are stopped.
 *
 * The types are those of linux/seccomp.h and linux/filter.h, which musl-gcc
 * does not find.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/jobserver/filter.h"

struct instruction {
	uint16_t code;
	uint8_t yes, no;
	uint32_t k;
};

struct program {
	uint16_t count;
	struct instruction *instructions;
};

#define SET_MODE_FILTER 1
#define FLAG_NEW_LISTENER (1u << 3)
#define ALLOW 0x7fff0000u
#define NOTIFY 0x7fc00000u

#if defined(__x86_64__) && !defined(__ILP32__)
#define MACHINE 0xc000003eu
#elif defined(__aarch64__) && defined(__LP64__)
#define MACHINE 0xc00000b7u
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE 0xc00000f3u
#else
#define MACHINE 0u	/* unknown: no filter */
#endif

#define LOAD(offset) { 0x20, 0, 0, (uint32_t)(offset) }
#define IF(value, to_yes, to_no) { 0x15, to_yes, to_no, (uint32_t)(value) }
#define RESULT(value) { 0x06, 0, 0, (value) }
/* The low half of an argument; these architectures are little-endian. */
#define ARG(i) (offsetof(struct filter_data, args) + 8 * (i))

/* Returns true if /proc shows the pids of our own PID namespace. */
static bool is_proc_usable(void)
{
	char name[16];
	ssize_t size = readlink("/proc/self", name, sizeof(name) - 1);

	name[size > 0 ? size : 0] = '\0';
	return strtol(name, NULL, 10) == getpid();
}

/*
 * Install the filter.  This fails with EBUSY if the thread has a filter with a
 * listener already.  Without CAP_SYS_ADMIN, the thread must give up gaining
 * privileges by exec.
 */
static int install(struct program *program)
{
	long fd = syscall(SYS_seccomp, SET_MODE_FILTER, FLAG_NEW_LISTENER,
			  program);

	if (fd < 0 && errno == EACCES &&
	    !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fd = syscall(SYS_seccomp, SET_MODE_FILTER, FLAG_NEW_LISTENER,
			     program);
	return (int)fd;
}

int filter_install(int reads, int writes)
{
	struct instruction some[] = {
		LOAD(offsetof(struct filter_data, arch)),
		IF(MACHINE, 0, 10),
		LOAD(offsetof(struct filter_data, nr)),
		IF(SYS_read, 1, 0),
		IF(SYS_write, 2, 7),
		LOAD(ARG(0)),
		IF(reads, 2, 5),
		LOAD(ARG(0)),
		IF(writes, 0, 3),
		LOAD(ARG(2)),
		IF(1, 0, 1),
		RESULT(NOTIFY),
		RESULT(ALLOW),
	};
	struct instruction all[] = {
		LOAD(offsetof(struct filter_data, arch)),
		IF(MACHINE, 0, 6),
		LOAD(offsetof(struct filter_data, nr)),
		IF(SYS_read, 1, 0),
		IF(SYS_write, 0, 3),
		LOAD(ARG(2)),
		IF(1, 0, 1),
		RESULT(NOTIFY),
		RESULT(ALLOW),
	};
	struct program program = { sizeof(some) / sizeof(some[0]), some };

	/* The server looks up the calling process in /proc. */
	if (!MACHINE || !is_proc_usable()) {
		errno = ENOSYS;
		return -1;
	}
	if (reads < 0) {
		program.count = sizeof(all) / sizeof(all[0]);
		program.instructions = all;
	}
	return install(&program);
}
