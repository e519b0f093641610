/* SPDX-License-Identifier: MIT */
/*
 * weir run: a command under permits.  Here is the wrapper, which is what the
 * user started: it forks the guardian, shows the queue, passes signals on and
 * ends as the command did.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/run.h"

/* When the line is first shown, and how often it is written again. */
#define FIRST_LINE_NS 200000000
#define NEXT_LINE_NS 500000000

enum { OPT_ORPHAN = 300, OPT_KILL_AFTER };

static const struct option longs[] = {
	CMD_HELP,
	TAKE_LONGS,
	{ "orphan", required_argument, NULL, OPT_ORPHAN },
	{ "kill-after", required_argument, NULL, OPT_KILL_AFTER },
	{ "quiet", no_argument, NULL, 'q' },
	CMD_OPTIONS_END
};

static void own_option(const struct cmd *self, struct run_opts *opts,
		       int option)
{
	const char *value = optarg ? optarg : "";

	switch (option) {
	case 'q':
		opts->take.quiet = true;
		break;
	case OPT_KILL_AFTER:
		opts->kill_after_ns = cmd_duration(self, "--kill-after",
						   value);
		break;
	default:
		opts->keep = !strcmp(value, "keep");
		if (!opts->keep && strcmp(value, "kill"))
			cmd_misuse(self, "run: --orphan is kill or keep, "
				   "not \"%s\"", value);
	}
}

/* What to call it: the command, as much as there is room for. */
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

static void take_options(const struct cmd *self, struct run_opts *opts,
			 int argc, char **argv)
{
	struct take *take = &opts->take;
	int option;

	/* The first word is the name; the second begins the command. */
	while ((option = cmd_option(self, argc, argv, TAKE_SHORTS "q",
				    longs)) != -1) {
		if (option == 1 && take->name) {
			optind--;
			break;
		}
		if (option == 1)
			take->name = optarg;
		else if (!take_option(self, take, option))
			own_option(self, opts, option);
	}
	if (!take->name && optind < argc)
		take->name = argv[optind++];
	opts->command = argv + optind;
	if (take->name && !opts->command[0])
		cmd_misuse(self, "run: which command?");
	if (take->name && !take->label)
		take->label = label_of(opts->command);
	take_check(self, take);
}

/* Whether the terminal sent it, so to the command as well; not so a HUP. */
static bool is_terminals(const siginfo_t *info)
{
	return info->si_code == SI_KERNEL && info->si_signo != SIGHUP;
}

/* As it has when it was a script that ended with "exec weir run". */
static bool has_children(void)
{
	siginfo_t info;

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

/* Until the command is gone, which dies with the guardian. */
static void await_death(struct job *job)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (job_reap(job) && !job->ended && children_has(job->pid))
		(void)sigwaitinfo(&child, NULL);
}

/*
 * The guardian was killed.  What it had is ours by now.  If there are others
 * that were ours before, they cannot be told from what the command has started:
 * that lives, and has the permit until it ends.
 */
static int guardian_died(const struct run_opts *opts,
			 const struct signals *signals,
			 struct run_board *board)
{
	struct job job = { .pid = atomic_load(&board->job) };

	if (!job.pid)
		cmd_die(EXIT_WEIR, "%s: the process that waited was killed",
			opts->take.name);
	if (!atomic_load(&board->outlives)) {
		if (opts->had_children)
			await_death(&job);
		else
			job_end_all(&job, -1);
		cmd_say("%s: the process that held the permit was killed, and "
			"%s ended", opts->take.name, opts->command[0]);
		return EXIT_LOST;
	}
	/*
	 * The command is our child now, and all is as before; unless it had
	 * ended, and its number is anybody's.
	 */
	while (job_reap(&job) && !job.ended && children_has(job.pid)) {
		siginfo_t info;
		int sig = sigwaitinfo(&signals->handled, &info);

		if (sig > 0 && sig != SIGCHLD && sig != SIG_ORPHANED &&
		    sig != SIGINT && !is_terminals(&info))
			job_signal(&job, sig);
	}
	if (!job.ended)
		cmd_die(EXIT_WEIR, "%s: the process that knew how %s ended "
			"was killed", opts->take.name, opts->command[0]);
	return job_status(job.status);
}

