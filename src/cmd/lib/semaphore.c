/* SPDX-License-Identifier: MIT */
/* Opening a semaphore by name, and waiting for it to be idle. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"
#include "cmd/lib/text.h"
#include "weir/ctx.h"

/* Print a message: -n does not resize an existing semaphore. */
static void warn_capacity(weir_named *sem, const char *name, int64_t wanted)
{
	int64_t capacity = weir_named_capacity(sem);

	/* The caller refuses or replaces a closed semaphore. */
	if (capacity == wanted || capacity < 0 || weir_named_is_closed(sem))
		return;
	cmd_message("%s: the capacity is %lld, not %lld; \"weir resize %s "
		    "%lld\" changes it", name, (long long)capacity,
		    (long long)wanted, name, (long long)wanted);
}

/*
 * Exit because the semaphore does not exist.  has_n is true if the subcommand
 * could create it.
 */
static _Noreturn void missing(const char *name, bool has_n)
{
	const char *near = NULL;
	char **names, folder[PATH_MAX];
	bool is_path = strchr(name, '/');
	int count = is_path ? 0 : names_list(&names);

	if (count > 0)
		near = text_nearest(name, (const char *const *)names,
				    (size_t)count);
	if (near)
		cmd_die(EXIT_CLOSED, "%s: no such semaphore; did you mean %s?",
			name, near);
	/* Another user, and a job of cron, may have another folder. */
	if (is_path || weir_named_path(NULL, folder, sizeof(folder)))
		*folder = 0;
	cmd_die(EXIT_CLOSED, "%s: no such semaphore%s%s%s", name,
		*folder ? " in " : "", folder,
		has_n ? "; -n CAPACITY creates it" : "");
}

static weir_named *open_named(const char *name, const weir_named_opts *opts,
			      bool has_n)
{
	weir_named_opts all = *opts;
	weir_named *sem;
	char why[512] = "";
	weir_err err;

	if (remote_url(name))
		cmd_die(EXIT_MISUSE, "%s: this command does not take a URL",
			remote_display(remote_url(name)));
	all.why = why;
	all.why_size = sizeof(why);
	err = weir_named_open(name, &all, &sem);
	if (err == WEIR_ESYSTEM && errno == ENOENT &&
	    !(all.flags & WEIR_NAMED_CREATE))
		missing(name, has_n);
	/* A path may be that of another file. */
	if (err == WEIR_ESYSTEM && (errno == EBADMSG || errno == EPROTO) &&
	    *why && !strchr(name, '/'))
		cmd_die(EXIT_DAMAGED, "%s: %s; \"weir doctor %s\" examines it",
			name, why, name);
	if (err)
		cmd_fail(name, err, why);
	if (all.flags & WEIR_NAMED_CREATE)
		warn_capacity(sem, name, all.capacity);
	return sem;
}

weir_named *semaphore_open(const char *name, const weir_named_opts *opts)
{
	return open_named(name, opts, false);
}

weir_named *semaphore_open_or_create(const char *name,
				     const weir_named_opts *opts)
{
	return open_named(name, opts, true);
}

bool semaphore_exists(const char *name)
{
	weir_named_opts opts = { .flags = WEIR_NAMED_SHARED |
					  WEIR_NAMED_OBSERVER };
	weir_named *sem;
	weir_err err = weir_named_open(name, &opts, &sem);

	if (!err)
		(void)!weir_named_close_handle(sem);
	return err != WEIR_ESYSTEM || errno != ENOENT;
}

void semaphore_print_too_big(const char *name, weir_named *sem,
			     const char *request, int64_t n)
{
	int64_t capacity = weir_named_capacity(sem);

	/* The capacity may have grown since the request was refused. */
	if (capacity < 0 || capacity >= n)
		cmd_message("%s: %s %lld exceeds the capacity", name, request,
			    (long long)n);
	else
		cmd_message("%s: %s %lld exceeds the capacity, %lld; \"weir "
			    "resize %s %lld\" raises it", name, request,
			    (long long)n, (long long)capacity, name,
			    (long long)n);
}

weir_err semaphore_wait_idle(weir_named *sem, int64_t timeout_ns)
{
	weir_named_info info;
	weir_ctx ctx;
	weir_err err = weir_named_stat(sem, &info, NULL, 0);

	/* An expired deadline would win over an idle semaphore in the wait. */
	if (err || !(info.held || info.granted))
		return err;
	err = weir_ctx_init(&ctx, NULL, timeout_ns == WEIR_FOREVER ?
			    WEIR_FOREVER : weir_deadline_after(timeout_ns));
	if (err)
		return err;
	err = weir_named_wait_idle(sem, &ctx);
	/* This cannot fail, because the context has no children. */
	(void)!weir_ctx_destroy(&ctx);
	return err;
}
