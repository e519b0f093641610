/* SPDX-License-Identifier: MIT */
/*
 * Part of every program that tools/coverage runs: writes the counts in cases in
 * which the profile runtime would lose them or write wrong ones.
 *
 * The runtime writes when main returns.  It would lose the counts of a child
 * that ends by _exit or abort, so this file replaces these functions.
 *
 * The count of a branch may be a difference: the number of entries of its
 * function minus the number of executions of the other branch.  An unfinished
 * call makes the difference wrong: it has entered and has not branched yet.  So
 * counts are used only from a process without unfinished calls at its end (the
 * compiler marks entry and exit of every measured function).  A call that
 * another thread of the parent had not finished at the fork counts as
 * unfinished too.  Other processes write to a separate file, of which only the
 * last steps of a panic are used.
 *
 * A process that is killed by another signal writes nothing.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Tells the runtime that the program starts and writes the counts itself. */
extern int __llvm_profile_runtime;
int __llvm_profile_runtime;

void __llvm_profile_initialize_file(void);
int __llvm_profile_write_file(void);
void __llvm_profile_reset_counters(void);
void __llvm_profile_set_filename(const char *name);

/* Not pthread_atfork, because tests make that fail. */
int __register_atfork(void (*before)(void), void (*parent)(void),
		      void (*child)(void), void *library);

/* This program or library.  The C library removes the handlers of an unloaded library. */
extern void *__dso_handle __attribute__((visibility("hidden")));

static int threads_inside;		/* atomic */
static _Thread_local int depth;		/* of this thread's calls */
static bool began_half_done;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)function;
	(void)caller;
	if (!depth++)
		__atomic_add_fetch(&threads_inside, 1, __ATOMIC_SEQ_CST);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	if (!--depth)
		__atomic_sub_fetch(&threads_inside, 1, __ATOMIC_SEQ_CST);
}

static void write_counts(void)
{
	const char *unfinished = getenv("WEIR_COVERAGE_UNFINISHED");

	if (began_half_done ||
	    __atomic_load_n(&threads_inside, __ATOMIC_SEQ_CST)) {
		if (!unfinished)
			return;
		__llvm_profile_set_filename(unfinished);
	}
	__llvm_profile_write_file();
}

/* Called in the child.  The parent writes its own counts. */
static void begin_child(void)
{
	if (depth) {
		/* Forked inside a call that continues here: keep its entry. */
		began_half_done = threads_inside != 1;
		threads_inside = 1;
		return;
	}
	threads_inside = 0;
	began_half_done = false;
	__llvm_profile_reset_counters();
}

__attribute__((constructor)) static void begin(void)
{
	__llvm_profile_initialize_file();
	(void)__register_atfork(NULL, NULL, begin_child, __dso_handle);
	(void)atexit(write_counts);
}

void _exit(int status)
{
	write_counts();
	_Exit(status);
}

void abort(void)
{
	write_counts();
	signal(SIGABRT, SIG_DFL);
	for (;;)
		raise(SIGABRT);
}
