/* SPDX-License-Identifier: MIT */
/* All semaphores of a server. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "cmd/lib/fail.h"
#include "cmd/lib/memory.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/remote_names.h"

struct listed {
	char **names;
	size_t count;
};

static void add_name(const char *name, void *user)
{
	struct listed *listed = user;

	listed->names = memory_realloc(listed->names, (listed->count + 1) *
				       sizeof(*listed->names));
	listed->names[listed->count++] = memory_strdup(name);
}

/*
 * Returns true if the error concerns one semaphore only.  Other errors end the
 * list: each further semaphore would wait for the server again.
 */
static bool is_of_one(weir_err err, int errnum)
{
	if (err != WEIR_ESYSTEM)
		return err != WEIR_EINDETERMINATE;
	return errnum == ENOENT || errnum == EBADMSG || errnum == EPROTO ||
	       errnum == EACCES || errnum == EIO;
}

static void visit(const char *url, const char *name, remote_read_fn *read,
		  remote_done_fn *done, void *user)
{
	char why[512] = "";
	weir_cluster_opts opts = { .why = why, .why_size = sizeof(why) };
	const char *whole = remote_join(url, name);
	weir_cluster *c = NULL;
	weir_err err = remote_api.weir_cluster_open(whole, &opts, &c);
	int errnum;

	if (!err)
		err = read(c, user);
	errnum = errno;
	if (err && c)
		remote_api.weir_cluster_why(c, why, sizeof(why));
	if (err && !is_of_one(err, errnum))
		cmd_die(remote_status(err, errnum), "%s: %s",
			remote_display(url), *why ? why : weir_err_text(err));
	/* ENOENT: the semaphore was removed. */
	if (err != WEIR_ESYSTEM || errnum != ENOENT)
		done(name, whole, !err ? NULL : *why ? why : weir_err_text(err),
		     user);
	if (c)
		(void)!remote_api.weir_cluster_close_handle(c);
}

size_t remote_names_each(const char *url, size_t max, remote_read_fn *read,
			 remote_done_fn *done, void *user)
{
	struct listed listed = { .names = NULL };

	remote_list(url, add_name, &listed);
	for (size_t i = 0; i < listed.count; i++) {
		if (i < max)
			visit(url, listed.names[i], read, done, user);
		free(listed.names[i]);
	}
	free(listed.names);
	return listed.count > max ? listed.count - max : 0;
}
