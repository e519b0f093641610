/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_RECORD_H
#define WEIR_RECORD_RECORD_H

/*
 * Recording the holders and the waiters of watched semaphores.
 * docs/design/diag.md.
 *
 *   Threads   Every function may be called from any thread.
 *   Memory    No function allocates memory from the heap.
 *   Signals   weir_record_of_ and weir_record_gave_ are async-signal-safe, also
 *             if they interrupted another function of this file.
 *   Failure   If something cannot be recorded, the registry counts it as lost;
 *             the caller does not notice.  All functions preserve errno.
 *
 * With WEIR_NO_RECORD, as in the builds on the seams of the tests, nothing is
 * watched.
 */
#include <stddef.h>
#include <stdint.h>

#include "record/layout.h"
#include "weir/sem.h"

/*
 * The lowest result of weir_record_slot_ other than 0, and a bit that
 * weir_record_move_ adds.
 */
#define WEIR_RECORD_SLOT_MIN_ (UINT32_C(1) << 18)
#define WEIR_RECORD_MOVED_ (UINT32_C(1) << 31)

/* An object that is to be watched. */
struct weir_watched_ {
	const void *address;
	const void *inner[2];		/* RG_PATTERN: its semaphores */
	enum rg_type type;
	uint32_t flags;			/* RG_UNBOUNDED, RG_BARGING, RG_PATTERN */
	const char *name;		/* null: none */
	int64_t capacity;
	int64_t out;			/* permits that are out at the start */
	uint64_t site;
};

/* A request that is about to wait. */
struct weir_request_ {
	const void *op;			/* the operation; null: the calling
					   thread, or an any-of request */
	const void *any;		/* the any-of request; null: none */
	uint32_t *context;		/* of the any-of request, index + 1; null:
					   the calling thread waits */
	const void *sem;
	int64_t min, max;
	int64_t now_ns;			/* weir_now_ns() */
	int64_t deadline_ns;
	uint32_t flags;			/* RG_HAS_CTX, RG_OVERSIZED, RG_IDLE */
};

#ifndef WEIR_NO_RECORD

#include "base/atomic.h"
#include "record/context.h"
#include "record/registry.h"

/* Returns the name that the caller gave; `name` is name_ of a semaphore. */
const char *weir_record_user_name_(const char *name);

/* Returns the object whose name is at `name`; null: there is none. */
static inline const struct rg_object *weir_record_object_(const char *name)
{
	/* relaxed: all; the caller has seen the object's registration. */
	char *base = at_load_relaxed(&weir_registry_->base);
	uintptr_t at = (uintptr_t)name - (uintptr_t)base - RG_OBJECTS_AT;

	return at < RG_OBJECTS * sizeof(struct rg_object) ?
		       (const struct rg_object *)(const void *)
			       (name - offsetof(struct rg_object, name)) :
		       NULL;
}

/*
 * Returns the object whose name is at `name`, and whose waits are those of the
 * semaphore at `sem`; 0 if there is none.  Accesses only the registry.
 */
static inline uint64_t weir_record_named_(const char *name, const void *sem)
{
	const struct rg_object *object = weir_record_object_(name);

	/* relaxed: all; as in weir_record_object_. */
	if (!object || (at_load_relaxed(&object->address) != (uintptr_t)sem &&
			at_load_relaxed(&object->inner[0]) != (uintptr_t)sem &&
			at_load_relaxed(&object->inner[1]) != (uintptr_t)sem))
		return 0;
	/* relaxed: as above. */
	return at_load_relaxed(&object->id);
}

/*
 * Returns the object of a watched semaphore; 0: nothing is recorded.  The
 * member name_ of a watched semaphore points to the name in its object.
 * Requires: *sem exists.
 */
static inline uint64_t weir_record_of_(const weir_sem *sem)
{
	/* relaxed: all; the name changes at init only. */
	const struct rg_object *object =
		weir_record_object_(at_load_relaxed(&sem->name_));

	return object && at_load_relaxed(&object->address) == (uintptr_t)sem &&
	       !(at_load_relaxed(&object->flags) & RG_PATTERN) ?
		       at_load_relaxed(&object->id) : 0;
}

/*
 * Returns the object whose waits are those of the semaphore: as weir_record_of_,
 * and also the object of a pattern.  Requires: *sem exists.
 */
static inline uint64_t weir_record_waits_of_(const weir_sem *sem)
{
	/* relaxed: it changes at init only. */
	return weir_record_named_(at_load_relaxed(&sem->name_), sem);
}

/*
 * Watch an object, if WEIR_DIAG does not forbid it.  `asked`: watch it even if
 * it has no name.  Returns its name in the registry, which becomes name_ of the
 * semaphore; null if it is not watched.
 */
