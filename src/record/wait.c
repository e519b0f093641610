/* SPDX-License-Identifier: MIT */
/*
 * Recording waits.  The waiter of a thread, or of a member of an any-of
 * request, contains the number of its record.  The record of an operation is
 * found by the address of the operation: ops.h.
 */
#include "base/atomic.h"
#include "base/ticks.h"
#include "record/context.h"
#include "record/late.h"
#include "record/lockorder.h"
#include "record/ops.h"
#include "record/record.h"
#include "record/timeout.h"
#include "record/wait_table.h"

/* Waits that are no acquires of permits of their object. */
#define NO_ACQUIRE (RG_IDLE | RG_ROOM)

/*
 * Called when the wait is granted, or ends without a grant.  Requires: the
 * object exists, or its record is not reused.
 */
static void leave_queue(struct rg_object *object, const struct rg_wait *wait)
{
	/* relaxed: all; `queued` is a sum, the rest is of this wait. */
	if (!(at_load_relaxed(&wait->flags) & (RG_GRANTED | RG_REFUSED)))
		at_sub_relaxed(&object->queued, at_load_relaxed(&wait->min));
}

/* Returns the wait of the operation, or the wait with the number; null: none. */
static struct rg_wait *find(char *base, const void *op, uint32_t number)
{
	if (base && op)
		number = weir_ops_find_(op, base);
	return base && number ? weir_rg_wait_(base, number - 1) : NULL;
}

void weir_record_granted_(const void *op, uint32_t number)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct rg_wait *wait = find(base, op, number);
	struct rg_object *object;

	if (!wait)
		return;
	object = weir_rg_object_(base, wait->object);
	/* relaxed: all; under the lock of the semaphore, for display. */
	if (at_load_relaxed(&object->id) == wait->object)
		leave_queue(object, wait);
	at_store_relaxed(&wait->granted, (uint64_t)weir_ticks_exact_());
	at_store_relaxed(&wait->flags,
			 at_load_relaxed(&wait->flags) | RG_GRANTED);
}

void weir_record_refused_(uint32_t number)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct rg_wait *wait = find(base, NULL, number);
	struct rg_object *object;

	if (!wait)
		return;
	object = weir_late_begin_(base, wait->object);
	if (object) {
		leave_queue(object, wait);
		weir_late_end_(base, object);
	}
	/* relaxed: all; readers compare seq. */
	at_add_relaxed(&wait->seq, 1);
	at_store_relaxed(&wait->flags,
			 at_load_relaxed(&wait->flags) | RG_REFUSED);
	/* relaxed: as above. */
	at_add_relaxed(&wait->seq, 1);
}

void weir_record_rejoined_(const void *op, uint32_t number, bool oversized)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct rg_wait *wait = find(base, op, number);
	struct rg_object *object;
	uint32_t flags;

	if (!wait)
		return;
	object = weir_rg_object_(base, wait->object);
	/*
	 * relaxed: all; under the lock of the semaphore, as in
	 * weir_record_wait_.  A reader compares `seq`, and the place with the
	 * capacity.
	 */
	flags = at_load_relaxed(&wait->flags) & ~RG_OVERSIZED;
	at_add_relaxed(&wait->seq, 1);
	at_store_relaxed(&wait->flags, flags | (oversized ? RG_OVERSIZED : 0));
	/* relaxed: as above. */
	at_store_relaxed(&wait->ticket, object->next_ticket);
	at_store_relaxed(&object->next_ticket, object->next_ticket + 1);
	at_store_relaxed(&wait->released, at_load_relaxed(&object->released));
	/* relaxed: as above. */
	at_store_relaxed(&wait->ahead,
			 at_load_relaxed(&object->queued) - wait->min);
	at_add_relaxed(&wait->seq, 1);
}

/*
 * The context that waits; null: it cannot be recorded.  The first member of an
 * any-of request that is recorded makes the context of the request.
 */
