/* SPDX-License-Identifier: MIT */
/*
 * The words of a sem_t, the life of its object, and fork.
 *
 * A zeroed sem_t or a copy gets its object in the first call, and two threads, or a
 * thread and its signal handler, may make that call at the same time.  One of them
 * attaches the object with the lock held; the other reads the words without the
 * lock meanwhile.  attach writes them in this order:
 *
 *   word 2  0          a copy is still a copy; a word 2 that an earlier semaphore
 *                      left behind is gone
 *   word 0  the magic  not zeroed any more
 *   word 1  the object
 *   word 2  the address: the object may be used
 *
 * So a reader without the lock decides as follows, and everything else with the
 * lock:
 *
 *   magic, then its own address       weir's; word 1 is the object
 *   neither 0 nor the magic           destroyed, or the C library's: only a call
 *                                     that the program orders before or after
 *                                     all others (sem_init) changes that
 *   word 1 not 0, then word 0 is 0    the C library's.  attach writes word 0 before
 *                                     word 1.  The C library marks a semaphore
 *                                     between processes in word 1 and never
 *                                     changes the mark.  So a call on one takes
 *                                     the lock only if word 0 changes from 0
 *                                     between the two loads.
 *
 * Pairs
 *
 *   [PX1] made     release: attach   acquire: weir_posix_find_
 *                  A thread that reads its own address in word 2 sees the object
 *                  and its address.
 *   [PX2] cleared  release: attach   acquire: weir_posix_find_
 *                  A thread that reads the magic does not see the word 2 of an
 *                  earlier semaphore at this address.
 *   [PX3] marked   release: attach   acquire: is_foreign
 *                  A thread that reads the address of the object in word 1 sees
 *                  the magic.
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

/* Word 2 of *s, unless *s is a copy. */
static uintptr_t mark_of(const sem_t *s)
{
	return (uintptr_t)s ^ WEIR_POSIX_MAGIC_;
}

/* Requires, for reset, attach, adopt and find_locked: the lock is held. */

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

/* Write the words of *s.  The head of this file explains the order. */
static void attach(sem_t *s, object *o, uintptr_t value)
{
	uintptr_t *w = words_of(s);

	/* relaxed: the release of word 0 follows. */
	at_store_relaxed(&w[2], 0);
	/* [PX2] release */
	at_store_release(&w[0], WEIR_POSIX_MAGIC_);
	/* [PX3] release */
	at_store_release(&w[1], (uintptr_t)o);
	/* relaxed: only weir_posix_is_zeroed_ reads it without the lock. */
	at_store_relaxed(&w[3], value);
	/* [PX1] release */
	at_store_release(&w[2], mark_of(s));
}

static bool is_zeroed(const uintptr_t *w)
{
	/*
	 * relaxed: with the lock held, no thread attaches.  Without it, a word 0
	 * that is 0 means that no attach has happened before this call.
	 */
	for (size_t i = 0; i < 16 / sizeof(*w); i++)
		if (at_load_relaxed(&w[i]))
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

/* Decide with the lock held what the words of *s are. */
static enum weir_found_ find_locked(sem_t *s, object **found)
{
	uintptr_t *w = words_of(s);
	/*
	 * relaxed: the lock orders the words of a semaphore of weir.  The C
	 * library may change word 0 of its own at any time.
	 */
	uintptr_t magic = at_load_relaxed(&w[0]);

	if (magic == WEIR_POSIX_MAGIC_ && w[2] == mark_of(s)) {
		*found = (object *)w[1];
		return WEIR_FOUND_;
	}
	if (magic == WEIR_POSIX_MAGIC_ || is_zeroed(w))
		return adopt(s, found);
	return magic == WEIR_POSIX_DEAD_ ? WEIR_FOUND_DEAD_ :
					   WEIR_FOUND_FOREIGN_;
}

/* Returns true if *w is the C library's; false: take the lock to decide. */
static bool is_foreign(const uintptr_t *w)
{
	/* [PX3] acquire */
	uintptr_t object_or_mark = at_load_acquire(&w[1]);

	/* relaxed: the load above orders it. */
	return object_or_mark && !at_load_relaxed(&w[0]);
}

enum weir_found_ weir_posix_find_(sem_t *s, object **found)
{
	uintptr_t *w = words_of(s);
	/* [PX2] acquire */
	uintptr_t magic = at_load_acquire(&w[0]);
	enum weir_found_ result;
	sigset_t before;

	/* [PX1] acquire */
	if (magic == WEIR_POSIX_MAGIC_ && at_load_acquire(&w[2]) == mark_of(s)) {
		*found = (object *)w[1];
		return WEIR_FOUND_;
	}
	if (magic == WEIR_POSIX_DEAD_)
		return WEIR_FOUND_DEAD_;
	if (magic ? magic != WEIR_POSIX_MAGIC_ : is_foreign(w))
		return WEIR_FOUND_FOREIGN_;
	weir_posix_lock_(&before);
	result = find_locked(s, found);
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
 * Fork.  Handlers of other libraries may use semaphores: interpose.c registers
 * ours first, so the lock is not held yet when another handler prepares a fork, and
 * the semaphores are set up again before another handler runs in the child.
 *
 * The child has one thread.  The waiters of the parent do not exist in
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

void weir_posix_register_atfork_(void)
{
	static uint32_t registered;

	/* relaxed: the handlers need nothing of the thread that registers them. */
	if (!at_swap_relaxed(&registered, 1))
		(void)!pthread_atfork(prepare, in_parent, in_child);
}

__attribute__((constructor)) static void start(void)
{
	const char *mode = getenv("WEIR_POSIX");

	barging = mode && strstr(mode, "barging");
	weir_posix_register_atfork_();
}
