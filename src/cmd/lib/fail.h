/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_FAIL_H
#define WEIR_CMD_LIB_FAIL_H

/* Exit statuses, and messages on standard error: "weir: NAME: reason". */
#include "cmd/lib/command.h"
#include "weir/base.h"

/* A job's own status is passed on; 128 + n: signal n killed the job. */
#define EXIT_MISUSE 64		/* wrong option, or invalid name or weight */
#define EXIT_DAMAGED 65		/* the file is corrupt, or not a semaphore */
#define EXIT_CLOSED 69		/* closed, or there is no such semaphore */
#define EXIT_BUSY 75		/* --try: the call would wait (-E) */
#define EXIT_LOST 76		/* the permit was lost while the job ran */
#define EXIT_REFUSED 77		/* permission denied */
#define EXIT_TIMEOUT 124	/* the wait timed out (-E) */
#define EXIT_WEIR 125		/* weir itself failed */
#define EXIT_CANNOT_RUN 126	/* the job cannot be executed */
#define EXIT_NOT_FOUND 127	/* the job's program does not exist */
#define EXIT_SIGNAL(sig) (128 + (sig))

/* Print "weir: ..." on standard error. */
void cmd_message(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
/* Print "weir: ..." on standard error and exit with the status. */
_Noreturn void cmd_die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Called for wrong usage: print the message and how to get help, and exit with
 * EXIT_MISUSE.  A null self stands for weir itself.
 */
_Noreturn void cmd_misuse(const struct cmd *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the exit status for err.  errnum is used if err is WEIR_ESYSTEM. */
int cmd_status(weir_err err, int errnum);
/*
 * Returns a text for err.  `why` is the explanation that weir_named_open wrote;
 * it may be null or empty.  The result is a constant, `why` or `room`.
 */
#define REASON_ROOM 700
const char *cmd_reason(weir_err err, int errnum, const char *why,
		       char room[REASON_ROOM]);
/* Exit because a call on the semaphore `name` failed.  Uses errno. */
_Noreturn void cmd_fail(const char *name, weir_err err, const char *why);
/*
 * Flush standard output.  Exits if standard output is closed or the device is
 * full.
 */
void cmd_flush(void);

#endif /* WEIR_CMD_LIB_FAIL_H */
