/* SPDX-License-Identifier: MIT */
/*
 * Calls of user code that may not return: base/frame.h.  tests/async/leave.c has
 * callbacks that really do not return; here the frames are made directly, on the
 * stack and off it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "base/frame.h"
#include "base/thread.h"
#include "check.h"
#include "weir/sem.h"

int __real_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int __real_pthread_attr_getstack(const pthread_attr_t *attr, void **low,
				 size_t *size);
int __wrap_pthread_attr_getstack(const pthread_attr_t *attr, void **low,
				 size_t *size);

static bool getattr_fails, getstack_fails;
static void *fake_low;		/* null: the real stack */
static size_t fake_size;

int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	return getattr_fails ? ENOMEM : __real_pthread_getattr_np(thread, attr);
}

int __wrap_pthread_attr_getstack(const pthread_attr_t *attr, void **low,
				 size_t *size)
{
	if (fake_low) {
		*low = fake_low;
		*size = fake_size;
		return 0;
	}
	return getstack_fails ? EINVAL :
				__real_pthread_attr_getstack(attr, low, size);
}

static int ends;

static void left(void *count)
{
	++*(int *)count;
}

static void enter(struct weir_frame_ *frame, const void *at)
{
	weir_frame_enter_at_(frame, "a_call", frame, left, &ends, at);
}

/* The end of a frame that was not left calls `left`, once. */
TEST(c27_end_of_a_frame)
{
	struct weir_frame_ frame = { 0 };

	ends = 0;
	enter(&frame, &frame);
	weir_frame_end_(&frame);
	CHECK_EQ(ends, 1);
	weir_frame_end_(&frame);
	CHECK_EQ(ends, 1);
	enter(&frame, &frame);
	weir_frame_leave_(&frame);
	weir_frame_end_(&frame);
	CHECK_EQ(ends, 1);
}

/* Coroutines leave their frames in any order. */
TEST(c27_frames_are_left_in_any_order)
{
	struct weir_frame_ a = { 0 }, b = { 0 }, c = { 0 };
	char here = 0;

	enter(&a, (void *)UINTPTR_MAX);
	enter(&b, (void *)UINTPTR_MAX);
	enter(&c, (void *)UINTPTR_MAX);
	weir_frame_leave_(&a);
	CHECK(!b.outer);
	weir_frame_leave_(&b);
	CHECK(!c.outer);
	CHECK_OK(weir_frame_check_at_("check", &here));
	c.mark = 0;
	CHECK_PANICS("check: an earlier callback of a_call",
		     CHECK_ERR(weir_frame_check_at_("check", &here),
			       WEIR_EINVAL));
	/* The frames were forgotten. */
	CHECK_OK(weir_frame_check_at_("check", &here));
	weir_frame_leave_(&c);
}

/* The message names the object of the innermost frame. */
TEST(c27_the_object_of_a_frame)
{
	struct weir_frame_ outer = { 0 }, inner = { 0 };
	char here = 0, name[64];

	enter(&outer, (void *)UINTPTR_MAX);
	enter(&inner, (void *)UINTPTR_MAX);
	CHECK(inner.outer == &outer);
	weir_frame_leave_(&inner);
	outer.mark = 0;
	snprintf(name, sizeof(name), "callback of a_call (%p)", (void *)&outer);
	CHECK_PANICS(name, CHECK_ERR(weir_frame_check_at_("check", &here),
				     WEIR_EINVAL));
	weir_frame_leave_(&outer);
}

static const char *const message = "did not return: it was left by longjmp";
static char elsewhere;

/* A check further up the same stack finds the frame; other checks do not. */
static void *check_places(void *arg)
{
	bool known = !arg;
	struct weir_frame_ frame = { 0 };
	char stack[2] = { 0 };

	enter(&frame, &stack[1]);
	CHECK_OK(weir_frame_check_at_("check", &stack[0]));
	CHECK_OK(weir_frame_check_at_("check", &elsewhere));
	CHECK_OK(weir_frame_check_at_("check", (void *)UINTPTR_MAX));
	weir_frame_leave_(&frame);
	enter(&frame, &elsewhere);
	if (&elsewhere < &stack[1])
		CHECK_OK(weir_frame_check_at_("check", &stack[1]));
	weir_frame_leave_(&frame);
	enter(&frame, &stack[0]);
	if (known)
		CHECK_PANICS(message, CHECK_ERR(weir_frame_check_at_("check",
								     &stack[1]),
						WEIR_EINVAL));
	else
		CHECK_OK(weir_frame_check_at_("check", &stack[1]));
	weir_frame_leave_(&frame);
	return NULL;
}

TEST(c27_frame_is_found_further_up_the_stack)
{
	finish(start(check_places, NULL));
}

/* The stack of the thread is unknown: only an overwritten frame is found. */
TEST(c27_stack_is_unknown)
{
	static char unknown;

	getattr_fails = true;
	finish(start(check_places, &unknown));
	getattr_fails = false;
	getstack_fails = true;
	finish(start(check_places, &unknown));
	getstack_fails = false;
}

/* A stack of two bytes: its bounds, and a check at the place of the frame. */
static void *check_bounds(void *arg)
{
	char *stack = fake_low;
	struct weir_frame_ frame = { 0 };

	(void)arg;
	enter(&frame, &stack[0]);
	CHECK_OK(weir_frame_check_at_("check", &stack[2]));
	CHECK_PANICS(message, CHECK_ERR(weir_frame_check_at_("check", &stack[1]),
					WEIR_EINVAL));
	weir_frame_leave_(&frame);
	enter(&frame, &stack[0]);
	CHECK_PANICS(message, CHECK_ERR(weir_frame_check_at_("check", &stack[0]),
					WEIR_EINVAL));
	weir_frame_leave_(&frame);
	return NULL;
}

TEST(c27_bounds_of_the_stack)
{
	static char stack[3];

	fake_low = stack;
	fake_size = 2;
	finish(start(check_bounds, NULL));
	fake_low = NULL;
}

/*
 * A callback that returns on another thread stays on the list of its own thread, but
 * it has no mark: a check finds it.
 */
TEST(c27_a_frame_that_was_left_has_no_mark)
{
	struct weir_frame_ frame = { 0 };
	char here = 0;
	uintptr_t mark;

	enter(&frame, (void *)UINTPTR_MAX);
	mark = frame.mark;
	weir_frame_leave_(&frame);
	CHECK(frame.mark != mark);
	enter(&frame, (void *)UINTPTR_MAX);
	frame.mark = 0;
	weir_thread_to_run_()->running = true;
	CHECK_PANICS(message, CHECK_ERR(weir_frame_check_at_("check", &here),
					WEIR_EINVAL));
	/* If the hook returns, callbacks run on this thread again. */
	CHECK(!weir_thread_to_run_()->running);
	weir_frame_leave_(&frame);
}

/* A wait checks first: the thread must not wait inside a dead callback. */
TEST(c27_wait_finds_the_frame)
{
	weir_sem sem = WEIR_SEM_INIT(1);
	struct weir_frame_ frame = { 0 };

	CHECK_OK(weir_sem_acquire(&sem, 1, NULL));
	enter(&frame, &frame);
	frame.mark = 0;
	CHECK_PANICS("weir_sem_acquire_for: an earlier callback of a_call",
		     CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_EINVAL));
	CHECK_ERR(weir_sem_acquire_for(&sem, 1, 0), WEIR_ETIMEDOUT);
	weir_frame_leave_(&frame);
	weir_sem_release(&sem, 1);
}