const char *weir_record_add_(const struct weir_watched_ *what, bool asked);
void weir_record_remove_(uint64_t id);

void weir_record_capacity_(uint64_t id, int64_t capacity);
void weir_record_closed_(uint64_t id);
void weir_record_type_(uint64_t id, enum rg_type type);

/*
 * The waits on the semaphore are those of the object, too: inner[1].  Requires: no
 * other thread can reach the object yet.  The caller sets name_ of the semaphore.
 */
void weir_record_second_(uint64_t id, const void *sem);

/*
 * An object of a pattern has no pointer to its name in the registry; it keeps the
 * number of its record.  weir_record_number_ returns it for the result of
 * weir_record_add_.  weir_record_numbered_ returns the object; 0: it is not
 * watched in this process.
 */
uint32_t weir_record_number_(const char *name);
uint64_t weir_record_numbered_(uint32_t number, const void *address);

/*
 * weir_record_begin_ and weir_record_end_ enclose a call of a pattern on a
 * watched object.  `site` is the call site that is recorded for its acquires
 * and waits: the call in the program, not the calls of the semaphore in the
 * pattern.  weir_record_sent_ and weir_record_received_ record that this thread
 * has sent or received n items of a channel; `waited`: the call is counted as
 * one that waited.  weir_record_acquired_ records the outcome of a call that
 * acquires n permits; `may_wait` as in weir_take_recorded_.
 */
void weir_record_begin_(uint64_t site);
void weir_record_sent_(uint64_t id, int64_t n, bool waited);
void weir_record_received_(uint64_t id, int64_t n);
void weir_record_acquired_(uint64_t id, weir_err err, int64_t n, uint64_t site,
			   bool may_wait);

static inline void weir_record_end_(void)
{
	weir_mine_.outer = 0;
}

/* Returns true if a wait of this thread has ended since weir_record_begin_. */
static inline bool weir_record_waited_(void)
{
	return weir_mine_.waited;
}

/*
 * Record that this thread took or returned n permits of `object`, called at
 * `site`.  weir_record_gave_ comes after the CAS that returned the permits,
 * when the semaphore may not exist any more.  All do nothing if object or n is
 * 0.  weir_record_took_queued_ is for a call that waited: it is not counted as
 * immediate.  weir_record_tried_ is for a call that never waits: it adds no
 * edge to the graph of lockorder.h.
 */
void weir_record_took_(uint64_t id, int64_t n, uint64_t site);
void weir_record_tried_(uint64_t id, int64_t n, uint64_t site);
void weir_record_took_queued_(uint64_t id, int64_t n, uint64_t site);
void weir_record_gave_(uint64_t id, int64_t n, uint64_t site);

/* As weir_record_gave_, for permits that were forgotten, not released. */
void weir_record_forgot_(uint64_t id, int64_t n);

/* Count an acquire that has failed. */
void weir_record_failed_(uint64_t id, weir_err err);

/*
 * Count a call that was refused with an error because it is a misuse of an
 * object that exists.  Async-signal-safe.
 */
void weir_record_misused_(uint64_t id, enum rg_misuse misuse);

/*
 * A wait.  weir_record_call_ stores the call site of the calling thread's next
 * wait.  weir_record_wait_ is called with the semaphore locked, just before the
 * waiter joins a list.  It returns the number of the wait, 0 if it is not
 * recorded.  weir_record_end_wait_ is called with the outcome; if that is
 * WEIR_OK, then the calling thread has taken n permits.  weir_record_drop_wait_
 * is called instead if another member of an any-of request was granted.  When
 * all members of the request have ended, weir_record_end_any_ is called with
 * its context.
 */
void weir_record_call_(uint64_t site);
uint32_t weir_record_wait_(uint64_t id, const struct weir_request_ *request);
void weir_record_end_wait_(uint64_t id, const void *op, uint32_t number,
			   weir_err err, int64_t n);
void weir_record_drop_wait_(uint32_t number);
void weir_record_end_any_(uint32_t context);

/*
 * weir_record_away_ and weir_record_back_ enclose a wait of the calling thread for a
 * semaphore between processes.  Its name is stored in the context of the thread, if
 * it has one.
 */
void weir_record_away_(const char *name);
void weir_record_back_(void);

/*
 * The wait was granted, and its call has not returned yet.  Called with the
 * semaphore locked.  Async-signal-safe.
 */
void weir_record_granted_(const void *op, uint32_t number);

/*
 * This member of an any-of request cannot be granted any more; the request goes on.
 * The semaphore may not exist any more.
 */
void weir_record_refused_(uint32_t number);

/*
 * A resize has moved the wait to the end of the queue, or of the oversized list.
 * Called with the semaphore locked.
 */
void weir_record_rejoined_(const void *op, uint32_t number, bool oversized);

