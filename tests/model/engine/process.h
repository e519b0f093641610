/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_PROCESS_H
#define TESTS_MODEL_PROCESS_H

/*
 * Processes.  Each thread of a scenario is the first thread of a process of its
 * own, and may start others.  The controller may kill, stop and continue
 * processes.  This is the interface to the rest of the engine, to the model of
 * the kernel, and to scenarios.
 */
#include "engine.h"

#define EX_PROCS 5

enum ex_proc_status {
	EX_RUNNING,
	EX_STOPPED,	/* by SIGSTOP */
	EX_DYING,	/* killed; its threads end one after another */
	EX_ENDED,	/* all threads have ended; its files are still open */
	EX_CLOSED	/* its files are closed */
};

/*
 * For scenarios.
 */
int proc_self(void);			/* number of this process */
enum ex_proc_status proc_status(int proc);
/* Start another thread of this process; returns its number. */
int proc_thread(void *(*fn)(void *), void *arg);
/*
 * A run begins without decisions, each thread running until it blocks, until no
 * thread can go on.  proc_settle returns at that time, and the exploration
 * begins.  proc_explore begins it at once.
 */
void proc_settle(void);
void proc_explore(void);
/* Let time-outs happen before the exploration. */
void proc_let_time_pass(void);
/* Sleep for ever. */
__attribute__((noreturn)) void proc_pause(void);
/* The process of this thread ends as by exit(3). */
__attribute__((noreturn)) void proc_exit(void);
/* If this process has been killed, this thread ends. */
void proc_check(void);
/* Signals sent by the scenario, without cost, by another process or setup. */
void proc_kill(int proc);
void proc_destroy(int proc);		/* all its threads end at once */
void proc_stop(int proc);
void proc_continue(int proc);
/* Returns true if thread t exists and sleeps on a shared word. */
bool proc_sleeps(int t);
int proc_of(int t);
void proc_allow_timeouts(int t);		/* as many as its call needs */
bool proc_is_keeper(int t);		/* started by the library */
void proc_set_keeper(int t);

/*
 * Defined by the program.  ex_idle: no thread can go on before time passes.
 * ex_quiet: no thread can go on; called before the run ends.
 */
void ex_idle(void);
void ex_quiet(void);

/*
 * For the engine.
 */
void ex_process_begin(void);
void ex_process_main(void);
bool ex_process_lets_go(int thread);
bool ex_process_goes_on(void);		/* nothing is decided now */
bool ex_process_explores(void);		/* the settling is over */
bool ex_process_is_dying(void);		/* the process of this thread */
void ex_process_at(enum ex_op op, const void *p);
void ex_process_plain(const void *p, bool write);
/* Begin the run after its settling, as an earlier one did; false: cannot. */
bool ex_process_resume(void);
int ex_process_options(struct ex_option *options);
bool ex_process_apply(struct ex_option o);	/* true: switch to ex->self */
int ex_thread_new(void);

/*
 * Between process.c and kernel.c.
 */
void kernel_end_thread(int t);		/* queues and robust list */
void kernel_stop_thread(int t);		/* leaves its queues; sleeps again */
void kernel_close(int proc);		/* byte locks */
bool kernel_is_alive_word(const void *p);
bool kernel_is_shared(const void *p);	/* in a mapped file */

#endif /* TESTS_MODEL_PROCESS_H */
