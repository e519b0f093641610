/* SPDX-License-Identifier: MIT */
/*
 * weir run: run a job under permits.
 *
 * This file has the wrapper, the process that the user started.  It forks the
 * guardian, shows the queue, passes signals on, and exits with the status of
 * the job.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/lib/children.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/full.h"
#include "cmd/lib/process.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/signals.h"
#include "cmd/lib/text.h"
#include "cmd/run/guardian.h"
#include "cmd/run/interrupt.h"
#include "cmd/run/job.h"
#include "cmd/run/progress.h"
#include "cmd/run/remote.h"
#include "cmd/run/run.h"
#include "weir/named.h"

/* The delay before the line is first written, and between updates. */
#define FIRST_LINE_NS 200000000
#define NEXT_LINE_NS 500000000

enum { OPT_ORPHAN = 300, OPT_KILL_AFTER };

static const struct option longs[] = {
	OPTIONS_HELP,
	ACQUIRE_LONGS,
	{ "orphan", required_argument, NULL, OPT_ORPHAN },
	{ "kill-after", required_argument, NULL, OPT_KILL_AFTER },
	{ "quiet", no_argument, NULL, 'q' },
	OPTIONS_END
};

/* Store an option that is not one of ACQUIRE_LONGS. */
static void set_option(const struct cmd *self, struct run_opts *opts,
		       int option)
{
	const char *value = optarg ? optarg : "";

	switch (option) {
	case 'q':
		opts->acquire.quiet = true;
		break;
	case OPT_KILL_AFTER:
		opts->kill_after_ns = options_duration(self, "--kill-after",
						       value);
		break;
	default:
		opts->keep = !strcmp(value, "keep");
		if (!opts->keep && strcmp(value, "kill"))
			cmd_misuse(self, "run: --orphan: \"%s\" is neither "
				   "kill nor keep", value);
	}
}

/* Returns the default label: the job and its arguments, truncated. */
static const char *label_of(char *const *command)
{
	static char label[WEIR_NAMED_LABEL_MAX + 1];
	size_t used = 0;

	for (; *command && used < WEIR_NAMED_LABEL_MAX; command++) {
		(void)snprintf(label + used, sizeof(label) - used, "%s%s",
			       used ? " " : "", *command);
		used = strlen(label);
	}
	text_tidy(label);
	return label;
}

static void parse_options(const struct cmd *self, struct run_opts *opts,
			  int argc, char **argv)
{
	struct acquire_opts *acquire = &opts->acquire;
	int option;

	/* The first argument is the name, the second one the job. */
	while ((option = options_next(self, argc, argv, ACQUIRE_SHORTS "q",
				      longs)) != -1) {
		if (option == 1 && acquire->name) {
			optind--;
			break;
		}
		if (option == 1)
			acquire->name = optarg;
		else if (!acquire_opts_set(self, acquire, option))
			set_option(self, opts, option);
	}
	/* The name may follow "--", but a single word there is the command. */
	if (!acquire->name && optind + 1 == argc)
		cmd_misuse(self, "run: NAME is missing before \"%s\"",
			   argv[optind]);
	if (!acquire->name && optind < argc)
		acquire->name = argv[optind++];
	opts->command = argv + optind;
	if (acquire->name && !opts->command[0])
		cmd_misuse(self, "run: COMMAND is missing");
	if (acquire->name && !acquire->label)
		acquire->label = label_of(opts->command);
	acquire_opts_check(self, acquire);
	if (opts->keep && remote_url(acquire->name))
		cmd_misuse(self, "run: --orphan=keep is not possible with a URL: "
			   "if weir is killed, no process renews the lease");
}

/*
 * Wait for the end of the job; the kernel kills the job when the guardian dies.
 */
static void wait_for_death(struct job *job)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (job_reap(job) && !job->ended && children_has(job->pid))
		(void)sigwaitinfo(&child, NULL);
}

/*
 * Wait for a job that outlives the guardian, and pass signals on.  Returns false
 * if its status is not known: it has ended before, and its pid may have been
 * reused.
 */
static bool wait_for_outliving(struct job *job, const struct signals *signals)
{
	while (job_reap(job) && !job->ended && children_has(job->pid)) {
		siginfo_t info;
		int sig = sigwaitinfo(&signals->handled, &info);

		if (sig > 0 && sig != SIGCHLD && sig != SIG_ORPHANED &&
		    !interrupt_is_from_terminal(&info))
			(void)job_signal(job, sig);
	}
	return job->ended;
}

/*
 * Called if the guardian was killed, or ended because the file was truncated;
 * status is that of waitpid.  Its descendants have been reparented to the
 * wrapper.  If the wrapper had children before, they cannot be distinguished
 * from descendants of the job.  Then the wrapper waits for the job only;
 * descendants of the job keep the permit until they end.
 */
static int guardian_died(const struct run_opts *opts,
			 const struct signals *signals,
			 struct run_shared *shared, int status)
{
	struct job job = { .pid = atomic_load(&shared->job) };
	bool damaged = !WIFSIGNALED(status);

