/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_CMD_H
#define WEIR_CMD_CMD_H

/*
 * What the subcommands of weir(1) share.
 *
 * A subcommand is a struct cmd, with its line in the table of main.c.  It runs
 * once and the process ends, so what it allocates is not freed, and whatever
 * goes wrong ends the process: cmd_die, cmd_misuse, cmd_fail.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weir/named.h"

/* Exit statuses; a command that was run has its own, or 128 + its signal. */
#define EXIT_MISUSE 64		/* wrong options, an impossible name or weight */
#define EXIT_DAMAGED 65		/* the file is corrupt, or not ours */
#define EXIT_CLOSED 69		/* closed, or not there */
#define EXIT_BUSY 75		/* --try: it would have to wait (-E) */
#define EXIT_LOST 76		/* the permit was lost while the command ran */
#define EXIT_REFUSED 77		/* permission */
#define EXIT_TIMEOUT 124	/* the wait took too long (-E) */
#define EXIT_WEIR 125		/* weir itself failed */
#define EXIT_CANNOT_RUN 126	/* the command cannot be executed */
#define EXIT_NOT_FOUND 127	/* the command is not there */
#define EXIT_SIGNAL(sig) (128 + (sig))

/* argv[0] is the subcommand's name, as with main. */
struct cmd {
	const char *name;
	const char *summary;	/* half a line, for `weir --help` */
	const char *help;	/* all of `weir help NAME` */
	int (*run)(const struct cmd *self, int argc, char **argv);
};

/* The subcommands, one per line of the table in main.c. */
extern const struct cmd cmd_run, cmd_hold, cmd_release, cmd_wait, cmd_ls,
	cmd_stat, cmd_resize, cmd_close, cmd_open_, cmd_rm, cmd_doctor;
extern const struct cmd cmd_watch, cmd_jobserver;

/* fail.c: messages, which go to standard error as "weir: ...". */
void cmd_say(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
_Noreturn void cmd_die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Wrong use: says how to get help, and ends with EXIT_MISUSE. */
_Noreturn void cmd_misuse(const struct cmd *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The exit status for an error of the library; errnum is errno, if ESYSTEM. */
int cmd_status(weir_err err, int errnum);
/* Why it failed; `why` may be null, or a line of the library's. */
#define REASON_ROOM 700
const char *cmd_reason(weir_err err, int errnum, const char *why,
		       char room[REASON_ROOM]);
/*
 * End because a call on `name` failed; why may be null, or a line of the
 * library's.  Uses errno.
 */
_Noreturn void cmd_fail(const char *name, weir_err err, const char *why);
/* Flush standard output; one that was closed or is full is an error. */
void cmd_flush(void);

/*
 * options.c: getopt_long, with messages of our own.  `longs` begins with
 * CMD_HELP, which is answered here.  An argument that is no option is returned
 * as 1 and stands in optarg; after "--" or the last, -1, and optind is the
 * first that was not looked at.
 */
#define CMD_HELP { "help", no_argument, NULL, 'h' }
#define CMD_OPTIONS_END { NULL, 0, NULL, 0 }
int cmd_option(const struct cmd *self, int argc, char **argv,
	       const char *shorts, const struct option *longs);
/* The value of an option, checked; what is "-n", for the message. */
int64_t cmd_count(const struct cmd *self, const char *what, const char *text,
		  int64_t min, int64_t max);
int64_t cmd_duration(const struct cmd *self, const char *what,
		     const char *text);
/*
 * For subcommands of the form "NAME" and options alone: the next argument
 * that is no option, into *name; a second one is misuse.
 */
void cmd_take_name(const struct cmd *self, const char *text,
		   const char **name);

/*
 * duration.c: as timeout(1) writes them, 250ms 10s 1.5m 2h 1d, a bare number
 * is seconds.  Saturates at WEIR_FOREVER.  False: it is none.
 */
bool duration_parse(const char *text, int64_t *ns);
/* "340ms", "12s", "3m 20s", "2h 5m", "3d 4h". */
#define DURATION_ROOM 32
const char *duration_text(int64_t ns, char room[DURATION_ROOM]);

/* names.c */
/*
 * Open it, or end the process with a message.  With WEIR_NAMED_CREATE in the
 * options, one that is there with another capacity is warned about.  The second
 * is for commands that have -n, and tells of it.
 */
weir_named *cmd_open(const char *name, const weir_named_opts *opts);
weir_named *cmd_open_or_make(const char *name, const weir_named_opts *opts);
/*
 * All of a semaphore at one moment, into *entries (to be freed; their number is
 * info->entries).
 */
weir_err cmd_look(weir_named *sem, weir_named_info *info,
		  weir_named_entry **entries);

/* wait.c: until everything is back.  ETIMEDOUT. */
weir_err cmd_wait_idle(weir_named *sem, int64_t timeout_ns);

/*
 * list.c: names in the folder, in order; how many, or -1 with errno.  *names is
 * to be freed.
 */
int cmd_list(char ***names);

/* stat.c: since when; 0 if that is not known. */
int64_t stat_age(const weir_named_entry *entry, int64_t now);
/* All of it, for programs and for people. */
void stat_json(FILE *out, const char *name, const weir_named_info *info,
	       const weir_named_entry *entries, int64_t now);
void stat_table(FILE *out, const char *name, const weir_named_info *info,
		const weir_named_entry *entries, int64_t now);

/* text.c */
/* The one of `count` words that was probably meant by `text`, or null. */
const char *text_nearest(const char *text, const char *const *words,
			 size_t count);
/*
 * Make one line of it, with single spaces, that does not end in the middle of a
 * character.
 */
void text_tidy(char *text);
/* What would disturb a terminal becomes a '?'; and the same, written. */
void text_clean(char *text);
void text_plain(FILE *out, const char *text);

/*
 * json.c: one object per line.
 *
 *     json_begin(out, NULL);
 *     json_text(out, "name", name);
 *     json_end(out);
 *     json_line(out);
 *
 * A null key stands for no key: the outermost object, and what is in a list.
 */
void json_begin(FILE *out, const char *key);
void json_end(FILE *out);
void json_list(FILE *out, const char *key);
void json_list_end(FILE *out);
void json_text(FILE *out, const char *key, const char *text);
void json_int(FILE *out, const char *key, int64_t value);
void json_bool(FILE *out, const char *key, bool value);
void json_null(FILE *out, const char *key);
void json_line(FILE *out);

#endif /* WEIR_CMD_CMD_H */
