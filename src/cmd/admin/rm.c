/* SPDX-License-Identifier: MIT */
/* weir rm: remove a semaphore. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/admin/admin.h"
#include "cmd/admin/remote.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/names.h"
#include "cmd/lib/options.h"
#include "cmd/lib/remote.h"
#include "cmd/lib/semaphore.h"
#include "cmd/lib/snapshot.h"
#include "weir/ctx.h"

enum { OPT_SHARED = 256 };

/* Returns true if another process holds permits or waits. */
static bool is_used(const weir_named_info *info,
		    const weir_named_entry *entries)
{
	for (uint32_t i = 0; i < info->entries; i++)
		if (!entries[i].mine && entries[i].role != WEIR_NAMED_IDLE)
			return true;
	return false;
}

/*
 * A request for all permits of a paused semaphore.  It waits in a thread.  If it is
 * the first of the queue, then a resume grants to it, and to no other request.
 */
struct request {
	weir_named *sem;
	int64_t n;
	weir_ctx ctx;		/* ends the wait */
	pthread_t thread;
	bool runs;		/* the thread has been created */
	atomic_bool ended;
	weir_err err;		/* of the acquire, once ended */
};

static void *wait_for_permits(void *arg)
{
	struct request *request = arg;

	request->err = weir_named_acquire(request->sem, request->n,
					  &request->ctx);
	atomic_store(&request->ended, true);
	return NULL;
}

/* Returns true if the request is in the queue, or was granted. */
static bool is_queued(const weir_named_info *info,
		      const weir_named_entry *entries)
{
	for (uint32_t i = 0; i < info->entries; i++)
		if (entries[i].mine && entries[i].role <= WEIR_NAMED_WAITS)
			return true;
	return false;
}

/* Start the request, and wait until it is queued. */
static weir_err request_begin(struct request *request)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	bool queued = false;
	weir_err err = weir_ctx_init(&request->ctx, NULL, WEIR_FOREVER);

	if (err)
		return err;
	errno = pthread_create(&request->thread, NULL, wait_for_permits, request);
	if (errno)
		return WEIR_ESYSTEM;
	request->runs = true;
	while (!err && !queued && !atomic_load(&request->ended)) {
		weir_named_entry *entries;
		weir_named_info info;

		err = snapshot_read(request->sem, &info, &entries);
		queued = !err && is_queued(&info, entries);
		free(entries);
		if (!queued)
			(void)nanosleep(&pause, NULL);
	}
	/* WEIR_ECLOSED is no error here: a closed semaphore grants nothing. */
	if (!err && !queued && request->err != WEIR_ECLOSED)
		err = request->err;
	return err;
}

static void request_end(struct request *request)
{
	if (!request->runs)
		return;
	weir_ctx_cancel(&request->ctx);
	(void)pthread_join(request->thread, NULL);
}

/*
 * Acquire all permits, or request them from a paused semaphore, so that no other
 * process can acquire one.  *used is true if another process holds permits or
 * waits.  The entries are checked as well: with a capacity of 0 there is nothing to
 * acquire, but permits from before a resize may still be held.  A closed semaphore
 * grants nothing, so the entries suffice.
 */
static weir_err acquire_all(weir_named *sem, struct request *request, bool *used)
{
	weir_named_entry *entries;
	weir_named_info info;
	weir_err err = weir_named_stat(sem, &info, NULL, 0);

	*used = false;
	*request = (struct request){ .sem = sem, .n = info.capacity };
	if (!err && info.paused && info.capacity)
		err = request_begin(request);
	else if (!err && !info.closed)
		err = weir_named_try_acquire(sem, info.capacity);
	if (err == WEIR_EAGAIN)
		*used = true;
	if (err)
		return *used ? WEIR_OK : err;
	err = snapshot_read(sem, &info, &entries);
	if (!err)
		*used = is_used(&info, entries);
	free(entries);
	return err;
}

/*
 * Exit if the path exists and is not that of a semaphore: --force must not
 * remove another file.
 */
static void check_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 && errno != ENOENT)
		cmd_fail(path, WEIR_ESYSTEM, NULL);
	if (fd >= 0 && !names_is_semaphore(fd))
		cmd_die(EXIT_DAMAGED, "%s: the file does not look like a "
			"semaphore, and is not removed", path);
	if (fd >= 0)
		close(fd);
}

void admin_unlink_failed(const char *name, weir_err err)
{
	/* The sticky bit of the folder. */
	cmd_fail(name, err, err == WEIR_ESYSTEM && errno == EPERM ?
		 "the folder lets only the owner of the file remove it" : NULL);
}

/* Remove the name without opening the semaphore (--force). */
static int remove_name(const char *name)
{
	weir_err err;

	if (strchr(name, '/'))
		check_path(name);
	err = weir_named_unlink(name);
	/* A name that is not valid: an open explains why, and exits. */
	if (err == WEIR_EINVAL)
		(void)semaphore_open(name, &(weir_named_opts){
			.flags = WEIR_NAMED_OBSERVER });
	if (err && !(err == WEIR_ESYSTEM && errno == ENOENT))
		admin_unlink_failed(name, err);
	return EXIT_SUCCESS;
}

static int remove_unused(const char *name, const weir_named_opts *opts)
{
	weir_named *sem = semaphore_open(name, opts);
	struct request request;
	bool used;
	weir_err err = acquire_all(sem, &request, &used);

	if (err)
		cmd_fail(name, err, NULL);
	if (used) {
		request_end(&request);
		return describe_in_use(name, sem, EXIT_BUSY);
	}
	err = weir_named_unlink_handle(sem);
	if (err && errno != ESTALE)
		admin_unlink_failed(name, err);
	/*
	 * The close refuses waiters that have arrived meanwhile.  It comes
	 * last, because it cannot be undone.
	 */
	weir_named_close(sem, WEIR_CLOSE_NOW);
	request_end(&request);
	return EXIT_SUCCESS;
}

static int run(const struct cmd *self, int argc, char **argv)
{
	static const struct option longs[] = {
		OPTIONS_HELP, { "shared", no_argument, NULL, OPT_SHARED },
		{ "force", no_argument, NULL, 'f' },
		OPTIONS_END
	};
	weir_named_opts opts = { .label = "weir rm" };
	const char *name = NULL;
	bool force = false;
	int option;

	while ((option = options_next(self, argc, argv, "f", longs)) != -1) {
		if (option == OPT_SHARED)
			opts.flags |= WEIR_NAMED_SHARED;
		else if (option == 'f')
			force = true;
		else
			options_name(self, optarg, &name);
	}
	options_required(self, argc, argv, &name, "NAME");
	if (remote_url(name)) {
		if (force)
			cmd_misuse(self, "rm: --force is not possible with a "
				   "URL: its users would lose their leases");
		remote_refuse_password(name);
		return remote_rm(remote_url(name));
	}
	return force ? remove_name(name) : remove_unused(name, &opts);
}

const struct cmd cmd_rm = {
	.name = "rm",
	.summary = "remove an unused semaphore",
	.help =
"usage: weir rm NAME [-f]\n"
"\n"
"Removes the semaphore NAME; 75 if permits are held or requests wait.\n"
"\n"
"  -f, --force    remove the name even if the semaphore is in use; its users keep\n"
"                 it, and the name is free for a new semaphore\n"
"      --shared   allow a semaphore that other users can use\n"
"  -h, --help     print this text\n",
	.run = run,
};
