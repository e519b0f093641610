/* SPDX-License-Identifier: MIT */
/*
 * A real sandbox (seccomp) in which the kernel refuses futex.  Every work runs
 * there: it uses more CPU time but keeps every promise (C2 to C31).
 *
 * Each job's thread sets the filter for itself.  The observing thread has no
 * filter, because libc joins threads with a futex.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "real.h"
#include "work.h"

const int fault_cpus = 1;

/*
 * As in <linux/filter.h> and <linux/seccomp.h>, which some libcs do not
 * provide.
 */
struct instruction {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t operand;
};

struct program {
	uint16_t length;
	struct instruction *code;
};

#define LOAD 0x20		/* a word of struct seccomp_data */
#define NUMBER 0		/* ... the system call's number */
#define JUMP_IF_EQUAL 0x15
#define RETURN 0x06
#define FAIL_WITH 0x00050000u	/* plus the error number */
#define ALLOW 0x7fff0000u
#define MODE_FILTER 2

#define WAKE_PRIVATE 129

static int refusal;

/* Refuse futex to this thread only.  All other calls stay allowed. */
static bool forbid_futex(int error)
{
	struct instruction code[] = {
		{ LOAD, 0, 0, NUMBER },
		{ JUMP_IF_EQUAL, 0, 1, SYS_futex },
		{ RETURN, 0, 0, FAIL_WITH | (unsigned)error },
		{ RETURN, 0, 0, ALLOW },
	};
	struct program program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, MODE_FILTER, &program) == 0;
}

static void enter_sandbox(void)
{
	uint32_t word = 0;

	CHECK(forbid_futex(refusal));
	/* Check that the filter works. */
	errno = 0;
	CHECK_EQ(__real_syscall(SYS_futex, &word, WAKE_PRIVATE, 1, NULL, NULL,
				0), -1);
	CHECK_EQ(errno, refusal);
}

static void run_works(int error)
{
	refusal = error;
	job_prologue = enter_sandbox;
	for (size_t i = 0; i < work_count; i++) {
		fault_begin(NULL, false, 0, works[i].name);
		works[i].run();
	}
	job_prologue = NULL;
}

/* Run in a child process: a filter cannot be removed. */
static int in_child(void (*fn)(int), int error)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		fn(error);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status;
}

static void try_filter(int error)
{
	_exit(forbid_futex(error) ? 0 : 1);
}

/* Linux has filters since 3.5; emulators have none. */
static void need_filters(void)
{
	if (in_child(try_filter, ENOSYS) == 0)
		return;
	printf("skipped: this system has no seccomp filters\n");
	exit(77);
}

static void works_without_futex(int error, const char *name)
{
	need_filters();
	CHECK_EQ(in_child(run_works, error), 0);
	printf("evidence: works in a sandbox where futex is %s | %zu of %zu\n",
	       name, work_count, work_count);
}

TEST(c2_to_c31_in_a_sandbox_enosys)
{
	works_without_futex(ENOSYS, "ENOSYS");
}

TEST(c2_to_c31_in_a_sandbox_eperm)
{
	works_without_futex(EPERM, "EPERM");
}
