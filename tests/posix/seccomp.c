/* SPDX-License-Identifier: MIT */
/*
 * A sandbox that refuses the system calls of the diagnostics: the semaphores work
 * as before, and are not recorded.  With WEIR_DIAG=off the calls are not made, so a
 * sandbox that kills the process for them does not either.
 */
#include <dirent.h>
#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "check.h"

/* The answer of the kernel to `call` from now on. */
static int answer(int call, uint32_t with)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, with),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Whether the process has a registry. */
static bool is_recorded(void)
{
	DIR *files = opendir("/proc/self/fd");
	struct dirent *file;
	bool found = false;

	CHECK(files);
	while ((file = readdir(files))) {
		char target[256] = "";

		(void)!readlinkat(dirfd(files), file->d_name, target,
				  sizeof(target) - 1);
		found = found || strstr(target, "memfd:weir-diag");
	}
	closedir(files);
	return found;
}

static sem_t there, back;

static void *answer_posts(void *unused)
{
	for (int i = 0; i < 1000; i++)
		CHECK(!sem_wait(&there) && !sem_post(&back));
	return unused;
}

static void use_semaphores(void)
{
	sem_t more[200], zeroed = { 0 };
	check_thread thread;

	errno = EXDEV;
	CHECK(!sem_init(&there, 0, 0) && !sem_init(&back, 0, 1));
	CHECK_EQ(errno, EXDEV);
	thread = start(answer_posts, NULL);
	for (int i = 0; i < 1000; i++)
		CHECK(!sem_wait(&back) && !sem_post(&there));
	finish(thread);
	CHECK(!sem_wait(&back) && !sem_post(&zeroed) && !sem_wait(&zeroed));
	for (int i = 0; i < 200; i++)
		CHECK(!sem_init(&more[i], 0, 1) && !sem_wait(&more[i]) &&
		      !sem_post(&more[i]) && !sem_destroy(&more[i]));
	CHECK(!sem_destroy(&there) && !sem_destroy(&back));
}

/* Run the semaphores in a process of their own, in the sandbox. */
static void in_sandbox(int call, uint32_t with, bool recorded)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		if (call && answer(call, with))
			_exit(CHECK_SKIPPED);
		use_semaphores();
		_exit(is_recorded() == recorded ? 0 : 3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED)
		check_skip("the kernel refuses seccomp filters");
	else
		CHECK_EQ(status, 0);
}

static bool is_off(void)
{
	const char *words = getenv("WEIR_DIAG");

	return words && !strcmp(words, "off");
}

TEST(no_sandbox)
{
	in_sandbox(0, 0, !is_off());
}

TEST(memfd_create_fails)
{
	in_sandbox(SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM, false);
	in_sandbox(SYS_memfd_create, SECCOMP_RET_ERRNO | ENOSYS, false);
}

/* The registry exists in part, or is never used. */
TEST(other_calls_fail)
{
	in_sandbox(SYS_fcntl, SECCOMP_RET_ERRNO | EPERM, false);
	in_sandbox(SYS_ftruncate, SECCOMP_RET_ERRNO | EPERM, false);
	in_sandbox(SYS_madvise, SECCOMP_RET_ERRNO | EPERM, false);
}

TEST(killed_for_memfd_create_unless_it_is_off)
{
	if (is_off())
		in_sandbox(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS, false);
}
