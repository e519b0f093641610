/* SPDX-License-Identifier: MIT */
/* Acquiring permits according to the options of run and hold. */
#include <errno.h>

#include "cmd/lib/acquire.h"
#include "cmd/lib/describe_holder.h"
#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/semaphore.h"

/*
 * "weir rm" acquires all permits, removes the name and closes the semaphore.  It
 * does not see a process that has opened the semaphore and has not requested a
 * permit yet, and closes it also if a request has joined the queue meanwhile.
 * Such a request has been closed a short time after it began.  If it may create
 * the semaphore, it begins again.  The attempts have a limit, because each of them
 * may meet another removal.  A request that has waited longer was refused by
 * "weir close", which comes before the removal.
 */
#define REMOVALS_MAX 100
#define REMOVAL_NS INT64_C(5000000000)

weir_named *acquire_open(const struct acquire_opts *opts)
{
	weir_named_opts open = {
		.capacity = opts->capacity < 0 ? 0 : opts->capacity,
		.policy = WEIR_NAMED_STRICT,
		.mode = opts->shared ? 0666 : 0,
		.flags = WEIR_NAMED_INTERRUPTIBLE |
			 (opts->capacity < 0 ? 0 : WEIR_NAMED_CREATE) |
			 (opts->shared ? WEIR_NAMED_SHARED : 0),
		.label = opts->label,
	};

	if (acquire_opts_exceed(opts) && !semaphore_exists(opts->name))
		acquire_opts_refuse(opts, opts->name);
	return semaphore_open_or_create(opts->name, &open);
}

/* Returns true if the name is gone, or stands for another semaphore. */
static bool is_renamed(weir_named *sem)
{
	weir_named_info info;

	return !weir_named_stat(sem, &info, NULL, 0) && info.renamed;
}

/*
 * Open or create a closed semaphore again.  Returns false if it was not removed, or
 * if -n was not given.
 */
static bool open_again(const struct acquire_opts *opts, weir_named **sem)
{
	if (opts->capacity < 0 || !is_renamed(*sem))
		return false;
	(void)!weir_named_close_handle(*sem);
	*sem = acquire_open(opts);
	return true;
}

static weir_err acquire(const struct acquire_opts *opts, weir_named *sem,
			int64_t deadline)
{
	weir_err err;

	if (opts->try)
		return weir_named_try_acquire(sem, opts->weight);
	do
		err = weir_named_acquire_until(sem, opts->weight, deadline);
	while (err == WEIR_EINTR && !signals_caught());
	return err;
}

weir_err acquire_permits(const struct acquire_opts *opts, weir_named **sem,
			 const struct signals *signals, int *sig)
{
	int64_t deadline = opts->timeout_ns == WEIR_FOREVER ? WEIR_FOREVER :
			   weir_deadline_after(opts->timeout_ns);
	int errnum, attempts = 0;
	int64_t began;
	weir_err err;

	signals_begin_wait(signals);
	do {
		began = weir_now_ns();
		err = acquire(opts, *sem, deadline);
	} while (err == WEIR_ECLOSED && !signals_caught() &&
		 attempts++ < REMOVALS_MAX &&
		 weir_now_ns() - began < REMOVAL_NS && open_again(opts, sem));
	errnum = errno;
	*sig = signals_end_wait(signals);
	errno = errnum;
	return err;
}

static void print_busy(const struct acquire_opts *opts, weir_named *sem,
		       weir_err err)
{
	char room[HOLDER_ROOM];
	const char *holder = describe_holder(sem, room);

	if (err == WEIR_EAGAIN) {
		cmd_message("%s: busy%s%s", opts->name, *holder ? "; " : "",
			    holder);
	} else {
		char time[DURATION_ROOM];

		cmd_message("%s: not granted within %s%s%s", opts->name,
			    duration_text(opts->timeout_ns, time),
			    *holder ? "; " : "", holder);
	}
}

/* Returns true if the request exceeds the capacity of the semaphore. */
static bool is_too_big(const struct acquire_opts *opts, weir_named *sem)
{
	int64_t capacity = weir_named_capacity(sem);

	return capacity >= 0 && opts->weight > capacity;
}

int acquire_refused(const struct acquire_opts *opts, weir_named *sem,
		    weir_err err)
{
	int errnum = errno, status;

	/* --try finds a semaphore busy that can never grant the request. */
	if (err == WEIR_EAGAIN && is_too_big(opts, sem))
		err = WEIR_ETOOBIG;
	status = cmd_status(err, errnum);
	switch (err) {
	case WEIR_EAGAIN:
	case WEIR_ETIMEDOUT:
		if (!opts->quiet)
			print_busy(opts, sem, err);
		return opts->busy_status >= 0 ? opts->busy_status : status;
	case WEIR_ETOOBIG:
		semaphore_print_too_big(opts->name, sem, "a weight of",
					opts->weight);
		return status;
	default:
		/* "weir open" does not open a removed semaphore again. */
		if (err == WEIR_ECLOSED && is_renamed(sem))
			cmd_die(status, "%s: the semaphore was removed or "
				"replaced while this request waited",
				opts->name);
		errno = errnum;
		cmd_fail(opts->name, err, NULL);
	}
}
