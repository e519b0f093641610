/* SPDX-License-Identifier: MIT */
/* From a name to a semaphore, and to all that can be seen of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"

/* Never a silent resize. */
static void warn_capacity(weir_named *sem, const char *name, int64_t wanted)
{
	weir_named_info info;

	/* A closed one is for nobody, or to be replaced. */
	if (weir_named_stat(sem, &info, NULL, 0) || info.closed ||
	    info.capacity == wanted)
		return;
	cmd_say("%s has a capacity of %lld, not %lld; \"weir resize %s %lld\" "
		"would change it", name, (long long)info.capacity,
		(long long)wanted, name, (long long)wanted);
}

/* There is none by that name, and none is to be made.  makes: -n would. */
static _Noreturn void missing(const char *name, bool makes)
{
	const char *near = NULL;
	char **names;
	int count = strchr(name, '/') ? 0 : cmd_list(&names);

	if (count > 0)
		near = text_nearest(name, (const char *const *)names,
				    (size_t)count);
	if (near)
		cmd_die(EXIT_CLOSED, "there is no semaphore %s; is it %s?",
			name, near);
	cmd_die(EXIT_CLOSED, "there is no semaphore %s%s", name,
		makes ? "; -n CAPACITY makes it" : "");
}

static weir_named *open_it(const char *name, const weir_named_opts *opts,
			   bool makes)
{
	weir_named_opts all = { .capacity = 0 };
	weir_named *sem;
	char why[512] = "";
	weir_err err;

	if (opts)
		all = *opts;
	all.why = why;
	all.why_size = sizeof(why);
	err = weir_named_open(name, &all, &sem);
	if (err == WEIR_ESYSTEM && errno == ENOENT &&
	    !(all.flags & WEIR_NAMED_CREATE))
		missing(name, makes);
	if (err)
		cmd_fail(name, err, why);
	if (all.flags & WEIR_NAMED_CREATE)
		warn_capacity(sem, name, all.capacity);
	return sem;
}

weir_named *cmd_open(const char *name, const weir_named_opts *opts)
{
	return open_it(name, opts, false);
}

weir_named *cmd_open_or_make(const char *name, const weir_named_opts *opts)
{
	return open_it(name, opts, true);
}

weir_err cmd_look(weir_named *sem, weir_named_info *info,
		  weir_named_entry **entries)
{
	uint32_t room = 16;

	*entries = NULL;
	for (;;) {
		weir_named_entry *more = realloc(*entries,
						 room * sizeof(**entries));
		weir_err err;

		if (!more)
			cmd_die(EXIT_WEIR, "out of memory");
		*entries = more;
		err = weir_named_stat(sem, info, more, room);
		if (err || info->entries <= room)
			return err;
		room = info->entries + 16;
	}
}
