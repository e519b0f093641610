/* SPDX-License-Identifier: MIT */
/*
 * A wait inside a timeout.
 *
 * A client holds a slot while it waits for a reply, for ten minutes at most.
 * The service that has to reply needs a slot first.  Nothing is lost: the
 * timeout ends the circle after ten minutes, again and again.
 */
#include "hang.h"

#define TEN_MINUTES_NS (600 * INT64_C(1000000000))

static weir_sem slots, replies;

static void *call_service(void *arg)
{
	weir_err err;

	hang_check(weir_sem_acquire(&slots, 1, NULL));
	hang_until_queued(&slots, 1);
	err = weir_sem_acquire_for(&replies, 1, TEN_MINUTES_NS);
	weir_sem_release(&slots, 1);
	return err ? NULL : arg;
}

static void *reply(void *arg)
{
	/* The reply is in work: the service gives it back when it is ready. */
	hang_check(weir_sem_acquire(&replies, 1, NULL));
	hang_check(weir_sem_acquire(&slots, 1, NULL));
	weir_sem_release(&slots, 1);
	weir_sem_release(&replies, 1);
	return arg;
}

int main(void)
{
	hang_init(&slots, "slots", 1);
	hang_init(&replies, "replies", 1);
	(void)hang_start("client", call_service, NULL);
	/* The client has the slot before the service asks for it. */
	while (weir_sem_available(&slots))
		continue;
	(void)hang_start("service", reply, NULL);
	hang_until_queued(&replies, 1);
	hang_here("hang-timeout");
}
