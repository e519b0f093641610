/* SPDX-License-Identifier: MIT */
/* Calls of user code that may not return: frame.h. */
#include "base/frame.h"

#include "base/panic.h"
#include "base/thread.h"
#include "base/tls.h"

#define MARK ((uintptr_t)0x6672616d65)

static _Thread_local struct {
	struct weir_frame_ *top;	/* null: none */
	const char *call;		/* of top, with its object and place */
	const void *object;
	const void *at;
	uintptr_t low, high;		/* the thread's stack; 0: unknown */
} mine WEIR_TLS_READY_;

static void set_top(struct weir_frame_ *frame)
{
	mine.top = frame;
	if (!frame)
		return;
	mine.call = frame->call;
	mine.object = frame->object;
	mine.at = frame->at;
}

#ifdef __GLIBC__
static void register_cleanup(struct weir_frame_ *frame)
{
	(void)frame;
}

static void unregister_cleanup(struct weir_frame_ *frame)
{
	(void)frame;
}
#else
static void thread_ends(void *frame)
{
	weir_frame_end_(frame);
}

static void register_cleanup(struct weir_frame_ *frame)
{
	_pthread_cleanup_push(&frame->cleanup, thread_ends, frame);
}

static void unregister_cleanup(struct weir_frame_ *frame)
{
	_pthread_cleanup_pop(&frame->cleanup, 0);
}
#endif

void weir_frame_enter_at_(struct weir_frame_ *frame, const char *call,
			  const void *object, void (*left)(void *arg),
			  void *arg, const void *at)
{
	frame->outer = mine.top;
	frame->call = call;
	frame->object = object;
	frame->left = left;
	frame->arg = arg;
	frame->at = at;
	frame->mark = (uintptr_t)frame ^ MARK;
	frame->entered = true;
	set_top(frame);
	register_cleanup(frame);
}

void weir_frame_set_object_(struct weir_frame_ *frame, const void *object)
{
	frame->object = object;
	if (mine.top == frame)
		mine.object = object;
}

/*
 * The frame is not the innermost one if coroutines interleave two callbacks.
 */
void weir_frame_leave_(struct weir_frame_ *frame)
{
	unregister_cleanup(frame);
	frame->entered = false;
	frame->mark = 0;
	if (mine.top == frame) {
		set_top(frame->outer);
		return;
	}
	for (struct weir_frame_ *f = mine.top; f; f = f->outer)
		if (f->outer == frame)
			f->outer = frame->outer;
}

void weir_frame_end_(struct weir_frame_ *frame)
{
	if (!frame->entered)
		return;
	weir_frame_leave_(frame);
	frame->left(frame->arg);
}

/* Returns true if the address lies on the stack that this thread began on. */
static bool is_on_own_stack(const void *at)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	if (!mine.high && !pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &low, &size)) {
			mine.low = (uintptr_t)low;
			mine.high = (uintptr_t)low + size;
		}
		pthread_attr_destroy(&attr);
	}
	return (uintptr_t)at >= mine.low && (uintptr_t)at < mine.high;
}

/* Stacks grow downwards.  Requires: there is a frame. */
static bool is_left_behind(const void *at)
{
	if ((uintptr_t)at >= (uintptr_t)mine.at && is_on_own_stack(at) &&
	    is_on_own_stack(mine.at))
		return true;
	return mine.top->mark != ((uintptr_t)mine.top ^ MARK);
}

weir_err weir_frame_check_at_(const char *call, const void *at)
{
	weir_err err;

	if (!mine.top || !is_left_behind(at))
		return WEIR_OK;
	err = weir_panic_("%s: an earlier callback of %s (%p) on this thread "
			  "did not return: it was left by longjmp", call,
			  mine.call, mine.object);
	set_top(NULL);
	weir_thread_to_run_()->running = false;
	return err;
}
