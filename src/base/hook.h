/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_HOOK_H
#define WEIR_BASE_HOOK_H

#include <stdint.h>

#include "weir/base.h"

/*
 * Events on the slow paths, reported to a hook (diagnostics).  The lower floors
 * report through this table and do not depend on the code behind the hook.
 *
 * The hook runs on the thread that causes the event, with no lock held; for
 * RELEASED it may run in a signal handler.  An unset hook costs nothing on the
 * fast paths, which emit no events, and one load on the slow paths.
 */
enum weir_event_kind_ {
	WEIR_EVENT_QUEUED_,	/* began to wait for n permits */
	WEIR_EVENT_ACQUIRED_,	/* took n permits; the call will return */
	WEIR_EVENT_LEFT_,	/* failed to take n permits: err */
	WEIR_EVENT_RELEASED_,	/* n permits will be released */
	WEIR_EVENT_RESIZED_,	/* the capacity is now n */
	WEIR_EVENT_CLOSED_,
	WEIR_EVENT_FOUND_	/* the watchdog has a finding: verdict n */
};

struct weir_event_ {
	enum weir_event_kind_ kind;
	weir_err err;
	const void *object;
	const char *name;
	int64_t n;
};

typedef void weir_hook_fn_(const struct weir_event_ *event);

/* Set the hook; null: none.  Returns the previous hook. */
weir_hook_fn_ *weir_hook_set_(weir_hook_fn_ *hook);

/* Set the recorder, which gets every event before the hook does. */
void weir_hook_set_recorder_(weir_hook_fn_ *record);

void weir_hook_emit_(enum weir_event_kind_ kind, const void *object,
		     const char *name, int64_t n, weir_err err);

/*
 * The hook must not run while this thread holds a lock.  A pattern that calls a
 * semaphore under its lock holds the event back and delivers it afterwards:
 *
 *     weir_hook_hold_(&held);
 *     weir_lock_(&pool->lock_);
 *     ...                              a call that emits at most one event
 *     weir_unlock_(&pool->lock_);
 *     weir_hook_deliver_(&held);
 *
 * The recorder and the probes get the event at once.  If a signal handler releases
 * permits in between, one of the two events does not reach the hook.
 */
struct weir_held_event_ {
	struct weir_event_ event;
	weir_hook_fn_ *hook;	/* when the event occurred; null: no event */
};

void weir_hook_hold_(struct weir_held_event_ *held);
void weir_hook_deliver_(const struct weir_held_event_ *held);

#endif /* WEIR_BASE_HOOK_H */
