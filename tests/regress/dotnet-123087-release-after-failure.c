/* SPDX-License-Identifier: MIT */
/*
 * dotnet/runtime#123087, UA-.NETStandard PR #2415, kernel-memory PR #941:
 * clean-up code releases after a failed acquire, and the semaphore silently has
 * one permit too many.
 *
 * Threads: caller.
 *
 *   1. caller: acquire fails: cancelled.
 *   2. caller: its clean-up block (finally) releases all the same.
 *   3. The semaphore now permanently has one permit more than its limit, and
 *      nothing reports it.
 *
 * In weir (C8) a bounded semaphore detects this release.  The message has the
 * name of the semaphore and the counts.  The panic hook runs on the thread and
 * inside the call at fault, so a debugger or a backtrace shows the place.  A
 * permit object cannot make the mistake (C34).
 */
#include "waiter.h"
#include "weir/permit.h"

static pthread_t hook_thread;
static bool in_call;
static int hooks;

static void note(const char *message)
{
	CHECK(in_call);		/* the call at fault has not returned */
	hook_thread = pthread_self();
	snprintf(panic_message, sizeof(panic_message), "%s", message);
	hooks++;
}

static void *release_after_failing(void *arg)
{
	weir_ctx ended = WEIR_CTX_INIT;
	weir_sem *sem = arg;

	weir_ctx_cancel(&ended);
	CHECK_ERR(weir_sem_acquire(sem, 13, &ended), WEIR_ECANCELED);
	in_call = true;
	weir_sem_release(sem, 13);		/* the mistake */
	in_call = false;
	CHECK(pthread_equal(hook_thread, pthread_self()));
	CHECK_OK(weir_ctx_destroy(&ended));
	return NULL;
}

static void detected(weir_policy policy, const char *name)
{
	weir_sem_opts opts = { .permits = 41, .policy = policy, .name = name };
	char place[32];
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 12, NULL));	/* another holder */
	hooks = 0;
	weir_set_panic_hook(note);
	finish(start(release_after_failing, &sem));
	weir_set_panic_hook(NULL);
	CHECK_EQ(hooks, 1);
	/* One line: name or address, permits released, held, capacity. */
	CHECK(strstr(panic_message, "weir_sem_release") != NULL);
	snprintf(place, sizeof(place), "%p", (void *)&sem);
	CHECK(strstr(panic_message, name ? name : place) != NULL);
	CHECK(strstr(panic_message, "13") != NULL);
	CHECK(strstr(panic_message, "12") != NULL);
	CHECK(strstr(panic_message, "41") != NULL);
	CHECK(strchr(panic_message, '\n') == NULL);
	/* The hook returned: the release had no effect. */
	CHECK_EQ(stat_of(&sem).held, 12);
	CHECK_EQ(stat_of(&sem).capacity, 41);
	CHECK_ERR(weir_sem_try_release(&sem, 13), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_try_release(&sem, 12));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 41);
}

TEST(c8_detected_and_named)
{
	detected(WEIR_FIFO, "connections");
	detected(WEIR_BARGING, "connections");
	detected(WEIR_FIFO, NULL);
}

/* C34: the same clean-up code with a permit object does nothing. */
TEST(c34_permit_release_after_failure_is_a_no_op)
{
	weir_sem sem = WEIR_SEM_INIT(3);
	weir_ctx ended = WEIR_CTX_INIT;
	weir_permit permit = WEIR_PERMIT_INIT;

	weir_ctx_cancel(&ended);
	CHECK_ERR(weir_permit_acquire(&permit, &sem, 2, &ended),
		  WEIR_ECANCELED);
	weir_permit_release(&permit);
	CHECK_OK(weir_sem_acquire(&sem, 3, NULL));
	CHECK_ERR(weir_permit_try_acquire(&permit, &sem, 1), WEIR_EAGAIN);
	weir_permit_release(&permit);
	CHECK_ERR(weir_permit_acquire_until(&permit, &sem, 1, 1),
		  WEIR_ETIMEDOUT);
	weir_permit_release(&permit);
	CHECK_EQ(stat_of(&sem).held, 3);
	weir_sem_release(&sem, 3);
	CHECK_OK(weir_permit_acquire(&permit, &sem, 2, NULL));
	weir_permit_release(&permit);
	weir_permit_release(&permit);
	CHECK_EQ(weir_sem_available(&sem), 3);
	CHECK_OK(weir_ctx_destroy(&ended));
}
