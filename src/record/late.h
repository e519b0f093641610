/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_LATE_H
#define WEIR_RECORD_LATE_H

/*
 * Late writers of an object.
 *
 * A thread records a release after the CAS that returned the permits.  By then
 * another thread may have acquired them, destroyed the semaphore and
 * initialised another one, which may have the same record (C22).  The id of the
 * record shows that, but the record may also be reused between the comparison
 * of the ids and the write.  So `late` of a record counts its writers, and a
 * record is not reused while `late` is not 0.
 *
 *     writer                          thread that reuses the record
 *
 *     late += 1                       id = 0 (make_unused)
 *     compare the id                  read `late` by an RMW (is_late)
 *     write                           if it is 0: fill in the record
 *     late -= 1
 *
 * The accesses to `late` are atomic read-modify-writes, so they have an order.
 * If the increment follows the read, then the writer finds another id.  If the
 * decrement precedes the read, then the writes precede those of the next user.
 * Otherwise the read returns more than 0, and another record is used.
 *
 * A writer whose object has ended may increment `late` of a record that is in
 * use again, so `late` is never reset.
 *
 * Pairs
 *
 *   [D9] reuse  release: is_late, weir_late_end_
 *               acquire: weir_late_begin_, is_late
 *               A writer finds the id of the next user, or the next user
 *               overwrites what the writer has written.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "record/layout.h"
#include "record/registry.h"

static inline void weir_late_end_(const char *base, struct rg_object *object)
{
	/*
	 * relaxed: a signal handler that interrupted the writer may have
	 * forked.  The child has another base, and does not write the registry
	 * of its parent.
	 */
	if (at_load_relaxed(&weir_registry_->base) == base)
		/* [D9] release */
		at_sub_release(&object->late, 1);
}

/*
 * Returns the object with this id, whose record is not reused until
 * weir_late_end_ is called; null: the object does not exist any more.
 */
static inline struct rg_object *weir_late_begin_(char *base, uint64_t id)
{
	struct rg_object *object = weir_rg_object_(base, id);

	/* relaxed: compared again below. */
	if (!id || at_load_relaxed(&object->id) != id)
		return NULL;
	/* [D9] acquire */
	at_add_acq_rel(&object->late, 1);
	/* relaxed: [D9] orders it. */
	if (at_load_relaxed(&object->id) == id)
		return object;
	weir_late_end_(base, object);
	return NULL;
}

#endif /* WEIR_RECORD_LATE_H */
