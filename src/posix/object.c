/* SPDX-License-Identifier: MIT */
/*
 * The words of a sem_t, the life of its object, and fork.
 *
 * Pairs
 *
 *   [PX1] made  release: attach   acquire: weir_posix_find_
 *               A thread that reads the magic sees the other words of the sem_t
 *               and the object.
 */
#include "posix/object.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/sem_word.h"
#include "posix/cancel.h"
#include "posix/lock.h"
#include "posix/name.h"
#include "posix/table.h"
#include "posix/watch.h"

_Static_assert(sizeof(sem_t) >= 4 * sizeof(uintptr_t), "four words");
_Static_assert(_Alignof(sem_t) >= _Alignof(uintptr_t), "words");

typedef struct weir_object_posix_ object;

/* A sem_init keeps this many objects unused, for calls in signal handlers. */
#define RESERVE 16

static bool barging;			/* set by the constructor */

static uintptr_t *words_of(sem_t *s)
{
	return (uintptr_t *)(void *)s;
}

/* Requires, for reset, attach, adopt and is_attached: the lock is held. */

static void reset(object *o, int64_t value)
{
	weir_sem_opts opts = {
		.permits = value,
		.capacity = SEM_VALUE_MAX,
		.name = o->name,
		.policy = barging ? WEIR_BARGING : WEIR_FIFO,
		/* weir_posix_watch_ registers it. */
		.flags = WEIR_SEM_INTERRUPTIBLE | WEIR_SEM_UNWATCHED,
	};

	(void)!weir_sem_init_opts(&o->sem, &opts);
}

/* Write the words of *s. */
static void attach(sem_t *s, object *o, uintptr_t value)
{
	uintptr_t *w = words_of(s);

	w[1] = (uintptr_t)o;
	w[2] = (uintptr_t)s ^ WEIR_POSIX_MAGIC_;
	w[3] = value;
	/* [PX1] release */
	at_store_release(&w[0], WEIR_POSIX_MAGIC_);
}

static bool is_zeroed(const uintptr_t *w)
{
	for (size_t i = 0; i < 16 / sizeof(*w); i++)
		if (w[i])
			return false;
	return true;
}

bool weir_posix_is_zeroed_(const sem_t *s)
{
	return is_zeroed((const uintptr_t *)(const void *)s);
}

/* Make the object of a sem_t that is zeroed or a copy. */
static enum weir_found_ adopt(sem_t *s, object **found)
{
	uintptr_t *w = words_of(s);
	uintptr_t value = w[0] == WEIR_POSIX_MAGIC_ ? w[3] : 0;
	object *o = weir_table_find_((uintptr_t)s);

	weir_table_refill_(1);
	if (!o)
		o = weir_table_take_((uintptr_t)s);
	if (!o)
		return WEIR_FOUND_NO_MEMORY_;
	o->name[0] = 0;
	reset(o, (int64_t)value);
	attach(s, o, value);
	*found = o;
	return WEIR_FOUND_;
}

static bool is_attached(sem_t *s)
{
	const uintptr_t *w = words_of(s);

	return w[0] == WEIR_POSIX_MAGIC_ &&
	       w[2] == ((uintptr_t)s ^ WEIR_POSIX_MAGIC_);
}

enum weir_found_ weir_posix_find_(sem_t *s, object **found)
{
	uintptr_t *w = words_of(s);
	/* [PX1] acquire */
	uintptr_t magic = at_load_acquire(&w[0]);
	enum weir_found_ result;
	sigset_t before;

	if (magic == WEIR_POSIX_MAGIC_ &&
	    w[2] == ((uintptr_t)s ^ WEIR_POSIX_MAGIC_)) {
		*found = (object *)w[1];
		return WEIR_FOUND_;
	}
	if (magic == WEIR_POSIX_DEAD_)
		return WEIR_FOUND_DEAD_;
	if (magic != WEIR_POSIX_MAGIC_ && !is_zeroed(w))
		return WEIR_FOUND_FOREIGN_;
	weir_posix_lock_(&before);
	if (is_attached(s)) {
		*found = (object *)w[1];
		result = WEIR_FOUND_;
	} else {
		result = adopt(s, found);
	}
	weir_posix_unlock_(&before);
	return result;
}

