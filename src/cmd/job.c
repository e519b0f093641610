/* SPDX-License-Identifier: MIT */
/* Starting the command, and ending all of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/job.h"

/* Out of the way of what scripts use. */
#define LENT_FD 100

#define SECOND INT64_C(1000000000)
/*
 * For a path, and a copy of the arguments if it is a script: the kernel takes
 * 6 MB of them, most of which can be pointers.
 */
#define STACK_SIZE ((size_t)8 << 20)

/* What the child needs to know, and what it says. */
struct birth {
	char *const *command;
	const struct signals *signals;
	pid_t group;
	pid_t parent;	/* with which it dies; 0: it does not */
	int lent;
	int failed;	/* errno, if it did not become the command */
};

/*
 * The child: on a stack of its own in our memory, while we stand still until it
 * has become another program.  Nothing here may change what we rely on.
 */
static int become(void *arg)
{
	struct birth *birth = arg;

	/* If that group is gone, there is nobody to share a terminal with. */
	(void)setpgid(0, birth->group);
	if (birth->parent) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != birth->parent)
			return EXIT_WEIR;
	}
	if (birth->lent >= 0 && fcntl(birth->lent, F_DUPFD, LENT_FD) < 0 &&
	    fcntl(birth->lent, F_DUPFD, 3) < 0) {
		birth->failed = errno;
		return EXIT_WEIR;
	}
	signals_restore(birth->signals);
	(void)execvp(birth->command[0], birth->command);
	birth->failed = errno;
	return EXIT_WEIR;
}

int job_start(struct job *job, char *const *command,
	      const struct signals *signals, pid_t group, int lent, bool dies)
{
	struct birth birth = { .command = command, .signals = signals,
			       .group = group, .lent = lent,
			       .parent = dies ? getpid() : 0 };
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED)
		return ENOMEM;
	/*
	 * Not fork: the library would give the child handles of its own, which
	 * it has no use for; and not posix_spawn, which cannot have the child
	 * die with us.
	 */
	pid = clone(become, stack + STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
	if (pid < 0)
		birth.failed = errno;
	else if (birth.failed)
		(void)waitpid(pid, NULL, 0);
	(void)munmap(stack, STACK_SIZE);
	if (!birth.failed)
		*job = (struct job){ .pid = pid, .kill_at = WEIR_FOREVER };
	return birth.failed;
}

bool job_reap(struct job *job)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return false;
		if (pid == 0)
			return true;
		if (pid == job->pid && !job->ended) {
			job->ended = true;
			job->status = status;
		}
	}
}

void job_signal(const struct job *job, int sig)
{
	/* Not reaped yet, so the number is still its own. */
	if (!job->ended && job->pid > 1)
		(void)kill(job->pid, sig);
}

int job_status(int status)
{
	return WIFSIGNALED(status) ? EXIT_SIGNAL(WTERMSIG(status)) :
				     WEXITSTATUS(status);
}

/* Until the deadline, or until a child has ended. */
static void await_child(int64_t deadline)
{
	int64_t left = deadline == WEIR_FOREVER ? WEIR_FOREVER :
						  deadline - weir_now_ns();
	struct timespec time = { .tv_sec = 3600 };
	sigset_t child;

	if (left < 0)
		left = 0;
	if (left / SECOND < time.tv_sec)
		time = (struct timespec){ .tv_sec = (time_t)(left / SECOND),
					  .tv_nsec = (long)(left % SECOND) };
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigtimedwait(&child, NULL, &time);
}

static bool is_in(const struct children *list, pid_t pid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->pids[i] == pid)
			return true;
	return false;
}

/* To those that were not there before; the list becomes the one of now. */
static void tell_new(struct children *told, int sig)
{
	struct children now = { NULL, 0, 0 };

	children_find(&now);
	for (size_t i = 0; i < now.count; i++)
		if (!is_in(told, now.pids[i])) {
			(void)kill(now.pids[i], sig);
			/* One that is stopped does not hear it. */
			(void)kill(now.pids[i], SIGCONT);
		}
	free(told->pids);
	*told = now;
}

void job_end_all(struct job *job, int64_t kill_after_ns)
{
	int64_t kill_at = kill_after_ns < 0 ?
				  0 : weir_deadline_after(kill_after_ns);
	struct children told = { NULL, 0, 0 };

	/* Each that ends leaves its own children to us. */
	while (job_reap(job) && weir_now_ns() < kill_at) {
		tell_new(&told, SIGTERM);
		await_child(kill_at);
	}
	while (job_reap(job)) {
		/* To all, each time: a number may be another's by now. */
		told.count = 0;
		tell_new(&told, SIGKILL);
		await_child(WEIR_FOREVER);
	}
	free(told.pids);
}

void job_close_others(int one, int other)
{
	DIR *open = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!open)
		return;
	while ((entry = readdir(open))) {
		int fd = atoi(entry->d_name);

		if (fd > 2 && fd != one && fd != other && fd != dirfd(open))
			close(fd);
	}
	closedir(open);
}
