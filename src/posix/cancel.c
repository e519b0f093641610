/* SPDX-License-Identifier: MIT */
/* The waits that pthread_cancel(3) has to end. */
#include "posix/cancel.h"

#include <signal.h>
#include <stddef.h>

#include "posix/lock.h"

static struct weir_posix_wait_ *waits;	/* under the lock */

void weir_posix_wait_begin_(struct weir_posix_wait_ *wait)
{
	sigset_t before;

	wait->thread = pthread_self();
	wait->prev = NULL;
	(void)!weir_ctx_init(&wait->ctx, NULL, WEIR_FOREVER);
	weir_posix_lock_(&before);
	wait->next = waits;
	if (waits)
		waits->prev = wait;
	waits = wait;
	weir_posix_unlock_(&before);
}

void weir_posix_wait_end_(struct weir_posix_wait_ *wait)
{
	sigset_t before;

	weir_posix_lock_(&before);
	if (wait->prev)
		wait->prev->next = wait->next;
	else
		waits = wait->next;
	if (wait->next)
		wait->next->prev = wait->prev;
	weir_posix_unlock_(&before);
	(void)!weir_ctx_destroy(&wait->ctx);
}

void weir_posix_cancelled_(pthread_t thread)
{
	struct weir_posix_wait_ *wait;
	sigset_t before;

	weir_posix_lock_(&before);
	for (wait = waits; wait; wait = wait->next)
		if (pthread_equal(wait->thread, thread))
			/* The context exists as long as the lock is held. */
			weir_ctx_cancel(&wait->ctx);
	weir_posix_unlock_(&before);
}

void weir_posix_cancel_reset_(void)
{
	struct weir_posix_wait_ *wait = waits;

	while (wait && !pthread_equal(wait->thread, pthread_self()))
		wait = wait->next;
	if (wait)
		wait->prev = wait->next = NULL;
	waits = wait;
}
