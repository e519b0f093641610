/* SPDX-License-Identifier: MIT */
/*
 * The ring of the last events, and the public event hook.  The events come from
 * the slow paths, through base/hook.h.
 *
 * Pairs
 *
 *   [D3] hook  release: weir_diag_set_hook   acquire: pass_on
 *              A call of the hook sees the writes that preceded its setting.
 */
#include "record/event.h"

#include <stddef.h>

#include "base/atomic.h"
#include "base/frame.h"
#include "base/hook.h"
#include "base/panic.h"
#include "base/thread.h"
#include "base/ticks.h"
#include "record/context.h"
#include "record/record.h"
#include "weir/diag.h"

void weir_record_event_(uint64_t id, uint32_t kind, int64_t n, weir_err err)
{
	/* relaxed: as in weir_record_object_. */
	char *base = at_load_relaxed(&weir_registry_->base);
	struct weir_self_ *my = &weir_mine_;
	struct rg_event *event;
	uint64_t number;

	if (!id || !base)
		return;
	/*
	 * relaxed: all but the last store; a reader checks the number before
	 * and after it copies the event.
	 */
	number = at_add_relaxed(&weir_rg_header_(base)->next_event, 1) + 1;
	event = (struct rg_event *)(void *)(base + RG_EVENTS_AT) +
		(number - 1) % RG_EVENTS;
	at_store_relaxed(&event->number, 0);
	/* relaxed: as above.  A release ends a hold, which began in inexact ticks. */
	at_store_relaxed(&event->ticks,
			 (uint64_t)(kind == WEIR_EVENT_RELEASED_ ?
				    weir_ticks_() : weir_ticks_exact_()));
	at_store_relaxed(&event->object, id);
	/* relaxed: as above. */
	at_store_relaxed(&event->context,
			 my->base == base && my->context ? my->context->id : 0);
	at_store_relaxed(&event->n, n);
	at_store_relaxed(&event->site, my->base == base ? my->site : 0);
	/* relaxed: as above. */
	at_store_relaxed(&event->kind, kind);
	at_store_relaxed(&event->err, (uint32_t)err);
	/* [D1] release */
	at_store_release(&event->number, number);
}

void weir_record_heard_(const struct weir_event_ *event)
{
	uint64_t id = weir_record_named_(event->name, event->object);
	struct rg_object *object;

	if (!id)
		return;
	object = weir_rg_object_(weir_registry_->base, id);
	/*
	 * relaxed: all; they change at init only.  A semaphore that an object
	 * without RG_PATTERN has besides has no permits of the object.
	 */
	if (event->kind == WEIR_EVENT_RELEASED_ &&
	    (at_load_relaxed(&object->flags) & RG_PATTERN ||
	     at_load_relaxed(&object->address) == (uintptr_t)event->object)) {
		/* relaxed: both; for display. */
		at_store_relaxed(&object->last_release,
				 (uint64_t)weir_ticks_());
		at_add_relaxed(&object->released, (uint64_t)event->n);
	}
	weir_record_event_(id, event->kind, event->n, event->err);
}

/* The hook of the program. */
static weir_diag_hook_fn *public_hook;

/* The call that reported the event is half done: it may lose its permits. */
static void hook_left(void *cancel)
{
	weir_thread_cancel_reset_(*(const int *)cancel);
	(void)weir_panic_("the event hook (weir_diag_set_hook) did not return: "
			  "it threw an exception or called pthread_exit");
}

static void pass_on(const struct weir_event_ *event)
{
	/* [D3] acquire */
	weir_diag_hook_fn *hook = at_load_acquire(&public_hook);
	/* The end of the frame reads it, so it is declared before the frame. */
	int cancel;
	struct weir_frame_ frame WEIR_FRAME_;
	weir_diag_event copy = {
		.kind = (weir_diag_kind)event->kind,
		.err = event->err,
		.object = event->object,
		.name = event->name && *event->name ? event->name : NULL,
		.n = event->n,
	};

	if (!hook)
		return;
	/* The hook may contain a thread-cancellation point; the call is none. */
	cancel = weir_thread_cancel_off_();
	weir_frame_enter_(&frame, "the event hook", event->object, hook_left,
			  &cancel);
	hook(&copy);
	weir_frame_leave_(&frame);
	weir_thread_cancel_reset_(cancel);
}

weir_diag_hook_fn *weir_diag_set_hook(weir_diag_hook_fn *hook)
{
	/* relaxed: a first guess, the CAS checks it. */
	weir_diag_hook_fn *before = at_load_relaxed(&public_hook);

	/* [D3] release */
	while (!at_cas_weak_acq_rel(&public_hook, &before, hook))
		;
	(void)weir_hook_set_(hook ? pass_on : NULL);
	return before;
}
