/* SPDX-License-Identifier: MIT */
/* Messages on standard error, and exit statuses for errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/text.h"

/*
 * Each line is one write, so that lines of several processes do not mix.
 * Control characters are replaced: a label may come from another user.
 */
__attribute__((format(printf, 1, 0)))
static void print(const char *format, va_list args)
{
	char line[1024];
	int used = snprintf(line, sizeof(line), "weir: ");
	int more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1,
			     format, args);

	if (more < 0)
		return;
	text_clean(line);
	used = (int)strlen(line);
	line[used] = '\n';
	line[used + 1] = 0;
	fputs(line, stderr);
	fflush(stderr);
}

void cmd_message(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
}

void cmd_die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
	exit(status);
}

void cmd_misuse(const struct cmd *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
	if (self)
		cmd_message("try \"weir help %s\"", self->name);
	else
		cmd_message("try \"weir --help\"");
	exit(EXIT_MISUSE);
}

static int status_of_errno(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
	case ELOOP:
	case EROFS:
		return EXIT_REFUSED;
	case ENAMETOOLONG:
		return EXIT_MISUSE;
	case EBADMSG:
	case EPROTO:
	case EISDIR:
		return EXIT_DAMAGED;
	case ENOENT:
	case ENOTDIR:	/* a part of the path is a file: there is none below */
	case ESTALE:
		return EXIT_CLOSED;
	default:
		return EXIT_WEIR;
	}
}

int cmd_status(weir_err err, int errnum)
{
	switch (err) {
	case WEIR_OK:
		return EXIT_SUCCESS;
	case WEIR_ETIMEDOUT:
		return EXIT_TIMEOUT;
	case WEIR_EAGAIN:
		return EXIT_BUSY;
	case WEIR_ECLOSED:
		return EXIT_CLOSED;
	case WEIR_EINVAL:
	case WEIR_ETOOBIG:
		return EXIT_MISUSE;
	case WEIR_ESYSTEM:
		return status_of_errno(errnum);
	default:
		return EXIT_WEIR;
	}
}

const char *cmd_reason(weir_err err, int errnum, const char *why,
		       char room[REASON_ROOM])
{
	if (!why || !*why)
		return err != WEIR_ESYSTEM ? weir_err_text(err) :
		       errnum == EBADMSG ? "the file is damaged" :
					   strerror(errnum);
	/* For these errors the explanation is complete without strerror. */
	if (err != WEIR_ESYSTEM || errnum == EBADMSG || errnum == EPROTO ||
	    errnum == ESTALE || errnum == EPERM)
		return why;
	(void)snprintf(room, REASON_ROOM, "%s: %s", why, strerror(errnum));
	return room;
}

void cmd_fail(const char *name, weir_err err, const char *why)
{
	char room[REASON_ROOM];
	int errnum = errno;

	if (err == WEIR_ECLOSED)
		cmd_die(EXIT_CLOSED, "%s: the semaphore is closed; \"weir open "
			"%s\" opens it again", name, name);
	cmd_die(cmd_status(err, errnum), "%s: %s", text_visible(name),
		cmd_reason(err, errnum, why, room));
}

void cmd_flush(void)
{
	if (fflush(stdout) || ferror(stdout))
		cmd_die(EXIT_WEIR, "cannot write the output: %s",
			strerror(errno));
}