static struct rg_context *waiting_context(char *base,
					  const struct weir_request_ *request)
{
	if (request->context && *request->context)
		return weir_rg_context_(base, *request->context - 1);
	if (request->context || request->op) {
		struct rg_context *context = weir_context_make_(
			base, RG_OPERATION,
			request->op ? request->op : request->any);

		if (context && request->context)
			*request->context =
				(uint32_t)(context->id & 0xffff) + 1;
		return context;
	}
	if (weir_mine_.base != base && !weir_context_enter_(base))
		return NULL;
	return weir_mine_.context;
}

/* The flags of the wait that follow from its object. */
static uint32_t more_flags(const struct rg_object *object,
			   const struct weir_request_ *request)
{
	/* relaxed: all; they change at init only. */
	return (at_load_relaxed(&object->inner[1]) == (uintptr_t)request->sem ?
			at_load_relaxed(&object->type) == RG_GROUP ?
				RG_ROOM : RG_RECEIVES : 0) |
	       (at_load_relaxed(&object->type) == RG_RWLOCK &&
		at_load_relaxed(&object->inner[0]) == (uintptr_t)request->sem ?
			RG_RECALL : 0) |
	       (request->any ? RG_ANY_OF : 0);
}

/* The time until the deadline; 0: none. */
static int64_t limit_of(const struct weir_request_ *request)
{
	int64_t left;

	if (request->deadline_ns == INT64_MAX ||
	    __builtin_sub_overflow(request->deadline_ns, request->now_ns, &left))
		return 0;
	return left > 0 ? left : 0;
}

uint32_t weir_record_wait_(uint64_t id, const struct weir_request_ *request)
{
	const void *op = request->op;
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct rg_context *context;
	struct rg_object *object;
	struct rg_wait *wait;
	uint32_t number, flags;
	int64_t min, max;
	uint64_t ticket;

	if (!id || !base)
		return 0;
	context = waiting_context(base, request);
	if (!context)
		return 0;
	wait = weir_wait_make_(base);
	number = wait ? (uint32_t)(wait - weir_rg_wait_(base, 0)) + 1 : 0;
	if (!wait ||
	    (op && !weir_ops_add_(op, base, number,
				  (uint32_t)(context->id & 0xffff) + 1))) {
		weir_registry_lost_(base);
		if (wait)
			weir_wait_free_(wait);
		if (op)
			weir_context_free_(base, context);
		return 0;
	}
	object = weir_rg_object_(base, id);
	flags = request->flags | more_flags(object, request);
	min = flags & RG_ROOM ? 0 : request->min;
	max = flags & RG_ROOM ? 0 : request->max;
	/*
	 * relaxed: all; the state publishes them.  The caller holds the lock of
	 * the semaphore, which guards the tickets.
	 */
	ticket = at_load_relaxed(&object->next_ticket);
	at_store_relaxed(&object->next_ticket, ticket + 1);
	at_store_relaxed(&wait->context, context->id);
	at_store_relaxed(&wait->object, id);
	/* relaxed: as above. */
	at_store_relaxed(&wait->min, min);
	at_store_relaxed(&wait->max, max);
	/* relaxed: as above. */
	at_store_relaxed(&wait->site, weir_mine_.site);
	at_store_relaxed(&wait->since, (uint64_t)weir_ticks_exact_());
	at_store_relaxed(&wait->deadline_ns, request->deadline_ns);
	at_store_relaxed(&wait->limit_ns, limit_of(request));
	at_store_relaxed(&wait->ticket, ticket);
	/* relaxed: as above. */
	at_store_relaxed(&wait->flags, flags);
	at_store_relaxed(&wait->granted, 0);
	at_store_relaxed(&wait->released, at_load_relaxed(&object->released));
	at_store_relaxed(&wait->ahead,
			 at_add_relaxed(&object->queued, min));
	/* relaxed: as above. */
	at_add_relaxed(&wait->seq, 2);
	/* [D1] release */
	at_store_release(&wait->state, RG_LIVE);
	return number;
}

