/* SPDX-License-Identifier: MIT */
/*
 * The rules that hold for every object: the table "MISUSE, FORK AND SIGNALS" of
 * weir(7).  Each test runs for each object of rules_objects.c.
 */
#include "rules.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* A thread that waits in enter(). */
static struct {
	const struct object *o;
	check_thread thread;
	weir_err err;
	int tid;
} waiter;

static void *wait_in_enter(void *unused)
{
	(void)unused;
	__atomic_store_n(&waiter.tid, (int)syscall(SYS_gettid),
			 __ATOMIC_RELEASE);
	waiter.err = waiter.o->enter();
	return NULL;
}

static void begin(const struct object *o)
{
	CHECK_OK(weir_ctx_init(&stop, NULL, WEIR_FOREVER));
	o->init();
}

static void start_waiting(const struct object *o)
{
	o->occupy();
	waiter.o = o;
	waiter.tid = 0;
	waiter.thread = start(wait_in_enter, NULL);
	AWAIT(__atomic_load_n(&waiter.tid, __ATOMIC_ACQUIRE) &&
	      check_asleep(waiter.tid));
}

static void stop_waiting(weir_err err)
{
	weir_ctx_cancel(&stop);
	finish(waiter.thread);
	CHECK_ERR(waiter.err, err);
}

static void end(const struct object *o)
{
	if (o->destroy)
		CHECK_OK(o->destroy());
	CHECK_OK(weir_ctx_destroy(&stop));
}

/* The message names the call, the kind of the object and the reason. */
static void check_names(const struct object *o, const char *kind,
			const char *reason)
{
	CHECK(strstr(panic_message, kind));
	CHECK(strstr(panic_message, o->call));
	CHECK(strstr(panic_message, reason));
}

/* Use after destroy, and a second destroy: a panic. */
TEST(use_after_destroy)
{
	EACH(o) {
		begin(o);
		end(o);
		if (!o->destroy)
			continue;
		CHECK_PANICS("is destroyed", CHECK_ERR(o->use(), WEIR_EINVAL));
		check_names(o, o->kind, "is destroyed");
		CHECK_PANICS("is destroyed",
			     CHECK_ERR(o->destroy(), WEIR_EINVAL));
		check_names(o, o->kind, "is destroyed");
		if (!o->close)
			continue;
		CHECK_PANICS("is destroyed", o->close());
		check_names(o, o->kind, "is destroyed");
	}
}

/* C22: a call waits: WEIR_EBUSY, nothing has changed. */
TEST(c22_destroy_while_a_call_waits)
{
	EACH(o) {
		begin(o);
		if (o->destroy) {
			start_waiting(o);
			CHECK_ERR(o->destroy(), WEIR_EBUSY);
			stop_waiting(WEIR_ECANCELED);
			o->vacate();
		}
		end(o);
	}
}

/*
 * No call waits, but something is held: WEIR_EBUSY.  Exceptions: a semaphore,
 * which its last holder may destroy (C22); items in a channel; tokens, which
 * are not given back.
 */
TEST(c22_destroy_while_held)
{
	EACH(o) {
		if (!o->destroy)
			continue;
		begin(o);
		o->occupy();
		CHECK_ERR(o->destroy(), o->destroyed_occupied);
		if (!o->destroyed_occupied) {
			CHECK_OK(weir_ctx_destroy(&stop));
			continue;
		}
		o->vacate();
		end(o);
	}
}

/* C19: waiters and later calls get WEIR_ECLOSED; closing twice is harmless. */
TEST(c19_close)
{
	EACH(o) {
		if (!o->close)
			continue;
		begin(o);
		start_waiting(o);
		o->close();
		o->close();
		if (o->closes_waits) {
			finish(waiter.thread);
			CHECK_ERR(waiter.err, WEIR_ECLOSED);
			CHECK_ERR(o->enter(), WEIR_ECLOSED);
		} else {
			CHECK_ERR(o->use(), WEIR_ECLOSED);
			stop_waiting(WEIR_ECANCELED);
		}
		o->vacate();
		end(o);
	}
}

static const struct object *forked;

static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		alarm(60);
		fn();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		check_fail(__FILE__, __LINE__, "%s: status %#x", forked->kind,
			   (unsigned)status);
}

static void use_twice(void)
{
	CHECK_OK(forked->use());
	CHECK_OK(forked->use());
}

static void group_is_missing(void)
{
	CHECK_PANICS("does not exist in the child",
		     CHECK_ERR(forked->use(), WEIR_EINVAL));
	check_names(forked, "group \"harbour\"", "fork");
}

/* C29: no call waited at the fork: the child has a copy. */
TEST(c29_a_copy_in_the_child)
{
	EACH(o) {
		begin(o);
		forked = o;
		if (o->forks)
			in_child(use_twice);
		else if (!strcmp(o->kind, "group"))
			in_child(group_is_missing);
		CHECK_OK(o->use());
		end(o);
	}
}

/* Objects whose waiters are those of a semaphore that the program knows. */
static bool has_known_semaphore(const struct object *o)
{
	return !strcmp(o->kind, "weir_limits") ||
	       !strcmp(o->kind, "adaptive limit");
}

static void use_after_waiters(void)
{
	bool known = has_known_semaphore(forked);

	CHECK_PANICS("fork", CHECK_ERR(known ? forked->enter() : forked->use(),
				       WEIR_EINVAL));
	if (known)
		CHECK(strstr(panic_message, "semaphore \"harbour\""));
	else
		check_names(forked, forked->kind, "had waiters at a fork");
	/* The refused call has changed nothing: the next one is refused too. */
	CHECK_PANICS("fork", CHECK_ERR(known ? forked->enter() : forked->use(),
				       WEIR_EINVAL));
}

/* C29: a call waited at the fork: calls in the child panic. */
TEST(c29_a_waiter_at_the_fork)
{
	EACH(o) {
		if (!o->forks || !o->enter)
			continue;
		begin(o);
		forked = o;
		start_waiting(o);
		in_child(use_after_waiters);
		stop_waiting(WEIR_ECANCELED);
		o->vacate();
		CHECK_OK(o->use());
		end(o);
	}
}

static int handled;

static void on_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
}

/* C18: a signal handler runs during the wait, and the wait continues. */
TEST(c18_signal_during_a_wait)
{
	struct sigaction action = { .sa_handler = on_signal }, before;

	CHECK_EQ(sigaction(SIGUSR1, &action, &before), 0);
	EACH(o) {
		if (!o->enter)
			continue;
		begin(o);
		start_waiting(o);
		__atomic_store_n(&handled, 0, __ATOMIC_RELEASE);
		CHECK_EQ(pthread_kill(waiter.thread.id, SIGUSR1), 0);
		AWAIT(__atomic_load_n(&handled, __ATOMIC_ACQUIRE) &&
		      check_asleep(waiter.tid));
		stop_waiting(WEIR_ECANCELED);
		o->vacate();
		end(o);
	}
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
}