bool weir_posix_make_(sem_t *s, unsigned value, const void *caller)
{
	char name[sizeof(((object *)0)->name)];
	sigset_t before;
	object *o;

	weir_posix_name_it_(s, caller, name, sizeof(name));
	weir_posix_lock_(&before);
	weir_table_collect_();
	weir_table_refill_(RESERVE);
	weir_table_grow_();
	o = weir_table_find_((uintptr_t)s);
	/* A thread waits on the semaphore that was here: leave it alone. */
	if (o && weir_sem_destroy(&o->sem) == WEIR_EBUSY) {
		weir_table_drop_(o, false);
		o = NULL;
	}
	if (!o)
		o = weir_table_take_((uintptr_t)s);
	if (o) {
		memcpy(o->name, name, sizeof(name));
		reset(o, value);
		weir_posix_watch_(&o->sem, caller);
		attach(s, o, value);
	}
	weir_posix_unlock_(&before);
	return o;
}

void weir_posix_forget_(sem_t *s)
{
	sigset_t before;
	object *o;

	weir_posix_lock_(&before);
	o = weir_table_find_((uintptr_t)s);
	if (o)
		weir_table_drop_(o, weir_sem_destroy(&o->sem) == WEIR_OK);
	weir_posix_unlock_(&before);
}

/*
 * Returns true if a thread is blocked.  A thread that has been granted its permit, or
 * was woken to take a free one, is not blocked.
 */
static bool is_awaited(weir_sem *sem)
{
	weir_sem_info info;

	return weir_sem_stat(sem, &info) || info.waiting_permits > info.free;
}

weir_err weir_posix_retire_(sem_t *s, object *o)
{
	sigset_t before;
	weir_err err;

	weir_posix_lock_(&before);
	err = weir_sem_destroy(&o->sem);
	if (!err || (err == WEIR_EBUSY && !is_awaited(&o->sem))) {
		weir_table_drop_(o, !err);
		err = WEIR_OK;
		/* relaxed: a later use is a misuse. */
		at_store_relaxed(&words_of(s)[0], WEIR_POSIX_DEAD_);
	}
	weir_posix_unlock_(&before);
	return err;
}

/*
 * Fork.  The child has one thread.  The waiters of the parent do not exist in
 * it, and a thread that held the lock of a semaphore does not either: each
 * semaphore is set up again with the value that it had.  It is not watched: a
 * child that only calls exec makes no registry.
 */
static sigset_t before_fork;

static void prepare(void)
{
	weir_posix_lock_(&before_fork);
}

static void in_parent(void)
{
	weir_posix_unlock_(&before_fork);
}

/*
 * Returns true if no thread used the semaphore at the fork, and the parent's
 * registry does not contain it.  Then its memory is not written, because the
 * child would have to copy the page.
 */
static bool is_untouched(const weir_sem *sem)
{
	/* relaxed: the child has one thread, here and below. */
	return weir_door_(at_load_relaxed(&sem->word_)) == WEIR_OPEN_ &&
	       !sem->queue_ && !at_load_relaxed(&sem->granted_) &&
	       !(at_load_relaxed(&sem->state_) & WEIR_STATE_TRACKED_);
}

static void reset_in_child(object *o)
{
	/* relaxed: as above. */
	int64_t value = weir_value_(at_load_relaxed(&o->sem.word_));

	if (!is_untouched(&o->sem))
		reset(o, value > 0 ? value : 0);
}

static void in_child(void)
{
	weir_table_in_child_(reset_in_child);
	weir_posix_cancel_reset_();
	weir_posix_lock_reset_(&before_fork);
}

__attribute__((constructor)) static void start(void)
{
	const char *mode = getenv("WEIR_POSIX");

	barging = mode && strstr(mode, "barging");
	(void)!pthread_atfork(prepare, in_parent, in_child);
}
