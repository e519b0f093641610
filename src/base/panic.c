/* SPDX-License-Identifier: MIT */
/*
 * Panics.  The message is formatted by hand: printf is not async-signal-safe,
 * and a release in a signal handler may panic.
 *
 * Pairs
 *
 *   [P1] hook  release: weir_set_panic_hook   acquire: weir_panic_
 *              A call of the hook sees the writes that preceded its setting.
 */
#include "base/panic.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"

static weir_panic_fn *panic_hook;	/* null: write and abort */

/*
 * C8: in a message, the reason and the numbers follow the name.  A long name is
 * cut, so that the rest of the message fits.
 */
#define NAME_MAX_SHOWN 128

struct line {
	char text[320];
	size_t used;
};

static void put_char(struct line *line, char c)
{
	if (line->used < sizeof(line->text) - 2)	/* newline and NUL */
		line->text[line->used++] = c;
}

static void put_string(struct line *line, const char *s)
{
	while (*s)
		put_char(line, *s++);
}

/*
 * Copy a name that the user chose: cut it if it is long, and replace control
 * characters, so that the message stays on one line.
 */
static void put_name(struct line *line, const char *name)
{
	for (int i = 0; name[i]; i++) {
		if (i == NAME_MAX_SHOWN) {
			put_string(line, "...");
			return;
		}
		put_char(line, (unsigned char)name[i] < ' ' ? '?' : name[i]);
	}
}

static void put_unsigned(struct line *line, uint64_t v, unsigned base)
{
	char digits[20];
	size_t n = 0;

	do
		digits[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		put_char(line, digits[--n]);
}

static void put_signed(struct line *line, int64_t v)
{
	if (v < 0)
		put_char(line, '-');
	put_unsigned(line, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
}

static void put_address(struct line *line, const void *address)
{
	put_string(line, "0x");
	put_unsigned(line, (uintptr_t)address, 16);
}

/* An object without a name is identified by its address. */
static void put_object(struct line *line, const char *name, const void *address)
{
	if (!name || !*name) {
		put_address(line, address);
		return;
	}
	put_char(line, '"');
	put_name(line, name);
	put_char(line, '"');
}

static void put_format(struct line *line, const char *format, va_list args)
{
	for (; *format; format++) {
		const char *s;

		if (*format != '%') {
			put_char(line, *format);
			continue;
		}
		switch (*++format) {
		case 's':
			s = va_arg(args, const char *);
			if (s && *s)
				put_name(line, s);
			else
				put_string(line, "(unnamed)");
			break;
		case 'd':
			put_signed(line, va_arg(args, int64_t));
			break;
		case 'o':
			s = va_arg(args, const char *);
			put_object(line, s, va_arg(args, const void *));
			break;
		default:	/* 'p' */
			put_address(line, va_arg(args, const void *));
			break;
		}
	}
}

static _Noreturn void write_and_abort(struct line *line)
{
	size_t done = 0;
	int idle = 0;

	line->text[line->used++] = '\n';
	/*
	 * Give up after 100 writes without progress: the process must abort
	 * even if stderr accepts no data.
	 */
	while (done < line->used && idle < 100) {
		/* Do not use write(), which is a thread-cancellation point. */
		long n = syscall(SYS_write, STDERR_FILENO, line->text + done,
				 line->used - done);

		if (n < 0 && errno != EINTR)
			break;
		if (n > 0)
			done += (size_t)n;
		else
			idle++;
	}
	abort();
}

weir_err weir_panic_(const char *format, ...)
{
	/* [P1] acquire */
	weir_panic_fn *hook = at_load_acquire(&panic_hook);
	struct line line = { .used = 0 };
	va_list args;

	put_string(&line, "weir: ");
	va_start(args, format);
	put_format(&line, format, args);
	va_end(args);
	if (!hook)
		write_and_abort(&line);
	line.text[line.used] = '\0';
	hook(line.text);
	return WEIR_EINVAL;
}

weir_panic_fn *weir_set_panic_hook(weir_panic_fn *hook)
{
	/* relaxed: a first guess, the CAS checks it. */
	weir_panic_fn *before = at_load_relaxed(&panic_hook);

	/* [P1] release */
	while (!at_cas_weak_acq_rel(&panic_hook, &before, hook))
		;
	return before;
}
