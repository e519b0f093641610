/* SPDX-License-Identifier: MIT */
/* Opening and closing a handle. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"
#include "cluster/session.h"
#include "cluster/text.h"

/* Connect, and create the semaphore if that is requested. */
static weir_err prepare(weir_cluster *c, const weir_cluster_opts *opts)
{
	int64_t capacity = opts->flags & WEIR_CLUSTER_CREATE ? opts->capacity :
			   -1;
	int64_t until = boot_now() + c->session.timeout_ns;
	struct fault fault = { 0 };
	bool made = false, unknown = false;
	enum result result;
	int attempt = 0;

	do {
		result = c->ops->prepare(c->engine, capacity, &made, until,
					 &fault);
		unknown = unknown || result == RES_UNKNOWN;
	} while (weir_cl_call_repeats_(result, &fault) &&
		 weir_cl_call_pause_(attempt++, NULL, until));
	if (result)
		return weir_cl_say_(opts, WEIR_ESYSTEM, fault.errnum, fault.why);
	if (!made && opts->flags & WEIR_CLUSTER_EXCLUSIVE && unknown)
		return weir_cl_say_(opts, WEIR_EINDETERMINATE, ETIMEDOUT,
			   "the semaphore may have been created by this call");
	if (!made && opts->flags & WEIR_CLUSTER_EXCLUSIVE)
		return weir_cl_say_(opts, WEIR_ESYSTEM, EEXIST,
			   "the semaphore exists already");
	return WEIR_OK;
}

static void free_handle(weir_cluster *c)
{
	int errnum = errno;

	if (c->engine)
		c->ops->close(c->engine);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->callback_done);
	explicit_bzero(&c->session, sizeof(c->session));
	free(c);
	errno = errnum;
}

static weir_err start(weir_cluster *c, const weir_cluster_opts *opts)
{
	weir_err err;
	int error;

	c->engine = c->ops->open(&c->session);
	if (!c->engine)
		return weir_cl_say_(opts, WEIR_ENOMEM, ENOMEM, "out of memory");
	err = prepare(c, opts);
	if (err)
		return err;
	error = weir_cl_thread_start_(c);
	if (error)
		return weir_cl_say_(opts, WEIR_ESYSTEM, error, "no thread can be started");
	return WEIR_OK;
}

weir_err weir_cluster_open(const char *url, const weir_cluster_opts *opts,
			   weir_cluster **out)
{
	static const weir_cluster_opts none;
	weir_cluster *c;
	weir_err err;

	if (!opts)
		opts = &none;
	if (!url || !out || opts->flags & ~7u)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, "an option is not valid");
	if (opts->capacity < 0 || opts->capacity > WEIR_CLUSTER_MAX)
		return weir_cl_say_(opts, WEIR_EINVAL, EINVAL, "the capacity is "
				    "not between 0 and 1125899906842624");
	*out = NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return weir_cl_say_(opts, WEIR_ENOMEM, ENOMEM, "out of memory");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->callback_done, NULL);
	(void)!weir_sem_init(&c->calls, 1);
	c->interruptible = opts->flags & WEIR_CLUSTER_INTERRUPTIBLE;
	err = weir_cl_session_set_(&c->session, url, true, opts, &c->ops);
	if (!err)
		err = start(c, opts);
	if (err)
		free_handle(c);
	else
		*out = c;
	return err;
}

weir_err weir_cluster_close_handle(weir_cluster *c)
{
	struct withdrawal *w;
	struct answer answer;
	struct fault fault;
	bool busy;

	pthread_mutex_lock(&c->lock);
	busy = c->first;
	pthread_mutex_unlock(&c->lock);
	if (busy)
		return WEIR_EBUSY;
	weir_cl_thread_stop_(c);
	/*
	 * Try the withdrawals once more, until one fails.  The engine forgets
	 * the others after the TTL.
	 */
	while ((w = c->withdrawals)) {
		int64_t until = boot_now() + c->session.timeout_ns;

		c->withdrawals = w->next;
		if (!c->stopped_early &&
		    c->ops->release(c->engine, LANE_THREAD, w->id, 0, 0,
				    &answer, until, &fault))
			c->stopped_early = true;
		free(w);
	}
	free_handle(c);
	return WEIR_OK;
}

void weir_cluster_why(weir_cluster *c, char *text, size_t size)
{
	if (!size)
		return;
	pthread_mutex_lock(&c->lock);
	weir_cl_text_copy_(text, size, c->fault.why);
	pthread_mutex_unlock(&c->lock);
}
