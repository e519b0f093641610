/* SPDX-License-Identifier: MIT */
/*
 * Part of every program that tools/coverage runs: writes the counts, where the
 * profile runtime would lose them or write wrong ones.
 *
 * The runtime writes when main returns.  A child that ends by _exit would be
 * lost, and one that aborts; so these write here.
 *
 * The count of a branch may be a difference: how often its function was
 * entered, less how often it went another way.  A call that is half done makes
 * that wrong: entered, and gone no way yet.  So counts are taken only from a
 * process in which no call is half done at the end (the compiler marks entry
 * and exit of every function that is measured), nor was at the fork that began
 * it, on a thread that it lacks.  Others write to a file of their own, out of
 * which only the last steps of a panic are taken.
 *
 * A process that is killed by another signal writes nothing.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the runtime: "the program starts and ends the counting itself". */
extern int __llvm_profile_runtime;
int __llvm_profile_runtime;

void __llvm_profile_initialize_file(void);
int __llvm_profile_write_file(void);
void __llvm_profile_reset_counters(void);
void __llvm_profile_set_filename(const char *name);

/* Not pthread_atfork, which a test may want to fail. */
int __register_atfork(void (*before)(void), void (*parent)(void),
		      void (*child)(void), void *library);

static int threads_inside;		/* atomic */
static _Thread_local int depth;		/* calls of this thread */
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

/* In the child: what the parent has done it writes itself. */
static void begin_child(void)
{
	if (depth) {
		/* Forked in a call, which goes on here: it needs its start. */
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
	(void)__register_atfork(NULL, NULL, begin_child, NULL);
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
