/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_JOB_H
#define WEIR_CMD_JOB_H

/*
 * A command that runs under permits, and the two processes around it:
 * docs/design/cmd.md.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/cmd.h"

/* What the wrapper's end is told to the guardian with. */
#define SIG_ORPHANED SIGRTMIN

/*
 * signals.c.  What is passed on or ends a wait, less what was ignored when we
 * were started; and the mask from before.
 */
struct signals {
	sigset_t handled;	/* blocked, and fetched by sigwaitinfo */
	sigset_t before;
	bool ignored_child;	/* SIGCHLD was ignored */
	bool ignored_output;	/* SIGTTOU was */
	bool ignored_alarm;	/* SIGALRM was */
	bool ignored_own;	/* SIG_ORPHANED was */
};
void signals_block(struct signals *signals);
/* A message to the terminal is not to stop a process in the background. */
void signals_background(void);
/* In a child that is about to exec: as they were. */
void signals_restore(const struct signals *signals);
/* For a wait in the library: those that end it do, and are noted. */
void signals_interrupt(const struct signals *signals);
/* Blocked again.  The one that came, 0: none. */
int signals_resume(const struct signals *signals);
int signals_came(void);

/* job.c */
struct job {
	pid_t pid;
	int status;		/* as waitpid's, once it has ended */
	bool ended;
	int64_t kill_at;	/* WEIR_FOREVER: not to be killed */
};
/*
 * Start it in a process group, with a copy of `lent` if that is not -1.
 * dies: when the caller does.  0, or an errno.
 */
int job_start(struct job *job, char *const *command,
	      const struct signals *signals, pid_t group, int lent, bool dies);
/* Reap whoever has ended.  False: there are no children. */
bool job_reap(struct job *job);
/* A signal for it, if it has not ended. */
void job_signal(const struct job *job, int sig);
/*
 * End it and all that it left to us, and wait for that.  kill_after_ns: -1, or
 * how long they have after a TERM.
 */
void job_end_all(struct job *job, int64_t kill_after_ns);
/* Exit status for what waitpid says. */
int job_status(int status);
/*
 * For a process that stays when we end: files of whoever started us, pipes and
 * locks above all, are not its to keep open.  All from 3 on but these two.
 */
void job_close_others(int one, int other);

/* children.c: the children of this process, dead ones too. */
struct children {
	pid_t *pids;
	size_t count, room;
};
void children_find(struct children *list);
/* Whether this is the number of one. */
bool children_has(pid_t pid);

/* held.c: names in the environment. */
/* Whether this name is one that we run under already. */
bool held_has(const char *name);
/* Tell the command what it runs under. */
void held_tell(const char *name, const char *token, int64_t weight,
	       int64_t waited_ns);
/* 32 hexadecimal digits, '@' and the name; never used before. */
char *token_new(const char *name);
/* The name as it is told to others: absolute if it is a path. */
char *name_absolute(const char *name);

/* holder.c: who is in the way, for a message; "" if nobody is. */
#define HOLDER_ROOM 160
const char *wait_holder(weir_named *sem, char room[HOLDER_ROOM]);
/* Say that it is in use, and by whom; returns status. */
int cmd_busy(const char *name, weir_named *sem, int status);

#endif /* WEIR_CMD_JOB_H */
