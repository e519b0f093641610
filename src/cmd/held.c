/* SPDX-License-Identifier: MIT */
/*
 * Names that travel: in WEIR_HELD, which tells a command what it runs under,
 * and in tokens.
 *
 * WEIR_HELD is a list with spaces between.  A name has none; in a path, spaces
 * and the like are written %20, and so is % itself.  A path is made absolute,
 * for it may be read elsewhere.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/job.h"

static void *need(void *memory)
{
	if (!memory)
		cmd_die(EXIT_WEIR, "out of memory");
	return memory;
}

char *name_absolute(const char *name)
{
	const char *slash = strrchr(name, '/');
	char folder[PATH_MAX], real[PATH_MAX];
	char *whole;
	size_t room;

	if (!slash)
		return need(strdup(name));
	(void)snprintf(folder, sizeof(folder), "%.*s",
		       slash == name ? 1 : (int)(slash - name), name);
	/* One that is not there will be told about by open. */
	if (!realpath(folder, real))
		return need(strdup(name));
	room = strlen(real) + strlen(slash) + 1;
	whole = need(malloc(room));
	(void)snprintf(whole, room, "%s%s", strcmp(real, "/") ? real : "",
		       slash);
	return whole;
}

/* As it stands in the list. */
static char *escaped(const char *name)
{
	char *absolute = name_absolute(name);
	char *text = need(malloc(3 * strlen(absolute) + 1));
	char *to = text;

	for (const char *at = absolute; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if (c <= ' ' || c == '%' || c == 127)
			to += sprintf(to, "%%%02x", c);
		else
			*to++ = (char)c;
	}
	*to = 0;
	free(absolute);
	return text;
}

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A word of the list, as it was before. */
static char *unescaped(const char *word, size_t length)
{
	char *text = need(malloc(length + 1)), *to = text;
	const char *end = word + length;

	while (word < end) {
		if (*word == '%' && end - word > 2 && hex(word[1]) >= 0 &&
		    hex(word[2]) >= 0) {
			*to++ = (char)(16 * hex(word[1]) + hex(word[2]));
			word += 3;
		} else {
			*to++ = *word++;
		}
	}
	*to = 0;
	return text;
}

/* The file that a name stands for, told in one way only. */
static char *file_of(const char *name)
{
	char path[PATH_MAX];

	return name_absolute(weir_named_path(name, path, sizeof(path)) ?
				     name : path);
}

bool held_has(const char *name)
{
	const char *list = getenv("WEIR_HELD");
	bool found = false;
	char *file;

	if (!list || !*list)
		return false;
	file = file_of(name);
	while (*list && !found) {
		size_t length = strcspn(list, " ");
		char *word = unescaped(list, length);
		char *other = file_of(word);

		found = !strcmp(file, other);
		free(other);
		free(word);
		list += length;
		list += strspn(list, " ");
	}
	free(file);
	return found;
}

static void tell(const char *key, const char *value)
{
	if (setenv(key, value, 1))
		cmd_die(EXIT_WEIR, "out of memory");
}

void held_tell(const char *name, const char *token, int64_t weight,
	       int64_t waited_ns)
{
	const char *list = getenv("WEIR_HELD");
	char *text = escaped(name), *all, number[32];
	size_t room = strlen(text) + 2 + (list ? strlen(list) : 0);

	all = need(malloc(room));
	(void)snprintf(all, room, "%s%s%s", list ? list : "",
		       list && *list ? " " : "", text);
	tell("WEIR_HELD", all);
	tell("WEIR_TOKEN", token);
	(void)snprintf(number, sizeof(number), "%lld", (long long)weight);
	tell("WEIR_WEIGHT", number);
	(void)snprintf(number, sizeof(number), "%lld",
		       (long long)(waited_ns / 1000000));
	tell("WEIR_WAITED_MS", number);
	free(all);
	free(text);
}
