/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_FRAME_H
#define WEIR_BASE_FRAME_H

#include <limits.h>	/* defines __GLIBC__ on glibc */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"

/*
 * A frame: a call of user code (a callback) that may not return.
 *
 *     struct weir_frame_ frame WEIR_FRAME_;
 *
 *     weir_frame_enter_(&frame, "weir_loop_dispatch", loop, left, arg);
 *     callback();
 *     weir_frame_leave_(&frame);
 *
 * If an exception, pthread_exit or pthread_cancel unwinds the frame, then
 * left(arg) is called and the unwinding continues.  If arg points to a local
 * variable, then the variable is declared before the frame.  The library is
 * compiled with -fexceptions for this purpose.  musl ends a thread without
 * unwinding; there the frame is also registered as a cleanup handler of the
 * thread.
 *
 * A longjmp skips the frame.  It is detected later, by weir_frame_check_: a
 * frame is left behind if its stack memory has been overwritten (`mark`), or if
 * the check runs further up the same stack.  The second condition is checked
 * only on the stack of the thread itself.  A callback may resume a coroutine on
 * a stack of its own, which may have any address.  A check that runs deeper
 * than the frame, in a program that has not overwritten the mark, detects
 * nothing; the next check may.
 *
 * The frames of a thread form a list, the innermost first.  The head of the
 * list, and the members of the first frame that a message needs, are in
 * thread-local memory, because a frame that was left behind may have been
 * overwritten.
 */
struct weir_frame_ {
	struct weir_frame_ *outer;
	const char *call;
	const void *object;
	const void *at;			/* address of its function's frame */
	uintptr_t mark;			/* depends on its own address */
	void (*left)(void *arg);
	void *arg;
	bool entered;
#ifndef __GLIBC__
	struct __ptcb cleanup;
#endif
};

#define WEIR_FRAME_ __attribute__((cleanup(weir_frame_end_))) = { 0 }

#define weir_frame_enter_(frame, call, object, left, arg)                      \
	weir_frame_enter_at_((frame), (call), (object), (left), (arg),         \
			     __builtin_frame_address(0))

void weir_frame_enter_at_(struct weir_frame_ *frame, const char *call,
			  const void *object, void (*left)(void *arg),
			  void *arg, const void *at);
void weir_frame_leave_(struct weir_frame_ *frame);

/* Set the object of an entered frame, for messages. */
void weir_frame_set_object_(struct weir_frame_ *frame, const void *object);

/* At the end of the block: calls `left`, unless the frame has been left. */
void weir_frame_end_(struct weir_frame_ *frame);

/*
 * Panics if the innermost frame of this thread was left behind.  `call` is the
 * public function that checks.  If the panic hook returns, the frames are
 * forgotten, and the call fails.
 */
#define weir_frame_check_(call)                                                \
	weir_frame_check_at_((call), __builtin_frame_address(0))

weir_err weir_frame_check_at_(const char *call, const void *at);

#endif /* WEIR_BASE_FRAME_H */
