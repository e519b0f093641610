/* SPDX-License-Identifier: MIT */
/*
 * The program for libFuzzer.  libFuzzer has its own main, so this file
 * implements the functions of the harness (check.h) that the model uses: a
 * failed check aborts, and libFuzzer keeps the input.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "sequence.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A thread that does not respond within this time has hung. */
#define PATIENCE_NS INT64_C(15000000000)

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	sequence_start(PATIENCE_NS);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	sequence_run(bytes, size);
	return 0;
}

void check_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("%s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	abort();
}

void check_int(const char *file, int line, const char *what, int64_t got,
	       int64_t want)
{
	if (got != want)
		check_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what,
			   got, want);
}

void check_err(const char *file, int line, const char *what, weir_err got,
	       weir_err want)
{
	if (got != want)
		check_fail(file, line, "%s is %s, not %s", what,
			   weir_err_name(got), weir_err_name(want));
}

weir_sem_info stat_of(weir_sem *sem)
{
	weir_sem_info info;

	CHECK_OK(weir_sem_stat(sem, &info));
	return info;
}

uint32_t waiters_of(weir_sem *sem)
{
	return stat_of(sem).waiters;
}

check_thread start(void *(*fn)(void *), void *arg)
{
	check_thread thread;

	CHECK_EQ(pthread_create(&thread.id, NULL, fn, arg), 0);
	return thread;
}

void *finish(check_thread thread)
{
	void *result;

	CHECK_EQ(pthread_join(thread.id, &result), 0);
	return result;
}

/* Never called: the bytes decide. */
int64_t random_below(uint64_t *state, int64_t limit)
{
	(void)state;
	check_fail(__FILE__, __LINE__, "a random number below %" PRId64, limit);
}
