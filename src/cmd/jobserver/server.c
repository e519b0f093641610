/* SPDX-License-Identifier: MIT */
/* The job server: starting the command, and the event loop. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/jobserver/filter.h"
#include "cmd/jobserver/flags.h"
#include "cmd/jobserver/orphans.h"
#include "cmd/jobserver/pass.h"
#include "cmd/jobserver/seccomp_notify.h"
#include "cmd/jobserver/server.h"
#include "cmd/lib/exec.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/process.h"
#include "cmd/lib/text.h"

static _Noreturn void die(const char *what)
{
	cmd_die(EXIT_WEIR, "jobserver: %s: %s", what, strerror(errno));
}

/* Runs in the child: install the filter, and execute the command. */
static _Noreturn void child_main(struct server *server, int channel,
				 char **argv)
{
	int error;

	/* If the server dies, a make gets SIGTERM and ends its jobs. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != server->self)
		_exit(EXIT_WEIR);
	signals_restore(&server->mask);
	if (!server->plain)
		pass_send(channel, filter_install(server->tokens.reads,
						  server->tokens.writes));
	close(channel);
	exec_command(argv);
	error = errno;
	cmd_message("%s: %s", text_visible(argv[0]), strerror(error));
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static void start(struct server *server, char **argv)
{
	int channel[2];
	char *flags;

	flags = flags_with(getenv("MAKEFLAGS"), server->jobs,
			   server->tokens.auth);
	/* Clients of cargo's library prefer CARGO_MAKEFLAGS to MAKEFLAGS. */
	if (setenv("MAKEFLAGS", flags, 1) || unsetenv("MFLAGS") ||
	    unsetenv("CARGO_MAKEFLAGS"))
		die("MAKEFLAGS");
	free(flags);
	signals_block(&server->mask);
	server->signals = signalfd(-1, &server->mask.handled,
				   SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
		die("cannot start the command");
	fflush(NULL);
	orphans_init();
	server->self = getpid();
	server->command = fork();
	if (server->command < 0)
		die("fork");
	if (!server->command)
		child_main(server, channel[1], argv);
	close(channel[1]);
	server->listener = server->plain ? -1 : pass_receive(channel[0]);
	if (!server->plain && server->listener < 0 && server->verbose)
		cmd_message("jobserver: cannot see which process takes a "
			    "token: %s", strerror(errno));
	close(channel[0]);
	if (!server->fifo) {
		close(server->tokens.reads);
		close(server->tokens.writes);
	}
}

/*
 * Pass signals on to the command, except those that the terminal sends to it as
 * well.
 */
static void forward(struct server *server)
{
	struct signalfd_siginfo info;

	while (read(server->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_code == SI_KERNEL && info.ssi_signo == SIGINT)
			server->interrupted = true;
		if (info.ssi_signo != SIGCHLD &&
		    (info.ssi_code != SI_KERNEL || info.ssi_signo == SIGHUP) &&
		    (int)info.ssi_signo != SIG_ORPHANED && server->command > 1)
			(void)kill(server->command, (int)info.ssi_signo);
	}
}

enum { SIGNALS, LISTENER, PIPE, FIXED };

/* Returns the descriptors to poll; those of the clients come last. */
static struct pollfd *poll_list(const struct server *server, int pipe_events)
{
	const struct pool *pool = &server->pool;
	size_t count = FIXED + pool->count;
	struct pollfd *fds = memory_realloc(NULL, count * sizeof(*fds));

	fds[SIGNALS] = (struct pollfd){ .fd = server->signals };
	fds[LISTENER] = (struct pollfd){ .fd = server->listener };
	fds[PIPE] = (struct pollfd){ .fd = pipe_events };
	for (size_t i = 0; i < pool->count; i++)
		fds[FIXED + i] =
			(struct pollfd){ .fd = pool->clients[i].pidfd };
	for (size_t i = 0; i < count; i++)
		fds[i].events = POLLIN;
	return fds;
}

/*
 * Returns an edge-triggered epoll descriptor for the pipe.  A pipe without
 * writers stays in that state and must be reported only once.  An empty pipe
 * that gets a byte is reported as well; then pending reads can be answered.
 */
static int watch_pipe(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLHUP | EPOLLET };
	int pipe_events = epoll_create1(EPOLL_CLOEXEC);

	if (pipe_events < 0 ||
	    epoll_ctl(pipe_events, EPOLL_CTL_ADD, fd, &event))
		die("epoll");
	return pipe_events;
}

