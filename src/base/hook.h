/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_HOOK_H
#define WEIR_BASE_HOOK_H

#include <stdint.h>

#include "weir/base.h"

/*
 * What happens on the slow paths, told to whoever listens (diagnostics).  The
 * floors below report through this table and know nothing of the listener.
 *
 * A hook runs on the thread that acts, outside every lock; RELEASED possibly in
 * a signal handler.  Free when unused: the short paths never look here, the
 * slow ones load one pointer.
 */
enum weir_event_kind_ {
	WEIR_EVENT_QUEUED_,	/* began to wait for n */
	WEIR_EVENT_ACQUIRED_,	/* n taken on a slow path; about to return */
	WEIR_EVENT_LEFT_,	/* did not get n on a slow path: err */
	WEIR_EVENT_RELEASED_,	/* n about to be given back on a slow path */
	WEIR_EVENT_RESIZED_,	/* the capacity is now n */
	WEIR_EVENT_CLOSED_
};

struct weir_event_ {
	enum weir_event_kind_ kind;
	weir_err err;
	const void *object;
	const char *name;
	int64_t n;
};

typedef void weir_hook_fn_(const struct weir_event_ *event);

/* Null: nobody listens.  Returns the one before. */
weir_hook_fn_ *weir_hook_set_(weir_hook_fn_ *hook);

void weir_hook_emit_(enum weir_event_kind_ kind, const void *object,
		     const char *name, int64_t n, weir_err err);

#endif /* WEIR_BASE_HOOK_H */
