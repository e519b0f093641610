/* SPDX-License-Identifier: MIT */
/* The server at work: the pipe or fifo, the command, and the loop. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/job.h"
#include "cmd/jobserver.h"

/* Out of the way of what shells and programs use. */
#define FD_LEAST 100

static struct server *to_clean;

/* Children from before the command: it was a script that became weir. */
static struct children former;

static void clean(void)
{
	if (!to_clean || !*to_clean->folder)
		return;
	unlink(to_clean->path);
	rmdir(to_clean->folder);
}

static _Noreturn void die(const char *what)
{
	cmd_die(EXIT_WEIR, "jobserver: %s: %s", what, strerror(errno));
}

/* A copy to be inherited; where so many are not allowed, any number will do. */
static int high_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD, FD_LEAST);

	return copy < 0 && errno == EINVAL ? fcntl(fd, F_DUPFD, 3) : copy;
}

/* The end that the server reads from has a file description of its own. */
static void make_pipe(struct server *server)
{
	char path[40];
	int ends[2], fd;

	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	server->reads = high_copy(ends[0]);
	server->writes = high_copy(ends[1]);
	if (server->reads < 0 || server->writes < 0)
		die("pipe");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die(path);
	close(ends[0]);
	close(ends[1]);
	(void)snprintf(server->auth, sizeof(server->auth), "%d,%d",
		       server->reads, server->writes);
	pool_fill(&server->pool, fd, server->jobs - 1);
}

