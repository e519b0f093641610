/* SPDX-License-Identifier: MIT */
/*
 * Handles: opening, closing, and their state in the child of a fork.
 *
 * The child has the parent's memory but not its keeper threads, and must not
 * act as the parent.  So the fork handler gives each handle a new description
 * of the file, because the parent's description carries the parent's locks.
 * The first call in the child then joins as a separate participant.
 *
 * Pairs
 *
 *   [NO1] ticket  release: join   acquire: weir_nm_join_once_
 *                 A thread that sees the ticket sees which slot is ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "named/lock.h"
#include "named/record.h"

static pthread_mutex_t opens = PTHREAD_MUTEX_INITIALIZER;
static struct weir_ring_ *handles;	/* under opens */
static int cancels;			/* under opens: state to restore */

/*
 * C18: open(2), close(2) and others are cancellation points; a thread that was
 * cancelled there would never unlock the mutex.
 */
void weir_nm_lock_opens_(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&opens);
	cancels = before;
}

void weir_nm_unlock_opens_(void)
{
	int before = cancels;

	pthread_mutex_unlock(&opens);
	pthread_setcancelstate(before, NULL);
}

static void in_child(void)
{
	RING_EACH(link, next, end, handles) {
		weir_named *h = ring_entry(link, weir_named, link);
		int fd = weir_nm_reopen_(h, h->head ? O_RDWR : O_RDONLY);

		close(h->fd);
		h->fd = fd;
		h->ticket = 0;
		h->me = 0;
		h->mine = NULL;
		h->repairing = false;
		h->calls = 0;
	}
	weir_nm_unlock_opens_();
}

/* Register the fork handler at the first open.  Requires: opens is held. */
static bool register_fork_handler(void)
{
	static bool registered;

	if (!registered)
		registered = !pthread_atfork(weir_nm_lock_opens_,
					     weir_nm_unlock_opens_,
					     in_child);
	return registered;
}

/* Requires: opens is held. */
static weir_err join(weir_named *h, const weir_named_opts *opts)
{
	weir_err err = weir_nm_join_(h, opts);

	if (!err)
		/* [NO1] release */
		at_store_release(&h->ticket, h->lock_id);
	return err;
}

/*
 * Join in the child of a fork, at the first call on the handle.  An observer
 * never joins.
 */
static weir_err join_again(weir_named *h)
{
	weir_err err = WEIR_OK;

	if (h->flags & WEIR_NAMED_OBSERVER)
		return WEIR_EINVAL;
	weir_nm_lock_opens_();
	/* relaxed: changed under opens, which is held. */
	if (!at_load_relaxed(&h->ticket)) {
		errno = ESTALE;
		err = h->fd < 0 ? WEIR_ESYSTEM : join(h, NULL);
	}
	weir_nm_unlock_opens_();
	return err;
}

weir_err weir_nm_join_once_(weir_named *h)
{
	/* [NO1] acquire */
	return at_load_acquire(&h->ticket) ? WEIR_OK : join_again(h);
}

weir_err weir_nm_enter_(weir_named *h, const struct nm_limit *limit)
{
	weir_err err = weir_nm_join_once_(h);

	if (err)
		return err;
	err = nm_lock(h, limit);
	/* relaxed: records and permits to fold were stored before this call. */
	if (!err && (at_load_relaxed(&h->finished) || at_load_relaxed(&h->owed)))
		weir_nm_fold_(h);
	return err;
}

static void free_handle(weir_named *h)
{
	int saved = errno;

	if (h->head)
		weir_unmap_(h->head, NM_FILE_SIZE);
	if (h->fd >= 0)
		close(h->fd);
	if (h->scratch)
		weir_unmap_(h->scratch, sizeof(*h->scratch));
	if (h->path)
		weir_mem_free_(h->path);
	if (h->name)
		weir_mem_free_(h->name);
	weir_mem_free_(h);
	errno = saved;
}

