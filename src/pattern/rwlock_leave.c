/* SPDX-License-Identifier: MIT */
/*
 * Leaving a reader-writer lock, and changing the role inside.
 *
 * The lock does not record which threads are inside.  But the number of free
 * permits of inside_ shows whether a reader or a writer is inside.  The number
 * that a caller reads is not older than its own entry.
 *
 *   0          a writer is inside, and no reader.  (There are fewer readers
 *              than permits: weir/rwlock.h.)
 *   1..ALL-1   readers are inside, and no writer
 *   ALL        no thread is inside
 *
 * A call in the wrong role panics.  One misuse cannot be detected: a reader
 * that leaves twice while other readers are inside.
 */
#include "pattern/rwlock.h"

#include "base/panic.h"
#include "core/sem_word.h"
#include "core/site.h"

/* The fast path, as in rwlock.c. */
static inline bool leave_fast(weir_rwlock *rw, int64_t n)
{
	uint64_t word;

	return weir_is_ready_(rw) && rw->prefer_ != WEIR_RW_WRITERS &&
	       weir_put_fast_(&rw->inside_, n, &word);
}

static weir_err refuse(const weir_rwlock *rw, const char *call,
		       const char *reason)
{
	return weir_panic_("%s: rwlock %o %s", call, rw->name_, rw, reason);
}

/* Not inlined, so that the fast paths of the callers need no stack frame. */
static __attribute__((noinline)) void read_done_slow(weir_rwlock *rw)
{
	static const char call[] = "weir_rwlock_read_done";

	if (weir_rwlock_check_(rw, call, WEIR_BY_PANIC_))
		return;
	if (!weir_sem_available(&rw->inside_))
		(void)refuse(rw, call, "has a writer and no reader");
	else if (weir_sem_try_release(&rw->inside_, 1))
		(void)refuse(rw, call, "has no reader");
}

static __attribute__((noinline)) void write_done_slow(weir_rwlock *rw)
{
	static const char call[] = "weir_rwlock_write_done";

	if (weir_rwlock_check_(rw, call, WEIR_BY_PANIC_))
		return;
	if (weir_sem_try_release(&rw->inside_, ALL))
		(void)refuse(rw, call, "has no writer");
	else
		weir_rwlock_remove_writer_(rw);
}

void weir_rwlock_read_done(weir_rwlock *rw)
{
	/* relaxed: not older than the caller's own entry; see above. */
	if (!weir_is_ready_(rw) ||
	    weir_value_(at_load_relaxed(&rw->inside_.word_)) <= 0 ||
	    !leave_fast(rw, 1))
		read_done_slow(rw);
}

void weir_rwlock_write_done(weir_rwlock *rw)
{
	if (!leave_fast(rw, ALL))
		write_done_slow(rw);
}

weir_err weir_rwlock_try_upgrade(weir_rwlock *rw)
{
	static const char call[] = "weir_rwlock_try_upgrade";
	weir_err err = weir_rwlock_check_(rw, call, WEIR_BY_ERROR_);

	if (!err) {
		bool watched = weir_site_begin_(&rw->inside_, WEIR_SITE_);

		err = weir_sem_try_acquire(&rw->inside_, ALL - 1);
		weir_site_end_(watched);
	}
	if (err == WEIR_EAGAIN && !weir_sem_available(&rw->inside_))
		return refuse(rw, call, "has a writer and no reader");
	if (err)
		return err;
	/*
	 * The caller must hold the last permit.  If that permit is free, no
	 * reader is inside.
	 */
	if (weir_sem_available(&rw->inside_)) {
		weir_sem_release(&rw->inside_, ALL - 1);
		return refuse(rw, call, "has no reader");
	}
	weir_rwlock_add_writer_(rw);
	return WEIR_OK;
}

void weir_rwlock_downgrade(weir_rwlock *rw)
{
	static const char call[] = "weir_rwlock_downgrade";

	if (weir_rwlock_check_(rw, call, WEIR_BY_PANIC_))
		return;
	if (weir_sem_try_release(&rw->inside_, ALL - 1))
		(void)refuse(rw, call, "has no writer");
	else
		weir_rwlock_remove_writer_(rw);
}
