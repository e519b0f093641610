/* SPDX-License-Identifier: MIT */
/* What is said to a make: in MAKEFLAGS, and in its arguments. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/jobserver.h"

/* Another server's words, or a number of jobs. */
static bool is_ours(const char *word, size_t size)
{
	static const char *const begins[] = { "-j", "--jobs", "--jobserver-" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (size >= strlen(begins[i]) &&
		    !strncmp(word, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* How long a word is: a space that belongs to it is written "\ ". */
static size_t word_size(const char *word)
{
	size_t size = 0;

	while (word[size] && word[size] != ' ')
		size += word[size] == '\\' && word[size + 1] ? 2 : 1;
	return size;
}

/*
 * "kw -l3 -j8 --jobserver-auth=3,4 -- CC=tcc": letters without a dash come first
 * if there are any, variables last, after "--".
 */
char *flags_with(const char *old, int64_t jobs, const char *auth)
{
	size_t room = (old ? strlen(old) : 0) + strlen(auth) + 80;
	char *made = pool_room(NULL, room), *at = made;
	bool done = false;

	*at = '\0';
	if (!old)
		old = "";
	for (;;) {
		size_t size;

		/* A first word of letters stays first. */
		while (*old == ' ')
			old++;
		size = word_size(old);
		if (!done && (!size || (size == 2 && !strncmp(old, "--", 2)))) {
			at += snprintf(at, room - (size_t)(at - made),
				       " -j%lld --jobserver-auth=%s",
				       (long long)jobs, auth);
			done = true;
		}
		if (!size)
			return made;
		if (done || !is_ours(old, size))
			at += snprintf(at, room - (size_t)(at - made),
				       "%s%.*s", at == made ? "" : " ",
				       (int)size, old);
		old += size;
	}
}

static bool is_number(const char *text)
{
	return text && *text && !text[strspn(text, "0123456789")];
}

/* Drop an argument and what follows it closes up. */
static void drop(char **argv)
{
	do
		argv[0] = argv[1];
	while (*argv++);
}

/* Letters that stand for themselves; -kj4 is -k and -j4. */
#define ALONE "bBdeikLnpqrRsStvw"

int64_t flags_take_jobs(char **argv)
{
	const char *name = strrchr(argv[0], '/');
	int64_t jobs = -1;

	name = name ? name + 1 : argv[0];
	if (strcmp(name, "make") && strcmp(name, "gmake") &&
	    strcmp(name, "ninja"))
		return -1;
	for (argv++; *argv && strcmp(*argv, "--");) {
		char *arg = *argv, *j = NULL, *value;

		if (!strncmp(arg, "--jobs", 6) && (!arg[6] || arg[6] == '='))
			value = arg[6] ? arg + 7 : arg + 6;
		else if (arg[0] == '-' && arg[1] != '-' &&
			 (j = arg + 1 + strspn(arg + 1, ALONE), *j == 'j'))
			value = j + 1;
		else {
			argv++;
			continue;
		}
		if (*value && !is_number(value)) {
			/* Make will say what it thinks of it. */
			argv++;
			continue;
		}
		jobs = *value ? strtoll(value, NULL, 10) : 0;
		if (!*value && is_number(argv[1])) {
			jobs = strtoll(argv[1], NULL, 10);
			drop(argv + 1);
		}
		/* Other letters of the same word stay. */
		if (j && j > arg + 1) {
			*j = '\0';
			argv++;
		} else {
			drop(argv);
		}
	}
	return jobs;
}
