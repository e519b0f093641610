/* SPDX-License-Identifier: MIT */
/*
 * Print the active fault before the message of a failed check.  Linked with
 * --wrap.
 */
#include <stdarg.h>
#include <stdio.h>

#include "check.h"
#include "inject.h"

void __wrap_check_fail(const char *file, int line, const char *format, ...);
void __wrap_check_int(const char *file, int line, const char *what, int64_t got,
		      int64_t want);
void __wrap_check_err(const char *file, int line, const char *what,
		      weir_err got, weir_err want);

__attribute__((noreturn, format(printf, 3, 4)))
void __real_check_fail(const char *file, int line, const char *format, ...);
void __real_check_int(const char *file, int line, const char *what, int64_t got,
		      int64_t want);
void __real_check_err(const char *file, int line, const char *what,
		      weir_err got, weir_err want);

/*
 * No other output comes in between: the message of the check ends the program.
 */
static void print_plan(void)
{
	printf("with %s\n", fault_plan());
}

__attribute__((noreturn, format(printf, 3, 4)))
void __wrap_check_fail(const char *file, int line, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_plan();
	__real_check_fail(file, line, "%s", text);
}

void __wrap_check_int(const char *file, int line, const char *what, int64_t got,
		      int64_t want)
{
	if (got != want)
		print_plan();
	__real_check_int(file, line, what, got, want);
}

void __wrap_check_err(const char *file, int line, const char *what,
		      weir_err got, weir_err want)
{
	if (got != want)
		print_plan();
	__real_check_err(file, line, what, got, want);
}