/* A signal for the guardian.  Along goes whether the terminal sent it. */
static void pass_on(pid_t guardian, const siginfo_t *info)
{
	union sigval terminal = { .sival_int = is_terminals(info) };

	(void)sigqueue(guardian, info->si_signo, terminal);
}

static int attend(const struct run_opts *opts, const struct signals *signals,
		  struct run_board *board, pid_t guardian)
{
	bool shows = !opts->take.quiet && !opts->take.try &&
		     isatty(STDERR_FILENO);
	struct timespec pause = { 0, FIRST_LINE_NS };
	int64_t since = weir_now_ns();
	int status;

	for (;;) {
		siginfo_t info;
		pid_t pid = waitpid(guardian, &status, WNOHANG);
		int sig;

		if (pid == guardian)
			break;
		if (shows && atomic_load(&board->phase) == RUN_WAITS) {
			sig = sigtimedwait(&signals->handled, &info, &pause);
			if (sig < 0 && errno == EAGAIN) {
				progress_draw(opts, board, guardian, since);
				pause.tv_nsec = NEXT_LINE_NS;
			}
		} else {
			sig = sigwaitinfo(&signals->handled, &info);
		}
		if (sig > 0 && sig != SIGCHLD && sig != SIG_ORPHANED)
			pass_on(guardian, &info);
	}
	return WIFSIGNALED(status) ? guardian_died(opts, signals, board) :
				     WEXITSTATUS(status);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	struct run_opts opts = { .take = TAKE_INIT, .kill_after_ns = -1 };
	pid_t wrapper = getpid(), guardian;
	struct run_board *board;
	struct signals signals;

	take_options(self, &opts, argc, argv);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		cmd_die(EXIT_WEIR, "out of memory");
	signals_block(&signals);
	opts.had_children = has_children();
	/* So that nothing is left to nobody if the guardian is killed. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	guardian = fork();
	if (guardian < 0)
		cmd_die(EXIT_WEIR, "cannot fork: %s", strerror(errno));
	if (!guardian)
		exit(guard(&opts, &signals, board, wrapper, getpgrp()));
	return attend(&opts, &signals, board, guardian);
}

const struct cmd cmd_run = {
	.name = "run",
	.summary = "run a command when it is its turn",
	.help =
"usage: weir run NAME [OPTION]... [--] COMMAND [ARGUMENT]...\n"
"\n"
"Waits for a permit of the semaphore NAME, in order of arrival, runs COMMAND, and\n"
"gives the permit back when it has ended.  The limit holds whatever is killed.\n"
"\n"
"  -n, --capacity=N     make NAME with N permits if it is not there\n"
"  -w, --weight=N       take N permits instead of 1\n"
"  -t, --timeout=TIME   wait no longer than this (else $WEIR_TIMEOUT); 124 then\n"
"      --try            do not wait; 75 if it would have to\n"
"  -E, --exit-code=N    N instead of 124 and 75\n"
"      --orphan=kill    if weir is killed, so is all of COMMAND (the default)\n"
"      --orphan=keep    if weir is killed, COMMAND goes on with its permit\n"
"      --kill-after=TIME  how long COMMAND has after a signal to end, or after\n"
"                       weir was killed, before it is killed\n"
"      --nested         also under a NAME that is in $WEIR_HELD already\n"
"  -l, --label=TEXT     what \"weir stat\" calls it; else COMMAND\n"
"  -q, --quiet          say nothing of waiting, also if it ends with 124 or 75\n"
"      --shared         for a semaphore that other users may use as well\n"
"  -h, --help           this text\n"
"\n"
"Exit status: COMMAND's own, or 128 + its signal; 124 the wait timed out; 75 busy\n"
"(--try); 69 closed, or not there; 76 the permit was lost; 64 usage; 65 the file\n"
"is damaged; 77 permission; 125 weir failed; 126 COMMAND cannot be run; 127 it is\n"
"not found.\n",
	.run = run,
};
