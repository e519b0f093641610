/* SPDX-License-Identifier: MIT */
/* Parsing of options and their values, with spelling suggestions. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/options.h"
#include "cmd/lib/text.h"

#define LONGS_MAX 32

/* Returns true if `given` is a long option with a value, --NAME=VALUE. */
static bool has_value(const char *given, const char *name)
{
	/* A name may be abbreviated. */
	return !strncmp(given, "--", 2) && strchr(given, '=') &&
	       !strncmp(given + 2, name, strcspn(given + 2, "="));
}

/*
 * Report an option that getopt_long refused.  optopt is 0 if it is a long one
 * and unknown, and the value of the option if it is a long one that takes no
 * value and was given one.
 */
static _Noreturn void refused(const struct cmd *self, char **argv,
			      const struct option *longs)
{
	const char *names[LONGS_MAX], *near;
	const char *given = argv[optind > 0 ? optind - 1 : 0];
	size_t count = 0;
	char *name;

	if (optopt) {
		for (int i = 0; longs[i].name; i++)
			if (longs[i].val == optopt &&
			    has_value(given, longs[i].name))
				cmd_misuse(self, "%s: --%s takes no value",
					   self->name, longs[i].name);
		cmd_misuse(self, "%s: unknown option -%c", self->name, optopt);
	}
	for (; longs->name && count < LONGS_MAX; longs++)
		names[count++] = longs->name;
	name = memory_strdup(given + 2);
	name[strcspn(name, "=")] = 0;
	near = text_nearest(name, names, count);
	if (near)
		cmd_misuse(self, "%s: unknown option %s; did you mean --%s?",
			   self->name, given, near);
	cmd_misuse(self, "%s: unknown option %s", self->name, given);
}

int options_next(const struct cmd *self, int argc, char **argv,
		 const char *shorts, const struct option *longs)
{
	char room[64];
	int found;

	/* The getopt_long of musl takes this argument for the end of options. */
	if (optind < argc && !strcmp(argv[optind], "-")) {
		optarg = argv[optind++];
		return 1;
	}
	/*
	 * '-': return arguments in their order.  ':': return ':' for a missing
	 * value instead of '?'.
	 */
	(void)snprintf(room, sizeof(room), "-:h%s", shorts);
	opterr = 0;
	found = getopt_long(argc, argv, room, longs, NULL);
	switch (found) {
	case 'h':
		fputs(self->help, stdout);
		cmd_flush();
		exit(EXIT_SUCCESS);
	case ':':
		/* Only the last argument can lack its value. */
		cmd_misuse(self, "%s: %s needs a value", self->name,
			   argv[argc - 1]);
	case '?':
		refused(self, argv, longs);
	default:
		return found;
	}
}

int64_t options_count(const struct cmd *self, const char *what,
		      const char *text, int64_t min, int64_t max)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (end == text || *end)
		cmd_misuse(self, "%s: %s: \"%s\" is not a whole number",
			   self->name, what, text);
	if (errno || value < min || value > max)
		cmd_misuse(self, "%s: %s: %s is not between %lld and %lld",
			   self->name, what, text, (long long)min,
			   (long long)max);
	return value;
}

int64_t options_duration(const struct cmd *self, const char *what,
			 const char *text)
{
	int64_t ns;

	if (!duration_parse(text, &ns))
		cmd_misuse(self, "%s: %s: \"%s\" is not a time such as 250ms, "
			   "10s, 5m or 2h", self->name, what, text);
	return ns;
}

int64_t options_env_timeout(const struct cmd *self, int64_t otherwise)
{
	const char *text = getenv("WEIR_TIMEOUT");

	return text && *text ? options_duration(self, "WEIR_TIMEOUT", text) :
			       otherwise;
}

void options_name(const struct cmd *self, const char *text, const char **name)
{
	if (*name)
		cmd_misuse(self, "%s: unexpected argument \"%s\"", self->name,
			   text);
	*name = text;
}

void options_rest(const struct cmd *self, int argc, char **argv,
		  const char **name)
{
	for (; optind < argc; optind++)
		options_name(self, argv[optind], name);
}

void options_required(const struct cmd *self, int argc, char **argv,
		      const char **name, const char *what)
{
	options_rest(self, argc, argv, name);
	if (!*name)
		cmd_misuse(self, "%s: %s is missing", self->name, what);
}