/* Count a wait that has ended. */
static void count(struct rg_object *object, const struct rg_wait *wait)
{
	uint64_t ticks = (uint64_t)weir_ticks_exact_() - wait->since;

	/* relaxed: both; counts. */
	at_add_relaxed(&object->waits[weir_registry_bucket_(ticks)], 1);
	at_add_relaxed(&object->wait_ticks, ticks);
}

/*
 * Free the record of a wait that ends, and count it if it has an outcome.  Returns its
 * object, whose record is not reused until weir_late_end_; null: the object does not
 * exist any more.
 */
static struct rg_object *end(char *base, uint32_t number, bool has_outcome)
{
	struct rg_wait *wait = weir_rg_wait_(base, number - 1);
	struct rg_object *object = weir_late_begin_(base, wait->object);

	if (object) {
		leave_queue(object, wait);
		/* relaxed: it is of this wait. */
		if (has_outcome &&
		    !(at_load_relaxed(&wait->flags) & NO_ACQUIRE))
			count(object, wait);
	}
	weir_wait_free_(wait);
	return object;
}

void weir_record_drop_wait_(uint32_t number)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct rg_object *object =
		base && number ? end(base, number, false) : NULL;

	if (object)
		weir_late_end_(base, object);
}

void weir_record_end_any_(uint32_t context)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);

	if (base && context)
		weir_context_free_(base, weir_rg_context_(base, context - 1));
}

/*
 * Count the outcome of an acquire, and record its permits.  The calls of a
 * pattern do both themselves.
 */
static void record_outcome(struct rg_object *object, uint64_t id, bool waited,
			   weir_err err, int64_t n, uint64_t site)
{
	/* relaxed: it never changes. */
	if (at_load_relaxed(&object->flags) & RG_PATTERN)
		return;
	if (err) {
		weir_record_failed_(id, err);
	} else if (waited) {
		/* relaxed: a count. */
		at_add_relaxed(&object->acquires[RG_QUEUED], 1);
		weir_record_took_queued_(id, n, site);
	} else {
		weir_record_took_(id, n, site);
	}
}

/* Examine the lock order of a wait.  An any-of request makes no order. */
static void examine_order(char *base, uint64_t id, uint32_t flags,
			  int64_t wanted, uint64_t site)
{
	/* relaxed: weir_order_request_ loads it again. */
	if (!(flags & RG_ANY_OF) && at_load_relaxed(&weir_registry_->order))
		weir_order_request_(base, id, wanted, site, false);
}

void weir_record_end_wait_(uint64_t id, const void *op, uint32_t number,
			   weir_err err, int64_t n)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	uint64_t site = weir_mine_.site;
	uint32_t context = 0, flags = 0;
	struct rg_object *object;
	int64_t wanted = n;

	if (!base || (!id && !number && !op))
		return;
	if (op)
		number = weir_ops_remove_(op, base, &context);
	if (number) {
		const struct rg_wait *wait = weir_rg_wait_(base, number - 1);

		site = wait->site;
		wanted = wait->min;
		flags = wait->flags;
		if (err == WEIR_ETIMEDOUT)
			weir_diag_timed_out_(wait->object, number - 1);
		/*
		 * For a member of an any-of request, the caller passes no
		 * object.
		 */
		id = wait->object;
		object = end(base, number, true);
		/* The callback of an operation runs on a thread that did not wait. */
		if (!op && !(flags & RG_ANY_OF))
			weir_mine_.waited = true;
	} else {
		object = weir_late_begin_(base, id);
	}
	if (context)
		weir_context_free_(base, weir_rg_context_(base, context - 1));
	else if (object && number && !(flags & (RG_RECALL | RG_ROOM)))
		examine_order(base, id, flags, wanted, site);
	if (!object)
		return;
	/* A recalled reader does not have its permit yet. */
	if (!(flags & NO_ACQUIRE) && (err || !(flags & RG_RECALL)))
		record_outcome(object, id, number, err, n, site);
	weir_late_end_(base, object);
}
