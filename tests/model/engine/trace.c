/* SPDX-License-Identifier: MIT */
/*
 * Print a failing run, one line per step: on the left the thread, indented by
 * its number, its access and the place in the source; on the right the memory
 * before and after.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"

#define LEFT 44

static uint64_t value_now(void)
{
	uint64_t v = 0;

	memcpy(&v, ex->step.p, ex->step.size);
	return v;
}

static void print_name(const void *p)
{
	char text[64];

	if (ex_meaning.name &&
	    ex_meaning.name(p, text, sizeof(text))) {
		printf("%-14s", text);
		return;
	}
	for (int i = 0; i < ex->thread_count; i++) {
		const char *stack = ex->threads[i].fiber.stack;

		if ((const char *)p >= stack &&
		    (const char *)p < stack + FIBER_STACK) {
			printf("stack of %d    ", i);
			return;
		}
	}
	printf("%-14p", p);
}

static void print_value(const void *p, uint64_t value)
{
	char text[64];

	if (ex_meaning.show &&
	    ex_meaning.show(p, value, text, sizeof(text)))
		printf(" %s", text);
	else
		printf(" %#" PRIx64, value);
}

void ex_trace_end(void)
{
	static const char *const names[] = { "load", "store", "rmw", "cas",
					     "sleep", "wake", "clock",
					     "plain", "call" };
	const char *file = ex->step.at.file, *slash;
	uint64_t after;
	int width;

	if (!file)
		return;
	slash = strrchr(file, '/');
	width = printf("%4d %*s%d %-5s ", ex->step.point, ex->step.thread * 4,
		       "", ex->step.thread, names[ex->step.op]);
	width += printf("%s", slash ? slash + 1 : file);
	if (ex->step.at.line)
		width += printf(":%d", ex->step.at.line);
	printf("%*s| ", width < LEFT ? LEFT - width : 1, "");
	print_name(ex->step.p);
	if (ex->step.size) {
		after = value_now();
		print_value(ex->step.p, ex->step.before);
		if (ex->step.op != EX_LOAD && after != ex->step.before) {
			printf(" ->");
			print_value(ex->step.p, after);
		}
	}
	printf("%s%s\n", ex->step.note ? "; " : "",
	       ex->step.note ? ex->step.note : "");
	ex->step.at.file = NULL;
}

void ex_trace_begin(enum ex_op op, const void *p, size_t size,
		    const struct ex_place *at)
{
	ex_trace_end();
	ex->step.op = op;
	ex->step.p = p;
	ex->step.size = size;
	ex->step.at = *at;
	ex->step.note = NULL;
	ex->step.thread = ex->self;
	ex->step.point = ex->path_at - 1;
	ex->step.before = value_now();
}

void ex_trace_note(const char *text)
{
	ex->step.note = text;
}

void ex_trace_schedule(void)
{
	for (int i = 0; i < ex->path_length; i++)
		if (ex->path[i].chosen)
			printf(" %d:%d", i, ex->path[i].chosen);
}

#if EX_PROCESSES
void ex_trace_event(const char *what, int number)
{
	printf("%4d %s %d\n", ex->path_at - 1, what, number);
}
#endif
