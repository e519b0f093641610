/* SPDX-License-Identifier: MIT */
/*
 * Run a program as on a kernel without futex_waitv, before Linux 5.16: a
 * seccomp filter makes the call fail with ENOSYS, also in all children.
 *
 *   refuse PROGRAM [ARGUMENT]...
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FUTEX_WAITV 449		/* the same on all architectures */

/* As in <linux/filter.h> etc., which some C libraries do not ship. */
struct instruction {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t value;
};

struct program {
	unsigned short length;
	struct instruction *filter;
};

#define LOAD_WORD 0x20
#define JUMP_IF_EQUAL 0x15
#define RETURN 0x06
#define ALLOW UINT32_C(0x7fff0000)
#define FAIL_WITH UINT32_C(0x00050000)
#define FILTER_MODE 2

int main(int argc, char **argv)
{
	struct instruction filter[] = {
		{ LOAD_WORD, 0, 0, 0 },		/* the system call's number */
		{ JUMP_IF_EQUAL, 0, 1, FUTEX_WAITV },
		{ RETURN, 0, 0, FAIL_WITH | ENOSYS },
		{ RETURN, 0, 0, ALLOW },
	};
	struct program program = {
		.length = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	if (argc < 2)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, FILTER_MODE, &program)) {
		perror("seccomp");
		return 1;
	}
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
