/* SPDX-License-Identifier: MIT */
/*
 * The environment of a job, which lists the permits under which the job runs.
 *
 * WEIR_HELD is a list of names, separated by spaces.  Spaces, control
 * characters and '%' in a name are written as %20 and so on.  A path and WEIR_DIR
 * are made absolute, because the job may change its working directory.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/names.h"
#include "cmd/lib/remote.h"
#include "weir/named.h"

/* Returns the name in the form that the list uses. */
static char *escaped(const char *name)
{
	char *absolute = names_absolute(name);
	char *text = memory_realloc(NULL, 3 * strlen(absolute) + 1);
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

/* Returns the name that a word of the list stands for. */
static char *unescaped(const char *word, size_t length)
{
	char *text = memory_realloc(NULL, length + 1), *to = text;
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

/*
 * Returns the path of a semaphore's file, or its URL without password and
 * options, for comparison.
 */
static char *file_of(const char *name)
{
	char path[PATH_MAX];

	if (strstr(name, "://")) {
		char *url = memory_strdup(remote_display(name));

		url[strcspn(url, "?")] = 0;
		return url;
	}
	return names_absolute(weir_named_path(name, path, sizeof(path)) ?
				      name : path);
}

/* Returns true if this process runs under a permit of the semaphore. */
static bool is_held(const char *name)
{
	const char *list = getenv("WEIR_HELD");
	bool found = false;
	char *file;

	if (!list || !*list)
		return false;
	/* The list has URLs, also for names below $WEIR_URL. */
	file = file_of(remote_url(name) ? remote_url(name) : name);
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

void env_refuse_held(const struct cmd *self, const char *name)
{
	if (is_held(name))
		cmd_misuse(self, "%s: already running under a permit of %s, "
			   "and could wait for itself; --nested allows it",
			   self->name, name);
}

static void set(const char *key, const char *value)
{
	if (setenv(key, value, 1))
		cmd_die(EXIT_WEIR, "out of memory");
}

/* A relative $WEIR_DIR would be another folder in another working directory. */
static void make_dir_absolute(void)
{
	const char *given = getenv("WEIR_DIR");
	char real[PATH_MAX];

	if (given && *given && *given != '/' && realpath(given, real))
		set("WEIR_DIR", real);
}

void env_export(const char *name, const char *token, int64_t weight,
		int64_t waited_ns)
{
	const char *list = getenv("WEIR_HELD");
	char *text = escaped(name), *all, number[32];
	size_t room = strlen(text) + 2 + (list ? strlen(list) : 0);

	all = memory_realloc(NULL, room);
	(void)snprintf(all, room, "%s%s%s", list ? list : "",
		       list && *list ? " " : "", text);
	make_dir_absolute();
	set("WEIR_HELD", all);
	set("WEIR_TOKEN", token);
	(void)snprintf(number, sizeof(number), "%lld", (long long)weight);
	set("WEIR_WEIGHT", number);
	(void)snprintf(number, sizeof(number), "%lld",
		       (long long)(waited_ns / 1000000));
	set("WEIR_WAITED_MS", number);
	free(all);
	free(text);
}
