/* SPDX-License-Identifier: MIT */
/* Starting the job, and ending it with all its descendants. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/children.h"
#include "cmd/lib/exec.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/process.h"
#include "cmd/lib/text.h"
#include "cmd/run/interrupt.h"
#include "cmd/run/job.h"

/* This number is above the descriptor numbers that scripts use. */
#define LENT_FD 100

#define SECOND INT64_C(1000000000)
/* More time than a killed process needs to end. */
#define JOB_ENDS_NS 100000000
/*
 * exec_command copies the argument pointers to the stack if the file is a script.
 * The kernel accepts 6 MB of arguments, most of which can be pointers.
 */
#define STACK_SIZE ((size_t)8 << 20)

/* The input and the result of the child. */
struct start {
	const struct job_opts *opts;
	pid_t parent;	/* if it dies, the kernel kills the job; 0: none */
	int failed;	/* errno of the step that failed */
	bool at_exec;	/* that step is the exec */
};

/*
 * The child shares the memory of the parent, on a separate stack, and the
 * parent is suspended until the child's exec.  The child must not change memory
 * that the parent relies on.
 */
static int child_main(void *arg)
{
	struct start *start = arg;
	const struct job_opts *opts = start->opts;
	/* If the group is gone, the job stays in the group of the guardian. */
	bool joined = !setpgid(0, opts->group);

	if (start->parent) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != start->parent)
			return EXIT_WEIR;
	}
	if (opts->lent >= 0 && fcntl(opts->lent, F_DUPFD, LENT_FD) < 0 &&
	    fcntl(opts->lent, F_DUPFD, 3) < 0) {
		start->failed = errno;
		return EXIT_WEIR;
	}
	/* The guardian may be killed before it can store the pid itself. */
	atomic_store(&opts->shared->job, getpid());
	if (joined && opts->wrapper >= 0)
		interrupt_catch_up(opts->shared, opts->wrapper);
	signals_restore(opts->signals);
	exec_command(opts->command);
	start->failed = errno;
	start->at_exec = true;
	return EXIT_WEIR;
}

/*
 * Print why the job was not started.  The status that is returned distinguishes
 * a command that cannot be executed from a lack of descriptors, processes or
 * memory.
 */
static int report_failure(const struct start *start)
{
	const char *reason = strerror(start->failed);

	if (!start->at_exec) {
		cmd_message("run: cannot start the job: %s", reason);
		return EXIT_WEIR;
	}
	cmd_message("%s: %s", text_visible(start->opts->command[0]), reason);
	return start->failed == ENOENT ? EXIT_NOT_FOUND :
	       start->failed == EAGAIN || start->failed == ENOMEM ?
		       EXIT_WEIR : EXIT_CANNOT_RUN;
}

int job_start(struct job *job, const struct job_opts *opts)
{
	struct start start = { .opts = opts,
			       .parent = opts->dies ? getpid() : 0 };
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid;

	if (stack == MAP_FAILED) {
		start.failed = ENOMEM;
		return report_failure(&start);
	}
	/*
	 * Do not use fork: the library's fork handlers would give the child
	 * handles that it does not need.  Do not use posix_spawn: it cannot set
	 * PR_SET_PDEATHSIG.
	 */
	pid = clone(child_main, stack + STACK_SIZE,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
	if (pid < 0)
		start.failed = errno;
	else if (start.failed)
		(void)waitpid(pid, NULL, 0);
	atomic_store(&opts->shared->job, start.failed ? 0 : pid);
	(void)munmap(stack, STACK_SIZE);
	if (start.failed)
		return report_failure(&start);
	*job = (struct job){ .pid = pid, .kill_at = WEIR_FOREVER };
	return EXIT_SUCCESS;
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

int job_exit_status(const struct job *job, struct run_shared *shared)
{
	if (WIFSIGNALED(job->status))
		atomic_store(&shared->ended_job, WTERMSIG(job->status));
	return process_exit_status(job->status);
}

bool job_signal(const struct job *job, int sig)
{
	siginfo_t info = { .si_pid = 0 };

	/* A zombie would not handle the signal. */
	if (job->ended || job->pid <= 1 ||
	    (!waitid(P_PID, (id_t)job->pid, &info,
		     WEXITED | WNOHANG | WNOWAIT) && info.si_pid))
		return false;
	/* The job is not reaped, so its pid cannot have been reused. */
	return !kill(job->pid, sig);
}

/* Wait until a child ends, or until the deadline. */
static void wait_for_child(int64_t deadline)
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

struct signalling {
	struct children before, now;
	int sig;
};

static void signal_one(pid_t pid, void *arg)
{
	struct signalling *all = arg;

	children_add(pid, &all->now);
	if (is_in(&all->before, pid))
		return;
	(void)kill(pid, all->sig);
	/* A stopped process does not handle signals. */
	(void)kill(pid, SIGCONT);
}

/*
 * Signal the children that are not in the list, each as soon as it is found,
 * and replace the list by the current one.
 */
static void signal_new(struct children *signalled, int sig)
{
	struct signalling all = { .before = *signalled, .sig = sig };
	static bool said;

	if (!children_each(signal_one, &all) && !said) {
		said = true;
		cmd_message("run: /proc is not usable; the processes of the "
			    "job are searched by number, which takes seconds");
	}
	free(signalled->pids);
	*signalled = all.now;
}

void job_end_all(struct job *job, int64_t kill_after_ns)
{
	int64_t kill_at = kill_after_ns < 0 ?
				  0 : weir_deadline_after(kill_after_ns);
	struct children signalled = { NULL, 0, 0 };

	/*
	 * Kill the job first: the search for children may take long, and finds
	 * the job's children only after the job has ended.
	 */
	if (kill_after_ns < 0 && job_signal(job, SIGKILL))
		wait_for_child(weir_deadline_after(JOB_ENDS_NS));
	/* When a child ends, its own children are reparented to us. */
	while (job_reap(job) && weir_now_ns() < kill_at) {
		signal_new(&signalled, SIGTERM);
		wait_for_child(kill_at);
	}
	while (job_reap(job)) {
		/*
		 * Signal all children each time: a pid may have been reused by
		 * a new child.
		 */
		signalled.count = 0;
		signal_new(&signalled, SIGKILL);
		wait_for_child(WEIR_FOREVER);
	}
	free(signalled.pids);
}
