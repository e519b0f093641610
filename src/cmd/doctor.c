/* SPDX-License-Identifier: MIT */
/*
 * weir doctor: what is wrong with a semaphore, and what can be done about it.
 *
 * Most repairs need no doctor: whoever opens a semaphore buries the dead and
 * mends what they left.  What remains is files that cannot be opened.  One that
 * nobody has open is moved aside; one that is in use is left alone, for a new
 * one by its name would give out the same permits again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/doctor.h"

#define PATIENCE_S 10

/* How a semaphore's file is called, and begins: docs/design/named-format.md. */
#define SUFFIX ".weir"
#define MAGIC "weir sem"

void doctor_say(const char *format, ...)
{
	char line[3 * PATH_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	text_clean(line);
	puts(line);
}

static void stuck(int sig)
{
	static const char text[] =
		"problem: no answer for 10 s: a process that has it open was "
		"stopped in the middle of a call\n";

	(void)sig;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_CLOSED);
}

/* The file as it was before it was looked at. */
struct sight {
	char path[PATH_MAX];
	struct stat info;
	bool there;
};

static void sight_take(struct sight *sight, const char *name)
{
	sight->there = !weir_named_path(name, sight->path,
					sizeof(sight->path)) &&
		       !lstat(sight->path, &sight->info);
}

/*
 * Have the file to ourselves: all of it is locked, so no process has it open as
 * a semaphore or comes to, and none puts another in its place.  And it is the
 * one that was looked at.  A descriptor; -1: no, and why was said.
 */
static int seize(const struct sight *sight)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(sight->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW |
				   O_NONBLOCK);
	struct stat own, now;

	if (fd < 0)
		printf("not repaired: %s\n", strerror(errno));
	else if (fcntl(fd, F_OFD_SETLK, &lock))
		printf("not repaired: processes have it open; end them and "
		       "come again\n");
	else if (!sight->there || fstat(fd, &own) || lstat(sight->path, &now) ||
		 own.st_ino != now.st_ino || own.st_dev != now.st_dev ||
		 own.st_ino != sight->info.st_ino ||
		 own.st_dev != sight->info.st_dev)
		printf("not repaired: another took its place just now\n");
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Whether it was a semaphore once, by its name or by how it begins.  Anything
 * can be given as a path, and what is not ours stays where it is.
 */
static bool was_semaphore(int fd, const char *path)
{
	size_t length = strlen(path), suffix = sizeof(SUFFIX) - 1;
	char begins[sizeof(MAGIC) - 1];

	return (length > suffix && !strcmp(path + length - suffix, SUFFIX)) ||
	       (pread(fd, begins, sizeof(begins), 0) ==
			(ssize_t)sizeof(begins) &&
		!memcmp(begins, MAGIC, sizeof(begins)));
}

/* It cannot be opened, and that is the file's fault. */
static int mend_file(const char *name, const struct sight *sight)
{
	char aside[PATH_MAX + 16];
	int fd = seize(sight), status = EXIT_DAMAGED;

	if (fd < 0)
		return status;
	(void)snprintf(aside, sizeof(aside), "%s.damaged", sight->path);
	if (!was_semaphore(fd, sight->path)) {
		printf("not repaired: nothing tells that this was a semaphore; "
		       "if it was, move it away\n");
	} else if (rename(sight->path, aside)) {
		printf("not repaired: cannot move it: %s\n", strerror(errno));
	} else {
		doctor_say("repaired: moved it to %s; \"weir open %s -n N\" "
			   "makes a new one", aside, name);
		status = EXIT_SUCCESS;
	}
	close(fd);
	return status;
}

/* It is from before the machine's last start. */
static int remove_old(const struct sight *sight, int status)
{
	int fd = seize(sight);

	if (fd < 0)
		return status;
	if (unlink(sight->path)) {
		printf("not repaired: %s\n", strerror(errno));
	} else {
		printf("repaired: removed it; nobody in it is alive\n");
		status = EXIT_SUCCESS;
	}
	close(fd);
	return status;
}

static int refused(const char *name, const struct sight *sight, weir_err err,
		   int errnum, const char *why)
{
	int status = cmd_status(err, errnum);
	char room[REASON_ROOM];
	const char *reason = cmd_reason(err, errnum, why, room);

	if (err == WEIR_ESYSTEM && errnum == ENOENT && *sight->path)
		doctor_say("problem: there is no semaphore at %s",
			   sight->path);
	else
		doctor_say("problem: %s", reason);
	if (err == WEIR_ESYSTEM && errnum == ESTALE)
		return remove_old(sight, status);
	return status == EXIT_DAMAGED ? mend_file(name, sight) : status;
}

static int see(const char *name)
{
	char why[512] = "";
	/* It looks at what others may write, too, as ls does. */
	weir_named_opts opts = { .label = "weir doctor", .why = why,
				 .why_size = sizeof(why),
				 .flags = WEIR_NAMED_SHARED };
	struct sight sight = { .there = false };
	weir_named_entry *entries;
	weir_named_info info;
	weir_named *sem;
	weir_err err;
	int status;

	(void)signal(SIGALRM, stuck);
	(void)alarm(PATIENCE_S);
	doctor_say("%s", name);
	fflush(stdout);
	sight_take(&sight, name);
	err = weir_named_open(name, &opts, &sem);
	if (err) {
		status = refused(name, &sight, err, errno, why);
	} else {
		err = cmd_look(sem, &info, &entries);
		if (err) {
			status = refused(name, &sight, err, errno, "");
		} else {
			status = doctor_look(&info, entries);
			free(entries);
		}
		(void)!weir_named_close_handle(sem);
	}
	(void)alarm(0);
	return status;
}

/*
 * One of many, in a process of its own: if nothing answers there, the others
 * are seen all the same.
 */
static int see_apart(const char *name)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		cmd_die(EXIT_WEIR, "cannot fork: %s", strerror(errno));
	if (!pid) {
		status = see(name);
		cmd_flush();
		_exit(status);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_WEIR;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = { CMD_HELP, CMD_OPTIONS_END };
	const char *name = NULL;
	int status = EXIT_SUCCESS;

	while (cmd_option(self, argc, argv, "", longs) != -1)
		cmd_take_name(self, optarg, &name);
	for (; optind < argc; optind++)
		cmd_take_name(self, argv[optind], &name);
	if (name) {
		status = see(name);
	} else {
		char **names;
		int count = cmd_list(&names);

		if (count < 0)
			cmd_fail("doctor", WEIR_ESYSTEM, NULL);
		for (int i = 0; i < count; i++) {
			int one = see_apart(names[i]);

			status = one ? one : status;
		}
		free(names);
	}
	doctor_sockets(name);
	cmd_flush();
	return status;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "find out what is wrong, and repair it",
	.help =
"usage: weir doctor [NAME]\n"
"\n"
"Looks at the semaphore NAME, or at all, says what it finds, and repairs what it\n"
"can: a file that is damaged or from before the machine's last start is moved off\n"
"if no process uses it, and what killed processes left behind is removed.  0: all\n"
"is well or was repaired; else as for \"weir run\".\n"
"\n"
"  -h, --help   this text\n",
	.run = run,
};
