/* SPDX-License-Identifier: MIT */
/*
 * Commands in the protocol of Redis: "*COUNT\r\n", then "$LENGTH\r\nTEXT\r\n" for
 * each argument.  hiredis formats the lengths with snprintf(3), which costs an
 * acquire with 17 arguments more time than all other work of the client.
 */
#include <string.h>

#include "cluster/redis/command.h"

/* At most this many bytes frame the text of an argument; also the count. */
#define FRAME 32

char *weir_cl_decimal_(char *to, uint64_t number)
{
	char digits[20];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*to++ = digits[--count];
	return to;
}

static char *add_line(char *to, char mark, size_t number)
{
	*to++ = mark;
	to = weir_cl_decimal_(to, number);
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

static char *add_argument(char *to, const char *text)
{
	size_t length = strlen(text);

	to = add_line(to, '$', length);
	memcpy(to, text, length);
	to += length;
	*to++ = '\r';
	*to++ = '\n';
	return to;
}

size_t weir_cl_command_size_(const struct command *command)
{
	size_t size = FRAME;

	for (int i = 0; i < command->count; i++)
		size += FRAME + strlen(command->args[i]);
	return size;
}

char *weir_cl_command_write_(const struct command *command, char *to)
{
	to = add_line(to, '*', (size_t)command->count);
	for (int i = 0; i < command->count; i++)
		to = add_argument(to, command->args[i]);
	return to;
}
