/* SPDX-License-Identifier: MIT */
/* Recognise the program ninja, and the versions that are clients of job servers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/jobserver/ninja.h"
#include "cmd/lib/memory.h"

extern char **environ;

bool ninja_is(const char *command)
{
	const char *slash = strrchr(command, '/');
	const char *name = slash ? slash + 1 : command;

	return !strcmp(name, "ninja") || !strcmp(name, "ninja-build");
}

/* Start `command --version` with its output in a pipe; 0: it cannot run. */
static pid_t start(const char *command, int output)
{
	char name[] = "--version";
	char *argv[] = { memory_strdup(command), name, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;

	if (posix_spawn_file_actions_init(&actions)) {
		free(argv[0]);
		return 0;
	}
	if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null",
					     O_RDONLY, 0) ||
	    posix_spawn_file_actions_adddup2(&actions, output, 1) ||
	    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null",
					     O_WRONLY, 0) ||
	    posix_spawnp(&pid, command, &actions, NULL, argv, environ))
		pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	free(argv[0]);
	return pid;
}

/* Read the first line of the output. */
static void read_line(int fd, char version[NINJA_VERSION_ROOM])
{
	size_t used = 0;

	while (used < NINJA_VERSION_ROOM - 1) {
		ssize_t more = read(fd, version + used,
				    NINJA_VERSION_ROOM - 1 - used);

		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			break;
		used += (size_t)more;
	}
	version[used] = 0;
	version[strcspn(version, "\n")] = 0;
}

static void find_version(const char *command, char version[NINJA_VERSION_ROOM])
{
	struct sigaction default_action = { .sa_handler = SIG_DFL }, before;
	int ends[2], status = 1;
	pid_t pid;

	*version = 0;
	if (pipe2(ends, O_CLOEXEC))
		return;
	/* If SIGCHLD were ignored, the status would be lost. */
	(void)sigaction(SIGCHLD, &default_action, &before);
	pid = start(command, ends[1]);
	close(ends[1]);
	if (pid) {
		read_line(ends[0], version);
		close(ends[0]);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	} else {
		close(ends[0]);
	}
	(void)sigaction(SIGCHLD, &before, NULL);
	/* The line of another program is not a version. */
	if (status || *version < '0' || *version > '9')
		*version = 0;
}

/*
 * Ninja takes tokens since 1.13, from a fifo only.  Kitware's ninja takes them
 * from both, and has "jobserver" in its version.
 */
bool ninja_takes_tokens(const char *command, bool fifo,
			char version[NINJA_VERSION_ROOM])
{
	char *end;
	long major, minor = 0;

	find_version(command, version);
	if (strstr(version, "jobserver"))
		return true;
	major = strtol(version, &end, 10);
	if (*end == '.')
		minor = strtol(end + 1, NULL, 10);
	return fifo && (major > 1 || (major == 1 && minor >= 13));
}