/*
 * A permit object.  weir_record_slot_ returns the slot in which this thread has
 * recorded its last acquire of the object; 0: none.  weir_record_take_over_
 * moves n permits from the slot to the calling thread, if the slot belongs to
 * another thread, and returns the slot that has them now.  weir_record_move_
 * returns the number for a permit object that may belong to another thread from
 * now on; the object counts it until weir_record_take_over_ is called with this
 * number.  weir_record_join_ moves n permits of this thread from one of its slots to
 * another one.  weir_record_moved_ marks the object for ever.
 */
uint32_t weir_record_slot_(uint64_t id);
uint32_t weir_record_take_over_(uint64_t id, uint32_t number, int64_t n);
uint32_t weir_record_move_(uint64_t id, uint32_t number);
void weir_record_join_(uint64_t id, uint32_t to, uint32_t from, int64_t n);
void weir_record_moved_(uint64_t id);

/*
 * weir_record_lend_ is called when another thread may release permits of this one,
 * and weir_record_end_lend_ when that is over.  The permits exist meanwhile.
 * weir_record_self_ returns the context of the calling thread; 0: none.
 */
void weir_record_lend_(uint64_t id);
void weir_record_end_lend_(uint64_t id);
uint64_t weir_record_self_(void);

#else /* WEIR_NO_RECORD */

#define weir_record_user_name_(name) (name)
#define weir_record_named_(name, address) ((void)(name), (void)(address), UINT64_C(0))
#define weir_record_of_(sem) ((void)(sem), UINT64_C(0))
#define weir_record_waits_of_(sem) ((void)(sem), UINT64_C(0))
#define weir_record_type_(object, type) ((void)(object), (void)(type))
#define weir_record_second_(object, sem) ((void)(object), (void)(sem))
#define weir_record_number_(name) ((void)(name), UINT32_C(0))
#define weir_record_numbered_(number, address)                                 \
	((void)(number), (void)(address), UINT64_C(0))
#define weir_record_begin_(site) ((void)(site))
#define weir_record_end_() ((void)0)
#define weir_record_sent_(object, n, waited)                                   \
	((void)(object), (void)(n), (void)(waited))
#define weir_record_received_(object, n) ((void)(object), (void)(n))
#define weir_record_acquired_(object, err, n, site, may_wait)                  \
	((void)(object), (void)(err), (void)(n), (void)(site),                 \
	 (void)(may_wait))
#define weir_record_waited_() false
#define weir_record_add_(what, asked) ((void)(what), (void)(asked), (const char *)0)
#define weir_record_remove_(object) ((void)(object))
#define weir_record_capacity_(object, capacity) ((void)(object), (void)(capacity))
#define weir_record_closed_(object) ((void)(object))
#define weir_record_took_(object, n, site) ((void)(object), (void)(n), (void)(site))
#define weir_record_tried_(object, n, site) ((void)(object), (void)(n), (void)(site))
#define weir_record_gave_(object, n, site) ((void)(object), (void)(n), (void)(site))
#define weir_record_forgot_(object, n) ((void)(object), (void)(n))
#define weir_record_failed_(object, err) ((void)(object), (void)(err))
#define weir_record_misused_(object, misuse) ((void)(object), (void)(misuse))
#define weir_record_call_(site) ((void)(site))
#define weir_record_wait_(object, request)                                     \
	((void)(object), (void)(request), UINT32_C(0))
#define weir_record_away_(name) ((void)(name))
#define weir_record_back_() ((void)0)
#define weir_record_drop_wait_(wait) ((void)(wait))
#define weir_record_end_any_(context) ((void)(context))
#define weir_record_end_wait_(object, op, wait, err, n)                        \
	((void)(object), (void)(op), (void)(wait), (void)(err), (void)(n))
#define weir_record_granted_(op, wait) ((void)(op), (void)(wait))
#define weir_record_refused_(wait) ((void)(wait))
#define weir_record_rejoined_(op, wait, oversized)                             \
	((void)(op), (void)(wait), (void)(oversized))
#define weir_record_slot_(object) ((void)(object), UINT32_C(0))
#define weir_record_take_over_(object, slot, n)                                \
	((void)(object), (void)(n), (slot))
#define weir_record_move_(object, slot) ((void)(object), (slot))
#define weir_record_join_(object, to, from, n)                                 \
	((void)(object), (void)(to), (void)(from), (void)(n))
#define weir_record_moved_(object) ((void)(object))
#define weir_record_lend_(object) ((void)(object))
#define weir_record_end_lend_(object) ((void)(object))
#define weir_record_self_() UINT64_C(0)

#endif /* WEIR_NO_RECORD */

#endif /* WEIR_RECORD_RECORD_H */