	if (!job.pid && damaged)
		return EXIT_DAMAGED;
	if (!job.pid)
		cmd_die(EXIT_WEIR, "%s: the guardian was killed by signal %d "
			"while it waited", opts->acquire.name,
			WTERMSIG(status));
	if (!atomic_load(&shared->outlives)) {
		if (opts->had_children)
			wait_for_death(&job);
		else
			job_end_all(&job, -1);
		if (damaged)
			return EXIT_DAMAGED;
		cmd_message("%s: the guardian was killed while it held the "
			    "permit; %s was ended", opts->acquire.name,
			    opts->command[0]);
		return EXIT_LOST;
	}
	if (!wait_for_outliving(&job, signals) && !damaged)
		cmd_die(EXIT_WEIR, "%s: the guardian was killed; the exit "
			"status of %s is unknown", opts->acquire.name,
			opts->command[0]);
	return damaged ? EXIT_DAMAGED : process_exit_status(job.status);
}

/* Pass on signals and draw the line until the guardian has ended. */
static int wait_for_guardian(const struct run_opts *opts,
			     const struct signals *signals,
			     struct run_shared *shared, pid_t guardian)
{
	bool shows = !opts->acquire.quiet && !opts->acquire.try &&
		     !remote_url(opts->acquire.name) && isatty(STDERR_FILENO);
	struct timespec pause = { 0, FIRST_LINE_NS };
	int64_t since = weir_now_ns();
	int status;

	for (;;) {
		siginfo_t info;
		pid_t pid = waitpid(guardian, &status, WNOHANG);
		int sig;

		if (pid == guardian)
			break;
		if (shows && atomic_load(&shared->phase) == RUN_WAITS) {
			sig = sigtimedwait(&signals->handled, &info, &pause);
			if (sig < 0 && errno == EAGAIN) {
				progress_draw(opts, shared, guardian, since);
				pause.tv_nsec = NEXT_LINE_NS;
			}
		} else {
			sig = sigwaitinfo(&signals->handled, &info);
		}
		if (sig == SIG_STARTING)
			interrupt_answer(shared);
		else if (sig > 0 && sig != SIGCHLD)
			interrupt_pass_on(shared, guardian, &info);
	}
	if (WIFSIGNALED(status) || atomic_load(&shared->damaged))
		return guardian_died(opts, signals, shared, status);
	return interrupt_status(shared, signals, WEXITSTATUS(status));
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct run_opts opts = { .acquire = ACQUIRE_OPTS_INIT,
				 .kill_after_ns = -1 };
	pid_t wrapper = getpid(), guardian;
	struct run_shared *shared;
	struct signals signals;
	int status;

	parse_options(self, &opts, argc, argv);
	/* `argv` follows the name of the program. */
	if (remote_url(opts.acquire.name))
		full_exec(argv - 1);
	remote_refuse_password(opts.acquire.name);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		cmd_die(EXIT_WEIR, "out of memory");
	signals_block(&signals);
	/* A script that ends with "exec weir run" may have left children. */
	opts.had_children = children_exist();
	/* If the guardian is killed, orphans are reparented to the wrapper. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	guardian = fork();
	if (guardian < 0)
		cmd_die(EXIT_WEIR, "cannot fork: %s", strerror(errno));
	if (!guardian && remote_url(opts.acquire.name))
		exit(remote_guardian(&opts, remote_url(opts.acquire.name),
				     &signals, shared, wrapper, getpgrp()));
	if (!guardian)
		exit(guardian_main(&opts, &signals, shared, wrapper,
				   getpgrp()));
	status = wait_for_guardian(&opts, &signals, shared, guardian);
	interrupt_end(shared, status);
	return status;
}

const struct cmd cmd_run = {
	.name = "run",
	.summary = "run a command when a permit is granted",
	.help =
"usage: weir run NAME [OPTION]... [--] COMMAND [ARGUMENT]...\n"
"\n"
"Waits for a permit of the semaphore NAME, in order of arrival, runs COMMAND, and\n"
"releases the permit when COMMAND has ended.  The limit holds even if processes\n"
"are killed.\n"
"\n"
"  -n, --capacity=N     create NAME with N permits if it does not exist\n"
"  -w, --weight=N       acquire N permits instead of 1\n"
"  -t, --timeout=TIME   wait at most TIME (default: $WEIR_TIMEOUT); 124 then\n"
"      --try            do not wait; 75 if the permit is not free\n"
"  -E, --exit-code=N    exit with N instead of 124 or 75\n"
"      --orphan=kill    if weir is killed, kill COMMAND and its descendants (the\n"
"                       default)\n"
"      --orphan=keep    if weir is killed, COMMAND continues with its permit; not\n"
"                       with a URL\n"
"      --kill-after=TIME  kill COMMAND if it runs for TIME after a signal was\n"
"                       passed on, or after weir was killed\n"
"      --nested         allow a NAME that is in $WEIR_HELD\n"
"  -l, --label=TEXT     the label in \"weir stat\"; default: COMMAND\n"
"  -q, --quiet          no messages about waiting, nor about 124 and 75\n"
"      --shared         allow a semaphore that other users can use\n"
"  -h, --help           print this text\n"
"\n"
"Exit status: that of COMMAND, or 128 + its signal; 124 the wait timed out; 75\n"
"busy (--try); 69 NAME is closed or does not exist; 76 the permit was lost; 64\n"
"wrong usage; 65 the file is damaged; 77 permission denied; 125 weir failed; 126\n"
"COMMAND cannot be run; 127 COMMAND is not found.\n",
	.run = run,
};
