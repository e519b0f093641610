/* SPDX-License-Identifier: MIT */
/*
 * The hook table; hook.h describes it.
 *
 * Pairs
 *
 *   [K1] hook  release: weir_hook_set_, weir_hook_set_recorder_
 *              acquire: weir_hook_emit_
 *              A call of the hook sees the writes that preceded its setting.
 */
#include "base/hook.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/probe.h"
#include "base/thread.h"

static weir_hook_fn_ *listener, *recorder;

weir_hook_fn_ *weir_hook_set_(weir_hook_fn_ *hook)
{
	/* relaxed: a first guess, the CAS checks it. */
	weir_hook_fn_ *before = at_load_relaxed(&listener);

	/* [K1] release */
	while (!at_cas_weak_acq_rel(&listener, &before, hook))
		;
	return before;
}

void weir_hook_set_recorder_(weir_hook_fn_ *record)
{
	/* [K1] release */
	at_store_release(&recorder, record);
}

/* Each event of a call is a probe: object, name, n, err. */
static inline void probe(enum weir_event_kind_ kind, const void *object,
			 const char *name, int64_t n, weir_err err)
{
	switch (kind) {
	case WEIR_EVENT_QUEUED_:
		probe4(queued, object, name, n, err);
		break;
	case WEIR_EVENT_ACQUIRED_:
		probe4(acquired, object, name, n, err);
		break;
	case WEIR_EVENT_LEFT_:
		probe4(left, object, name, n, err);
		break;
	case WEIR_EVENT_RELEASED_:
		probe4(released, object, name, n, err);
		break;
	case WEIR_EVENT_RESIZED_:
		probe4(resized, object, name, n, err);
		break;
	case WEIR_EVENT_CLOSED_:
		probe4(closed, object, name, n, err);
		break;
	case WEIR_EVENT_FOUND_:
		break;
	}
}

static void call(weir_hook_fn_ *hook, const struct weir_event_ *event)
{
	struct weir_held_event_ *held = weir_thread_to_run_()->held;

	if (held)
		*held = (struct weir_held_event_){ *event, hook };
	else
		hook(event);
}

/* Not inlined, so that an event without a hook needs no stack frame. */
__attribute__((noinline))
static void report(weir_hook_fn_ *record, weir_hook_fn_ *hook,
		   const struct weir_event_ event)
{
	if (record)
		record(&event);
	if (hook)
		call(hook, &event);
}

void weir_hook_emit_(enum weir_event_kind_ kind, const void *object,
		     const char *name, int64_t n, weir_err err)
{
	/* [K1] acquire: both. */
	weir_hook_fn_ *record = at_load_acquire(&recorder);
	weir_hook_fn_ *hook = at_load_acquire(&listener);

	probe(kind, object, name, n, err);
	if (record || hook)
		report(record, hook, (struct weir_event_){ kind, err, object,
							   name, n });
}

void weir_hook_hold_(struct weir_held_event_ *held)
{
	held->hook = NULL;
	weir_thread_to_run_()->held = held;
}

void weir_hook_deliver_(const struct weir_held_event_ *held)
{
	weir_thread_to_run_()->held = NULL;
	if (held->hook)
		held->hook(&held->event);
}
