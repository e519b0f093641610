/* SPDX-License-Identifier: MIT */
/* Acquiring permits between machines, according to the options. */
#include <errno.h>

#include "cmd/lib/duration.h"
#include "cmd/lib/fail.h"
#include "cmd/lib/remote_acquire.h"
#include "cmd/lib/remote_snapshot.h"
#include "weir/ctx.h"

weir_cluster *remote_acquire_open(const struct acquire_opts *opts,
				  const char *url)
{
	weir_cluster_opts open = {
		.capacity = opts->capacity < 0 ? 0 : opts->capacity,
		.flags = WEIR_CLUSTER_INTERRUPTIBLE |
			 (opts->capacity < 0 ? 0 : WEIR_CLUSTER_CREATE),
		.label = opts->label,
	};
	weir_cluster *c;

	if (acquire_opts_exceed(opts) && !remote_exists(url))
		acquire_opts_refuse(opts, remote_display(url));
	c = remote_open_or_create(url, &open);
	if (opts->capacity >= 0)
		remote_warn_capacity(url, c, opts->capacity);
	return c;
}

weir_err remote_acquire_permits(const struct acquire_opts *opts,
				weir_cluster *c, const struct signals *signals,
				weir_lease **lease, int *sig)
{
	int64_t deadline = opts->timeout_ns == WEIR_FOREVER ? WEIR_FOREVER :
			   weir_deadline_after(opts->timeout_ns);
	weir_err err;
	int errnum;

	signals_begin_wait(signals);
	do
		err = opts->try ?
			remote_api.weir_cluster_try_acquire(c, opts->weight,
							    lease) :
			remote_api.weir_cluster_acquire_until(c, opts->weight,
							      deadline, lease);
	while (err == WEIR_EINTR && !signals_caught());
	errnum = errno;
	*sig = signals_end_wait(signals);
	errno = errnum;
	return err;
}

static void print_busy(const struct acquire_opts *opts, const char *url,
		       weir_cluster *c, weir_err err)
{
	char room[HOLDER_ROOM];
	const char *holder = remote_describe_holder(c, room);

	if (err == WEIR_EAGAIN) {
		cmd_message("%s: busy%s%s", remote_display(url),
			    *holder ? "; " : "", holder);
	} else {
		char time[DURATION_ROOM];

		cmd_message("%s: not granted within %s%s%s",
			    remote_display(url),
			    duration_text(opts->timeout_ns, time),
			    *holder ? "; " : "", holder);
	}
}

void remote_print_too_big(const char *url, weir_cluster *c,
			  const char *request, int64_t n)
{
	const char *name = remote_display(url);
	weir_cluster_info info;

	/* The capacity may have grown since the request was refused. */
	if (remote_api.weir_cluster_stat(c, &info, NULL, 0) ||
	    info.capacity >= n)
		cmd_message("%s: %s %lld exceeds the capacity", name, request,
			    (long long)n);
	else
		cmd_message("%s: %s %lld exceeds the capacity, %lld; \"weir "
			    "resize %s %lld\" raises it", name, request,
			    (long long)n, (long long)info.capacity, name,
			    (long long)n);
}

/* Returns true if the request exceeds the capacity of the semaphore. */
static bool is_too_big(const struct acquire_opts *opts, weir_cluster *c)
{
	weir_cluster_info info;

	return !remote_api.weir_cluster_stat(c, &info, NULL, 0) &&
	       opts->weight > info.capacity;
}

int remote_acquire_refused(const struct acquire_opts *opts, const char *url,
			   weir_cluster *c, weir_err err)
{
	int errnum = errno, status;

	/* --try finds a semaphore busy that can never grant the request. */
	if (err == WEIR_EAGAIN && is_too_big(opts, c))
		err = WEIR_ETOOBIG;
	status = remote_status(err, errnum);
	switch (err) {
	case WEIR_EAGAIN:
	case WEIR_ETIMEDOUT:
		if (!opts->quiet)
			print_busy(opts, url, c, err);
		return opts->busy_status >= 0 ? opts->busy_status : status;
	case WEIR_ETOOBIG:
		remote_print_too_big(url, c, "a weight of", opts->weight);
		return status;
	default:
		errno = errnum;
		remote_fail(url, c, err);
	}
}

weir_err remote_wait_idle(weir_cluster *c, int64_t timeout_ns)
{
	weir_cluster_info info;
	weir_ctx ctx;
	weir_err err = remote_api.weir_cluster_stat(c, &info, NULL, 0);

	/* An expired deadline would win over an idle semaphore in the wait. */
	if (err || !info.held)
		return err;
	err = weir_ctx_init(&ctx, NULL, timeout_ns == WEIR_FOREVER ?
			    WEIR_FOREVER : weir_deadline_after(timeout_ns));
	if (err)
		return err;
	err = remote_api.weir_cluster_wait_idle(c, &ctx);
	/* This cannot fail, because the context has no children. */
	(void)!weir_ctx_destroy(&ctx);
	return err;
}
