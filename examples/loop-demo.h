/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_LOOP_DEMO_H
#define EXAMPLES_LOOP_DEMO_H

/*
 * The common part of the loop examples: a semaphore of one permit, held by a
 * thread for a moment, and four requests that wait for it in an event loop.
 * The first three pass the permit on to one another; the fourth times out.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "weir/async.h"
#include "weir/loop.h"

#define REQUESTS 4

static weir_sem demo_sem = WEIR_SEM_INIT(1);
static struct demo_request {
	weir_op op;
	int number;
} demo_requests[REQUESTS];
static int demo_served, demo_late;

/* Called when all four have been answered. */
static void demo_over(void);

static void demo_told(weir_op *op, weir_err err, void *user)
{
	struct demo_request *r = user;

	(void)op;
	printf("request %d: %s\n", r->number, weir_err_text(err));
	demo_served += err == WEIR_OK;
	demo_late += err == WEIR_ETIMEDOUT;
	/* The third keeps the permit, so that the last request times out. */
	if (!err && r->number < 3)
		weir_sem_release(&demo_sem, 1);
	if (demo_served + demo_late == REQUESTS)
		demo_over();
}

static void *demo_holder(void *arg)
{
	(void)arg;
	weir_sem_release(&demo_sem, 1);
	return NULL;
}

/* Called on the loop's thread, before the loop runs. */
static pthread_t demo_begin(weir_loop *loop)
{
	pthread_t holder;

	if (weir_sem_acquire(&demo_sem, 1, NULL))
		exit(1);
	for (int i = 0; i < REQUESTS; i++) {
		struct demo_request *r = &demo_requests[i];
		weir_err err;

		r->number = i + 1;
		weir_op_init(&r->op, loop, demo_told, r);
		err = weir_op_submit_until(&r->op, &demo_sem, 1,
			weir_deadline_after(i < 3 ? 60000000000 : 50000000));
		/* No callback runs if the deadline has passed by now. */
		if (err != WEIR_EQUEUED)
			demo_told(&r->op, err, r);
	}
	if (pthread_create(&holder, NULL, demo_holder, NULL))
		exit(1);
	return holder;
}

static int demo_end(weir_loop *loop, pthread_t holder)
{
	pthread_join(holder, NULL);
	if (weir_loop_destroy(loop) != WEIR_OK || demo_served != 3)
		return 1;
	printf("%d served in order, %d too late\n", demo_served, demo_late);
	return 0;
}

#endif /* EXAMPLES_LOOP_DEMO_H */
