/* SPDX-License-Identifier: MIT */
/* The number of jobs and the job server, in MAKEFLAGS and in arguments. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/jobserver/flags.h"
#include "cmd/jobserver/ninja.h"
#include "cmd/lib/memory.h"

/*
 * Returns true if the word is a job server or a number of jobs: weir replaces
 * these words.
 */
static bool is_replaced(const char *word, size_t size)
{
	static const char *const begins[] = { "-j", "--jobs", "--jobserver-" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (size >= strlen(begins[i]) &&
		    !strncmp(word, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Returns the length of a word.  A space inside a word is written "\ ". */
static size_t word_size(const char *word)
{
	size_t size = 0;

	while (word[size] && word[size] != ' ')
		size += word[size] == '\\' && word[size + 1] ? 2 : 1;
	return size;
}

bool flags_have_server(const char *flags)
{
	static const char server[] = "--jobserver-";
	size_t size;

	for (; flags && *flags; flags += size) {
		flags += strspn(flags, " ");
		size = word_size(flags);
		if (size == 2 && !strncmp(flags, "--", 2))
			break;
		if (!strncmp(flags, server, strlen(server)))
			return true;
	}
	return false;
}

/*
 * MAKEFLAGS is, for example, "kw -l3 -j8 --jobserver-auth=3,4 -- CC=tcc".
 * Letters without a dash may come first; variables come last, after "--".
 */
char *flags_with(const char *old, int64_t jobs, const char *auth)
{
	size_t room = (old ? strlen(old) : 0) + strlen(auth) + 80;
	char *made = memory_realloc(NULL, room), *at = made;
	bool done = false;

	*at = '\0';
	if (!old)
		old = "";
	for (;;) {
		size_t size;

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
		if (done || !is_replaced(old, size))
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

/* Remove the first argument of the list. */
static void drop(char **argv)
{
	do
		argv[0] = argv[1];
	while (*argv++);
}

/* Short options without a value: -kj4 is -k and -j4. */
#define ALONE "bBdeikLnpqrRsStvw"

/* A -j option in an argument. */
struct jobs_option {
	char *letter;	/* the 'j' of a short option; null: --jobs */
	char *value;	/* the digits after it; "" if there are none */
};

/*
 * Returns true if arg is "--jobs", "--jobs=N", or short options that end in "j"
 * or "jN".  Returns false if N is not a number: make reports that error itself.
 */
static bool find_jobs(char *arg, struct jobs_option *found)
{
	found->letter = NULL;
	if (!strncmp(arg, "--jobs", 6) && (!arg[6] || arg[6] == '=')) {
		found->value = arg[6] ? arg + 7 : arg + 6;
	} else if (arg[0] == '-' && arg[1] != '-') {
		found->letter = arg + 1 + strspn(arg + 1, ALONE);
		if (*found->letter != 'j')
			return false;
		found->value = found->letter + 1;
	} else {
		return false;
	}
	return !*found->value || is_number(found->value);
}

static bool is_make(const char *command)
{
	const char *slash = strrchr(command, '/');
	const char *name = slash ? slash + 1 : command;

	return !strcmp(name, "make") || !strcmp(name, "gmake") ||
	       ninja_is(command);
}

int64_t flags_remove_jobs(char **argv)
{
	int64_t jobs = -1;

	if (!is_make(argv[0]))
		return -1;
	for (argv++; *argv && strcmp(*argv, "--");) {
		struct jobs_option option;

		if (!find_jobs(*argv, &option)) {
			argv++;
			continue;
		}
		jobs = *option.value ? strtoll(option.value, NULL, 10) : 0;
		if (!*option.value && is_number(argv[1])) {
			jobs = strtoll(argv[1], NULL, 10);
			drop(argv + 1);
		}
		/* Keep the other letters of the same argument. */
		if (option.letter && option.letter > *argv + 1) {
			*option.letter = '\0';
			argv++;
		} else {
			drop(argv);
		}
	}
	return jobs;
}
