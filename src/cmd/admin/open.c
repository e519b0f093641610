/* SPDX-License-Identifier: MIT */
/* weir open: create a semaphore, or replace a closed one. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd/admin/admin.h"
#include "cmd/admin/remote.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/env.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"

enum { OPT_SHARED = 256, OPT_FAST, OPT_NESTED };

/*
 * Returns the permission bits of the existing file, or, if they are of no use,
 * `otherwise`: with --shared, other users need some.
 */
static uint32_t mode_of(const char *name, bool shared, uint32_t otherwise)
{
	uint32_t needed = shared ? 0066 : 0666;
	char path[PATH_MAX];
	struct stat info;

	return weir_named_path(name, path, sizeof(path)) ||
			       stat(path, &info) || !(info.st_mode & needed) ?
		       otherwise : info.st_mode & 0666;
}

/*
 * Replace a closed semaphore.  It stays closed (C19), so a new semaphore takes
 * its name.  The replacement has to wait until the old semaphore is idle:
 * otherwise more permits than the capacity would be held.
 */
static int replace_closed(const char *name, weir_named *old,
			  int64_t timeout_ns, weir_named_opts *opts)
{
	weir_named_info info;
	weir_named *sem;
	weir_err err;

	/* Close at once: a drain close would still grant to waiters. */
	weir_named_close(old, WEIR_CLOSE_NOW);
	err = semaphore_wait_idle(old, timeout_ns);
	if (err == WEIR_ETIMEDOUT)
		return describe_in_use(name, old, EXIT_TIMEOUT);
	if (!err)
		err = weir_named_stat(old, &info, NULL, 0);
	if (err)
		cmd_fail(name, err, NULL);
	if (opts->capacity < 0)
		opts->capacity = info.capacity;
	if (opts->policy != WEIR_NAMED_FAST)
		opts->policy = info.policy;
	opts->mode = mode_of(name, opts->flags & WEIR_NAMED_SHARED,
			     opts->mode);
	err = weir_named_unlink_handle(old);
	if (err && errno != ESTALE)
		admin_unlink_failed(name, err);
	opts->flags |= WEIR_NAMED_CREATE;
	sem = semaphore_open_or_create(name, opts);
	(void)!weir_named_close_handle(sem);
	return EXIT_SUCCESS;
}

/*
 * Open a semaphore that must exist.  Retries for 50 ms, because another `weir
 * open` may have removed the old file and not created the new one yet.
 */
static weir_named *open_existing(const char *name, const weir_named_opts *opts)
{
	static const struct timespec pause = { 0, 2000000 };
	weir_named *sem;

	for (int i = 0; i < 25; i++) {
		weir_err err = weir_named_open(name, opts, &sem);

		if (!err)
			return sem;
		if (err != WEIR_ESYSTEM || errno != ENOENT)
			break;
		(void)nanosleep(&pause, NULL);
	}
	/* If this open fails as well, it prints the reason and exits. */
	return semaphore_open_or_create(name, opts);
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP,
		{ "capacity", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 't' },
		{ "fast", no_argument, NULL, OPT_FAST },
		{ "nested", no_argument, NULL, OPT_NESTED },
		{ "shared", no_argument, NULL, OPT_SHARED },
		OPTIONS_END
	};
	weir_named_opts opts = { .capacity = -1, .label = "weir open",
				 .policy = WEIR_NAMED_STRICT };
	int64_t timeout_ns = WEIR_FOREVER, wanted;
	const char *name = NULL;
	bool nested = false;
	weir_named *sem;
	int option;

	while ((option = options_next(self, argc, argv, "n:t:", longs)) != -1) {
		if (option == 'n')
			opts.capacity = options_count(self, "-n", optarg, 0,
						  WEIR_SEM_MAX);
		else if (option == 't')
			timeout_ns = options_duration(self, "-t", optarg);
		else if (option == OPT_NESTED)
			nested = true;
		else if (option == OPT_FAST)
			opts.policy = WEIR_NAMED_FAST;
		else if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else
			options_name(self, optarg, &name);
	}
	options_required(self, argc, argv, &name, "NAME");
	if (remote_url(name)) {
		remote_refuse_password(name);
		if (opts.policy == WEIR_NAMED_FAST)
			cmd_misuse(self, "open: --fast is not possible with a "
				   "URL: permits of a dead client return as "
				   "its server provides");
		return remote_open_semaphore(self, name, opts.capacity,
					     timeout_ns, nested);
	}
	if (opts.flags & WEIR_NAMED_SHARED)
		opts.mode = 0666;
	wanted = opts.capacity;
	if (wanted >= 0)
		opts.flags |= WEIR_NAMED_CREATE;
	else
		opts.capacity = 0;
	sem = wanted < 0 ? open_existing(name, &opts) :
			   semaphore_open_or_create(name, &opts);
	opts.capacity = wanted;
	if (!weir_named_is_closed(sem))
		return EXIT_SUCCESS;
	if (!nested)
		env_refuse_held(self, name);
	return replace_closed(name, sem, timeout_ns, &opts);
}

const struct cmd cmd_open = {
	.name = "open",
	.summary = "create a semaphore, or reopen a closed one",
	.help =
"usage: weir open NAME [-n N] [-t TIME]\n"
"\n"
"Creates the semaphore NAME if it does not exist.  A closed semaphore is replaced\n"
"by a new one when no permit of the old one is held any more.  An open semaphore\n"
"is not changed.\n"
"\n"
"  -n, --capacity=N     the capacity; required to create a semaphore,\n"
"                       default for a closed one: its capacity\n"
"  -t, --timeout=TIME   wait at most TIME for the old one; then exit with 124\n"
"      --fast           for a new semaphore: permits of a killed process are free\n"
"                       at once, not when its last descendant has ended\n"
"      --nested         wait for the old one although NAME is in $WEIR_HELD\n"
"      --shared         other users can use it\n"
"  -h, --help           print this text\n",
	.run = run,
};