/* Returns true if the pipe has lost its last writer since the last call. */
static bool lost_writers(int pipe_events)
{
	struct epoll_event event;

	return epoll_wait(pipe_events, &event, 1, 0) == 1 &&
	       (event.events & EPOLLHUP);
}

/*
 * Handle the events that poll reported.  Returns true if the command has ended,
 * with its status in *status.
 */
static bool handle_events(struct server *server, const struct pollfd *fds,
			  size_t clients, int pipe_events, int *status)
{
	struct pool *pool = &server->pool;

	/*
	 * Iterate backwards, because pool_client_ended moves the last client to
	 * the gap.
	 */
	for (size_t i = clients; i-- > 0;)
		if (fds[FIXED + i].revents)
			pool_client_ended(pool, i);
	if (fds[LISTENER].revents & POLLIN)
		seccomp_notify_call(server->listener, pool);
	else if (fds[LISTENER].revents & POLLHUP)
		server->listener = -1;
	if (fds[SIGNALS].revents) {
		forward(server);
		if (orphans_reap(server->command, status))
			return true;
	}
	if (fds[PIPE].revents && lost_writers(pipe_events))
		pool_no_writers(pool);
	if (pool->owed)
		pool_return_owed(pool, orphans_count());
	if (fds[PIPE].revents)
		seccomp_notify_pending(server->listener, pool);
	return false;
}

/* Run the event loop.  Returns the status of the command. */
static int serve(struct server *server)
{
	int pipe_events = watch_pipe(server->pool.fd), status;
	bool ended = false;

	while (!ended) {
		struct pollfd *fds = poll_list(server, pipe_events);
		size_t clients = server->pool.count;

		if (poll(fds, FIXED + clients, -1) < 0 && errno != EINTR)
			die("poll");
		ended = handle_events(server, fds, clients, pipe_events,
				      &status);
		free(fds);
	}
	return status;
}

/*
 * Called when the command has ended.  If processes are left under the filter, a
 * child process stays and lets all their calls continue.
 */
static void stay_behind(const struct server *server)
{
	struct pollfd end = { .fd = server->listener, .events = 0 };
	int null;

	if (server->listener < 0 || poll(&end, 1, 0) > 0 || fork())
		return;
	/* The read end stays open: without a reader, a write raises SIGPIPE. */
	process_close_others(server->listener, server->pool.fd);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	if (setsid() < 0 || chdir("/"))
		cmd_message("jobserver: cannot detach: %s", strerror(errno));
	seccomp_notify_continue_all(server->listener);
	_exit(0);
}

/* Set before the exit if control-C has ended the command. */
static bool ends_by_sigint;

static void end_by_sigint(void)
{
	if (ends_by_sigint)
		signals_end_by(SIGINT);
}

int server_run(struct server *server, char **argv)
{
	int status;

	/*
	 * A shell ends its loop or script only if SIGINT ends the command.  The
	 * first handler is called last, after the fifo has been removed.
	 */
	(void)atexit(end_by_sigint);
	if (server->fifo)
		pipe_make_fifo(&server->tokens);
	else
		pipe_make(&server->tokens);
	pool_fill(&server->pool, server->tokens.fd, server->tokens.path,
		  server->jobs - server->own_jobs);
	server->pool.verbose = server->verbose;
	start(server, argv);
	status = serve(server);
	stay_behind(server);
	ends_by_sigint = server->interrupted && WIFSIGNALED(status) &&
			 WTERMSIG(status) == SIGINT;
	return process_exit_status(status);
}
