/* SPDX-License-Identifier: MIT */
/*
 * The table of objects behind sem_t, their memory, their names, and fork.
 *
 * Pairs
 *
 *   [PX1] made  release: attach   acquire: weir_posix_find_
 *               A thread that reads the magic sees the other words of the sem_t
 *               and the object.
 */
#include "posix/object.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "core/sem_word.h"
#include "posix/cancel.h"
#include "posix/lock.h"
#include "posix/watch.h"

_Static_assert(sizeof(sem_t) >= 4 * sizeof(uintptr_t), "four words");
_Static_assert(_Alignof(sem_t) >= _Alignof(uintptr_t), "words");

typedef struct weir_object_posix_ object;

#define BUCKETS 1024
#define CHUNK 64
/* A sem_init keeps this many objects unused, for calls in signal handlers. */
#define RESERVE 16

static object *buckets[BUCKETS];	/* under the lock */
static object *unused;			/* under the lock */
static unsigned unused_count;		/* under the lock */
static object first_chunk[CHUNK];
static bool first_chunk_given;		/* under the lock */
static bool barging;			/* set at the start */

static uintptr_t *words_of(sem_t *s)
{
	return (uintptr_t *)(void *)s;
}

/*
 * The functions below are called with the lock held.
 */

static object **bucket_of(uintptr_t home)
{
	return &buckets[(home >> 3 ^ home >> 13) % BUCKETS];
}

static object *find(uintptr_t home)
{
	object *o = *bucket_of(home);

	while (o && o->home != home)
		o = o->next;
	return o;
}

static void give(object *chunk)
{
	for (int i = 0; i < CHUNK; i++) {
		chunk[i].next = unused;
		unused = &chunk[i];
	}
	unused_count += CHUNK;
}

/* Make sure that at least `least` objects are unused, if memory allows. */
static void refill(unsigned least)
{
	if (!first_chunk_given) {
		first_chunk_given = true;
		give(first_chunk);
	}
	if (unused_count < least) {
		object *chunk = weir_mem_alloc_(CHUNK * sizeof(*chunk));

		if (chunk)
			give(chunk);
	}
}

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

static object *take_unused(uintptr_t home)
{
	object *o = unused;

	if (!o)
		return NULL;
	unused = o->next;
	unused_count--;
	o->home = home;
	o->next = *bucket_of(home);
	*bucket_of(home) = o;
	return o;
}

static void drop(object *o)
{
	object **at = bucket_of(o->home);

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	o->home = 0;
	o->next = unused;
	unused = o;
	unused_count++;
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

/* The sem_t is zeroed or a copy: make its object. */
static enum weir_found_ adopt(sem_t *s, object **found)
{
	uintptr_t *w = words_of(s);
	uintptr_t value = w[0] == WEIR_POSIX_MAGIC_ ? w[3] : 0;
	object *o = find((uintptr_t)s);

	refill(1);
	if (!o)
		o = take_unused((uintptr_t)s);
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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Write "name" or "name+0x20". */
static void name_at(char *to, size_t size, const char *name, const void *at,
		    const void *start)
{
	size_t offset = (size_t)((uintptr_t)at - (uintptr_t)start);

	if (offset)
		snprintf(to, size, "%s+0x%zx", name, offset);
	else
		snprintf(to, size, "%s", name);
}

/*
 * The name of a semaphore.  Of a variable with static storage: its symbol, or
 * the file and the offset of the variable if the dynamic linker does not know
 * the symbol.  Otherwise the place of the sem_init, and the address.  `weir
 * explain` reads the debug information, and replaces file and offset by the
 * symbol, the place by the line: cmd/diag/posix.c.
 */
static void name_it(const sem_t *s, const void *caller, char *name, size_t size)
{
	char place[32];
	Dl_info info;

	if (dladdr((const void *)s, &info) && info.dli_fname) {
		if (info.dli_sname)
			name_at(name, size, info.dli_sname, s, info.dli_saddr);
		else
			name_at(name, size, base_name(info.dli_fname), s,
				info.dli_fbase);
	} else if (dladdr(caller, &info) && info.dli_fname) {
		if (info.dli_sname)
			name_at(place, sizeof(place), info.dli_sname, caller,
				info.dli_saddr);
		else
			name_at(place, sizeof(place), base_name(info.dli_fname),
				caller, info.dli_fbase);
		snprintf(name, size, "%s@%p", place, (const void *)s);
	} else {
		snprintf(name, size, "%p", (const void *)s);
	}
}

bool weir_posix_make_(sem_t *s, unsigned value, const void *caller)
{
	char name[sizeof(((object *)0)->name)];
	sigset_t before;
	object *o;

	name_it(s, caller, name, sizeof(name));
	weir_posix_lock_(&before);
	refill(RESERVE);
	o = find((uintptr_t)s);
	/* A thread waits on the semaphore that was here: leave it alone. */
	if (o && weir_sem_destroy(&o->sem) == WEIR_EBUSY) {
		drop(o);
		unused = o->next;
		unused_count--;
		o = NULL;
	}
	if (!o)
		o = take_unused((uintptr_t)s);
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
	o = find((uintptr_t)s);
	if (o && weir_sem_destroy(&o->sem) != WEIR_EBUSY)
		drop(o);
	weir_posix_unlock_(&before);
}

weir_err weir_posix_retire_(sem_t *s, object *o)
{
	sigset_t before;
	weir_err err;

	weir_posix_lock_(&before);
	err = weir_sem_destroy(&o->sem);
	if (!err) {
		drop(o);
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

static void in_child(void)
{
	for (int i = 0; i < BUCKETS; i++)
		for (object *o = buckets[i]; o; o = o->next) {
			/* relaxed: the child has one thread. */
			uint64_t word = at_load_relaxed(&o->sem.word_);
			int64_t value = weir_value_(word);

			reset(o, value > 0 ? value : 0);
		}
	weir_posix_cancel_reset_();
	weir_posix_lock_reset_(&before_fork);
}

__attribute__((constructor)) static void start(void)
{
	const char *mode = getenv("WEIR_POSIX");

	barging = mode && strstr(mode, "barging");
	(void)!pthread_atfork(prepare, in_parent, in_child);
}