static bool opts_ok(const weir_named_opts *opts)
{
	const uint32_t known = WEIR_NAMED_CREATE | WEIR_NAMED_EXCLUSIVE |
			       WEIR_NAMED_SHARED | WEIR_NAMED_INTERRUPTIBLE |
			       WEIR_NAMED_OBSERVER;

	for (int i = 0; i < 4; i++)
		if (opts->reserved_[i])
			return false;
	return opts->capacity >= 0 && opts->capacity <= WEIR_SEM_MAX &&
	       !(opts->flags & ~known) && !(opts->mode & ~0666u) &&
	       (opts->policy == WEIR_NAMED_FAST ||
		opts->policy == WEIR_NAMED_STRICT) &&
	       (!opts->label || strlen(opts->label) <= WEIR_NAMED_LABEL_MAX) &&
	       !(opts->flags & WEIR_NAMED_EXCLUSIVE &&
		 !(opts->flags & WEIR_NAMED_CREATE)) &&
	       !(opts->flags & WEIR_NAMED_OBSERVER &&
		 opts->flags & WEIR_NAMED_CREATE);
}

/* Allocate a handle and its private memory, and find the path of its file. */
static weir_err new_handle(const char *name, const weir_named_opts *opts,
			   weir_named **out)
{
	weir_named *h = weir_mem_alloc_(sizeof(*h));
	weir_err err;

	if (!h)
		return WEIR_ENOMEM;
	h->fd = -1;
	h->flags = opts->flags;
	if (opts->label)
		memcpy(h->label, opts->label, strlen(opts->label));
	err = weir_nm_find_place_(name, opts->flags & WEIR_NAMED_CREATE, opts,
				  &h->path);
	if (!err) {
		bool observer = opts->flags & WEIR_NAMED_OBSERVER;

		weir_nm_absolute_(&h->path);
		if (!observer)
			h->scratch = weir_map_zero_(sizeof(*h->scratch));
		h->name = weir_mem_alloc_(strlen(name) + 1);
		if ((!h->scratch && !observer) || !h->name)
			err = WEIR_ENOMEM;
		else
			memcpy(h->name, name, strlen(name));
	}
	if (err) {
		free_handle(h);
		return err;
	}
	*out = h;
	return WEIR_OK;
}

weir_err weir_named_open(const char *name, const weir_named_opts *opts,
			 weir_named **out)
{
	weir_named_opts all = { .capacity = 0 };
	weir_named *h = NULL;
	weir_err err;

	if (opts)
		all = *opts;
	if (!out || !name || !opts_ok(&all))
		return weir_nm_say_(opts, WEIR_EINVAL,
				    "invalid argument or option");
	*out = NULL;
	err = new_handle(name, &all, &h);
	if (err)
		return err;
	h->can_wait_any = weir_shared_can_wait_any_();
	/*
	 * No fork may happen while the file is open and the handle is not in
	 * the ring: the child would keep the description open, and with it the
	 * lock on our byte, whose release shows that this process has ended.
	 */
	weir_nm_lock_opens_();
	err = register_fork_handler() ? weir_nm_open_file_(h, &all) :
					WEIR_ENOMEM;
	if (!err && !(all.flags & WEIR_NAMED_OBSERVER))
		err = join(h, &all);
	if (err)
		free_handle(h);
	else
		ring_append(&handles, &h->link);
	weir_nm_unlock_opens_();
	if (!err)
		*out = h;
	return err;
}

weir_err weir_named_close_handle(weir_named *sem)
{
	if (!sem)
		return WEIR_EINVAL;
	/* relaxed: concurrent calls that do not wait yet are a misuse. */
	if (at_load_relaxed(&sem->calls))
		return WEIR_EBUSY;
	weir_nm_lock_opens_();
	ring_remove(&handles, &sem->link);
	/* relaxed: changed under opens, which is held. */
	if (at_load_relaxed(&sem->ticket))
		weir_nm_leave_(sem);
	/*
	 * The handle is off the ring.  No fork may happen before its file is
	 * closed, as in weir_named_open.
	 */
	free_handle(sem);
	weir_nm_unlock_opens_();
	return WEIR_OK;
}

weir_err weir_named_unlink(const char *name)
{
	char *path;
	weir_err err = weir_nm_find_place_(name, false, NULL, &path);
	int saved;

	if (err)
		return err;
	err = unlink(path) ? WEIR_ESYSTEM : WEIR_OK;
	saved = errno;
	weir_mem_free_(path);
	errno = saved;
	return err;
}

weir_err weir_named_unlink_handle(weir_named *sem)
{
	weir_err err = WEIR_ESYSTEM;

	if (!sem)
		return WEIR_EINVAL;
	weir_nm_lock_opens_();
	errno = ESTALE;
	if (sem->fd >= 0 && weir_nm_unlink_current_(sem))
		err = WEIR_OK;
	weir_nm_unlock_opens_();
	return err;
}
