/* SPDX-License-Identifier: MIT */
/*
 * A request has two owners: the operation of the task, and the queue.  The queue
 * drops it when the helper has decided it, or when it is cancelled before the
 * helper has begun with it.
 *
 *   waiting    in the list
 *   active     the helper acquires for it; it is out of the list
 *   done       err is set and `decided` is released, so the loop runs fn
 *
 * Permits that were granted to a cancelled request are released by the helper,
 * if the request was active, or by the cancel, if it was done.
 */
#include "helper.h"

#include "weirpy.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "weir/ctx.h"

struct weirpy_request {
	struct weirpy_queue *queue;
	struct weirpy_request *prev, *next;
	weir_op op;		/* waits for `decided`, with the task's loop */
	weir_sem decided;
	weir_ctx ctx;		/* ends the acquire of the helper */
	int64_t n;
	/* Under the lock: */
	bool done, cancelled;
	weir_err err;
	int errnum;
	unsigned owners;
};

struct weirpy_queue {
	weir_named *sem;
	pid_t pid;
	pthread_mutex_t lock;
	pthread_cond_t ended;	/* the helper */
	/* Under the lock: */
	struct weirpy_request *first, *last, *active;
	bool running;		/* the helper exists */
};

struct weirpy_queue *weirpy_queue_new(weir_named *sem)
{
	struct weirpy_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->sem = sem;
	queue->pid = getpid();
	/* With default attributes, these do not fail. */
	(void)pthread_mutex_init(&queue->lock, NULL);
	(void)pthread_cond_init(&queue->ended, NULL);
	return queue;
}

bool weirpy_queue_is_stale(const struct weirpy_queue *queue)
{
	return queue->pid != getpid();
}

bool weirpy_queue_is_used(struct weirpy_queue *queue)
{
	bool used;

	pthread_mutex_lock(&queue->lock);
	used = queue->first || queue->active;
	pthread_mutex_unlock(&queue->lock);
	return used;
}

void weirpy_queue_free(struct weirpy_queue *queue)
{
	/* Of a queue of the parent, the lock may be held for ever. */
	if (!queue || weirpy_queue_is_stale(queue))
		return;
	Py_BEGIN_ALLOW_THREADS
	pthread_mutex_lock(&queue->lock);
	while (queue->running)
		pthread_cond_wait(&queue->ended, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
	Py_END_ALLOW_THREADS
	pthread_cond_destroy(&queue->ended);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

/*
 * The functions below are called with the lock of the queue held.
 */

static void append(struct weirpy_queue *queue, struct weirpy_request *r)
{
	r->prev = queue->last;
	r->next = NULL;
	if (queue->last)
		queue->last->next = r;
	else
		queue->first = r;
	queue->last = r;
}

static void take_out(struct weirpy_queue *queue, struct weirpy_request *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		queue->first = r->next;
	if (r->next)
		r->next->prev = r->prev;
	else
		queue->last = r->prev;
}

/* One owner less. */
static void drop(struct weirpy_request *r)
{
	if (--r->owners)
		return;
	/* Both are unused: the operation has ended, and so has the acquire. */
	if (weir_sem_destroy(&r->decided) || weir_ctx_destroy(&r->ctx))
		abort();
	free(r);
}

/* Acquire for the first request. */
static void serve(struct weirpy_queue *queue)
{
	struct weirpy_request *r = queue->first;
	weir_err err;
	int errnum;

	take_out(queue, r);
	queue->active = r;
	pthread_mutex_unlock(&queue->lock);
	/* The helper blocks all signals; a debugger may interrupt it. */
	do {
		err = weir_named_acquire(queue->sem, r->n, &r->ctx);
		errnum = errno;
	} while (err == WEIR_EINTR);
	pthread_mutex_lock(&queue->lock);
	queue->active = NULL;
	if (!r->cancelled) {
		r->done = true;
		r->err = err;
		r->errnum = errnum;
		weir_sem_release(&r->decided, 1);
	} else if (!err) {
		weir_named_release(queue->sem, r->n);
	}
	drop(r);
}

static void *help(void *of)
{
	struct weirpy_queue *queue = of;

	(void)pthread_setname_np(pthread_self(), "weir-tasks");
	pthread_mutex_lock(&queue->lock);
	while (queue->first)
		serve(queue);
	queue->running = false;
	pthread_cond_broadcast(&queue->ended);
	/* The last access: the queue may be freed. */
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

/* Make sure that the helper exists.  Returns 0, or an errno value. */
static int start(struct weirpy_queue *queue)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	if (queue->running)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, help, queue);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return error;
	pthread_detach(thread);
	queue->running = true;
	return 0;
}

struct weirpy_request *weirpy_request_new(struct weirpy_queue *queue,
					  int64_t n, weir_loop *loop,
					  weir_op_fn *fn, void *user,
					  weir_err *err)
{
	static const weir_sem_opts opts = { .flags = WEIR_SEM_UNBOUNDED };
	struct weirpy_request *r = calloc(1, sizeof(*r));
	int error;

	*err = WEIR_ENOMEM;
	if (!r)
		return NULL;
	r->queue = queue;
	r->n = n;
	r->owners = 2;
	*err = weir_sem_init_opts(&r->decided, &opts);
	if (!*err)
		*err = weir_ctx_init(&r->ctx, NULL, WEIR_FOREVER);
	if (*err) {
		free(r);
		return NULL;
	}
	weir_op_init(&r->op, loop, fn, user);
	*err = weir_op_submit(&r->op, &r->decided, 1, NULL);
	pthread_mutex_lock(&queue->lock);
	error = *err == WEIR_EQUEUED ? start(queue) : 0;
	if (*err == WEIR_EQUEUED && !error) {
		append(queue, r);
		pthread_mutex_unlock(&queue->lock);
		return r;
	}
	if (error) {
		/* Nothing has released `decided`. */
		(void)!weir_op_cancel(&r->op);
		*err = WEIR_ESYSTEM;
		errno = error;
	}
	r->owners = 1;
	drop(r);
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

weir_err weirpy_request_err(const struct weirpy_request *r, int *errnum)
{
	*errnum = r->errnum;
	return r->err;
}

bool weirpy_request_cancel(struct weirpy_request *r)
{
	struct weirpy_queue *queue = r->queue;
	bool granted = false;

	if (weirpy_queue_is_stale(queue))
		return true;
	/* A dispatch needs the GIL: if fn has begun, it has returned. */
	if (weir_op_cancel(&r->op))
		return false;
	pthread_mutex_lock(&queue->lock);
	r->cancelled = true;
	if (r->done) {
		granted = !r->err;
	} else if (queue->active == r) {
		weir_ctx_cancel(&r->ctx);
	} else {
		take_out(queue, r);
		drop(r);
	}
	pthread_mutex_unlock(&queue->lock);
	if (granted)
		weir_named_release(queue->sem, r->n);
	return true;
}

void weirpy_request_free(struct weirpy_request *r)
{
	struct weirpy_queue *queue = r->queue;

	/* In the child of a fork the request stays: its lock may be held. */
	if (weirpy_queue_is_stale(queue))
		return;
	pthread_mutex_lock(&queue->lock);
	drop(r);
	pthread_mutex_unlock(&queue->lock);
}