static void make_fifo(struct server *server)
{
	const char *base = getenv("TMPDIR");
	int fd;

	if (!base || *base != '/' || strlen(base) > 32)
		base = "/tmp";
	(void)snprintf(server->folder, sizeof(server->folder),
		       "%s/weir-jobs-XXXXXX", base);
	if (!mkdtemp(server->folder)) {
		*server->folder = '\0';
		die(base);
	}
	to_clean = server;
	(void)atexit(clean);
	(void)snprintf(server->path, sizeof(server->path), "%s/fifo",
		       server->folder);
	if (mkfifo(server->path, 0600))
		die(server->path);
	fd = open(server->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die(server->path);
	server->reads = server->writes = -1;
	(void)snprintf(server->auth, sizeof(server->auth), "fifo:%s",
		       server->path);
	pool_fill(&server->pool, fd, server->jobs - 1);
}

static _Noreturn void become(struct server *server, int channel, char **argv)
{
	int error;

	/* make ends its own jobs on SIGTERM. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != server->self)
		_exit(EXIT_WEIR);
	signals_restore(&server->mask);
	if (!server->plain)
		pass_send(channel, see_begin(server->reads, server->writes));
	close(channel);
	(void)execvp(argv[0], argv);
	error = errno;
	cmd_say("%s: %s", argv[0], strerror(error));
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static void start(struct server *server, char **argv)
{
	int channel[2];
	char *flags;

	flags = flags_with(getenv("MAKEFLAGS"), server->jobs, server->auth);
	if (setenv("MAKEFLAGS", flags, 1) || unsetenv("MFLAGS"))
		die("MAKEFLAGS");
	free(flags);
	signals_block(&server->mask);
	server->signals = signalfd(-1, &server->mask.handled,
				   SFD_CLOEXEC | SFD_NONBLOCK);
	if (server->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
		die("cannot start");
	fflush(NULL);
	children_find(&former);
	server->self = getpid();
	server->command = fork();
	if (server->command < 0)
		die("fork");
	if (!server->command)
		become(server, channel[1], argv);
	close(channel[1]);
	server->listener = server->plain ? -1 : pass_receive(channel[0]);
	if (!server->plain && server->listener < 0 && server->verbose)
		cmd_say("jobserver: who takes a token is not seen here (%s)",
			strerror(errno));
	close(channel[0]);
	if (!server->fifo) {
		close(server->reads);
		close(server->writes);
	}
}

/* The place of pid in the list; as many as there are: it is not there. */
static size_t place_of(const struct children *list, pid_t pid)
{
	size_t i = 0;

	while (i < list->count && list->pids[i] != pid)
		i++;
	return i;
}

/*
 * How many children there are beside the command and the former ones: those who
 * lost their parent.  One that has ended and is not reaped counts; its own
 * children are looked at when it is.
 */
static int64_t orphans(void)
{
	static struct children list;
	int64_t count = -1;

	children_find(&list);
	for (size_t i = 0; i < list.count; i++)
		count += place_of(&former, list.pids[i]) == former.count;
	return count;
}

/* Reap; true: the command is among the dead, and *status is its own. */
static bool reap(const struct server *server, int *status)
{
	bool over = false;
	int one;
	pid_t pid;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
		size_t place = place_of(&former, pid);

		if (place < former.count)
			former.pids[place] = former.pids[--former.count];
		if (pid == server->command) {
			*status = one;
			over = true;
		}
	}
	return over;
}

/* INT is the terminal's, which sends it to the command as well. */
static void forward(const struct server *server)
{
	struct signalfd_siginfo info;

	while (read(server->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGINT &&
		    (info.ssi_code != SI_KERNEL || info.ssi_signo == SIGHUP) &&
		    (int)info.ssi_signo != SIG_ORPHANED && server->command > 1)
			(void)kill(server->command, (int)info.ssi_signo);
}

enum { SIGNALS, LISTENER, EDGE, FIXED };

/* What is waited for; the clients come last. */
static struct pollfd *waited_for(struct server *server, int edge)
{
	const struct pool *pool = &server->pool;
	struct pollfd *fds = pool_room(NULL, (FIXED + pool->count) *
						     sizeof(*fds));

	fds[SIGNALS] = (struct pollfd){ .fd = server->signals };
	fds[LISTENER] = (struct pollfd){ .fd = server->listener };
	fds[EDGE] = (struct pollfd){ .fd = edge };
	for (size_t i = 0; i < pool->count; i++)
		fds[FIXED + i] =
			(struct pollfd){ .fd = pool->clients[i].pidfd };
	for (size_t i = 0; i < FIXED + pool->count; i++)
		fds[i].events = POLLIN;
	return fds;
}

/* Whether the pipe has lost its last writer since the last look. */
static bool lost_writers(int edge)
{
	struct epoll_event event;

	return epoll_wait(edge, &event, 1, 0) == 1 && (event.events & EPOLLHUP);
}

static int serve(struct server *server)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLHUP | EPOLLET };
	struct pool *pool = &server->pool;
	int edge = epoll_create1(EPOLL_CLOEXEC), status;

	/*
	 * Edges: a pipe without writers stays so, and is told once.  A byte for
	 * a call that waits comes to a pipe that was empty, and is told too.
	 */
	if (edge < 0 || epoll_ctl(edge, EPOLL_CTL_ADD, pool->fd, &event))
		die("epoll");
	for (;;) {
		struct pollfd *fds = waited_for(server, edge);
		size_t count = pool->count;

		if (poll(fds, FIXED + count, -1) < 0 && errno != EINTR)
			die("poll");
		/* From the last: who ends, leaves a gap for the last. */
		for (size_t i = count; i-- > 0;)
			if (fds[FIXED + i].revents)
				pool_ended(pool, i);
		if (fds[LISTENER].revents & POLLIN)
			see_call(server->listener, pool);
		else if (fds[LISTENER].revents & POLLHUP)
			server->listener = -1;
		if (fds[SIGNALS].revents) {
			forward(server);
			if (reap(server, &status))
				return status;
		}
		if (fds[EDGE].revents && lost_writers(edge))
			pool_left(pool);
		if (pool->owed)
			pool_settle(pool, orphans());
		if (fds[EDGE].revents)
			see_tokens(server->listener, pool);
		free(fds);
	}
}

/* Something of the tree lives on, and must be able to read a byte. */
static void stay_behind(const struct server *server)
{
	struct pollfd end = { .fd = server->listener, .events = 0 };
	int null;

	if (server->listener < 0 || poll(&end, 1, 0) > 0 || fork())
		return;
	/* While there is somebody who reads, a write does not end a client. */
	job_close_others(server->listener, server->pool.fd);
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	if (setsid() < 0 || chdir("/"))
		cmd_say("%s", strerror(errno));
	see_pass(server->listener);
	_exit(0);
}

int server_run(struct server *server, char **argv)
{
	int status;

	if (server->fifo)
		make_fifo(server);
	else
		make_pipe(server);
	server->pool.verbose = server->verbose;
	start(server, argv);
	status = serve(server);
	stay_behind(server);
	return job_status(status);
}
