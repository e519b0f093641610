/* SPDX-License-Identifier: MIT */
/*
 * dotnet/runtime#123087, UA-.NETStandard PR #2415, kernel-memory PR #941: the
 * caller releases in its clean-up code although its acquire had failed.
 *
 *   caller
 *   ------
 *   acquire: cancelled
 *   finally: release             one permit more than there should be, for
 *                                ever, and no sign of it
 *
 * Must hold (C8): on a bounded semaphore that is noticed, and the message names
 * the semaphore and the counts; the hook runs on the thread and in the call
 * that was wrong, so a debugger or a backtrace shows the place.  A permit
 * object cannot make the mistake (C34).
 */
#include "waiter.h"
#include "weir/permit.h"

static pthread_t hook_thread;
static bool in_call;
static int hooks;

static void note(const char *message)
{
	CHECK(in_call);		/* the wrong call has not returned */
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

static void noticed(weir_policy policy, const char *name)
{
	weir_sem_opts opts = { .permits = 41, .policy = policy, .name = name };
	weir_sem sem;

	CHECK_OK(weir_sem_init_opts(&sem, &opts));
	CHECK_OK(weir_sem_acquire(&sem, 12, NULL));	/* somebody else */
	hooks = 0;
	weir_set_panic_hook(note);
	finish(start(release_after_failing, &sem));
	weir_set_panic_hook(NULL);
	CHECK_EQ(hooks, 1);
	/* One line: which, how many came, how many are out, of how many. */
	CHECK(strstr(panic_message, "weir_sem_release") != NULL);
	CHECK(strstr(panic_message, name ? name : "unnamed") != NULL);
	CHECK(strstr(panic_message, "13") != NULL);
	CHECK(strstr(panic_message, "12") != NULL);
	CHECK(strstr(panic_message, "41") != NULL);
	CHECK(strchr(panic_message, '\n') == NULL);
	/* The hook returned: as if the call had not been made. */
	CHECK_EQ(stat_of(&sem).held, 12);
	CHECK_EQ(stat_of(&sem).capacity, 41);
	CHECK_ERR(weir_sem_try_release(&sem, 13), WEIR_EOVERFLOW);
	CHECK_OK(weir_sem_try_release(&sem, 12));
	CHECK_ERR(weir_sem_try_release(&sem, 1), WEIR_EOVERFLOW);
	CHECK_EQ(weir_sem_available(&sem), 41);
}

TEST(c8_noticed_and_named)
{
	noticed(WEIR_FIFO, "connections");
	noticed(WEIR_BARGING, "connections");
	noticed(WEIR_FIFO, NULL);
}

/* C34: the same clean-up code with a permit object. */
TEST(c34_a_permit_object_cannot_do_it)
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
