/* SPDX-License-Identifier: MIT */
#ifndef WEIR_NAMED_CALL_H
#define WEIR_NAMED_CALL_H

#include "core/ctx_wait.h"
#include "named/handle.h"

/* A waiting call, on the caller's stack. */
struct call {
	struct weir_waiter_ w;		/* registered with the context */
	weir_named *h;
	struct nm_record *record;	/* null: not queued */
	uint32_t use;			/* its number of uses: if it differs,
					   the record is not ours any more */
	uint32_t queued;		/* atomic; reference to the record,
					   for `end`; 0: not queued */
	int64_t deadline_ns;
	int64_t min, max;
	int64_t got;			/* taken at once, without a record */
	bool idle;			/* waits for idle */
};

/*
 * Take permits or enqueue the call.  Called with the lock held.  After WEIR_OK
 * the call has a record if it was enqueued.  WEIR_EAGAIN: make room for more
 * records, and retry.
 */
weir_err weir_nm_enqueue_(struct call *call);

/*
 * Change an undecided record to LEFT, or a granted one to REVOKED if `revoke` is
 * set.  Returns false if the record has another state or is used by another
 * call.
 */
bool weir_nm_withdraw_(struct nm_record *record, uint32_t use, bool revoke);

#endif /* WEIR_NAMED_CALL_H */
