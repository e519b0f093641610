/* SPDX-License-Identifier: MIT */
/* Worker threads; each makes one blocking call on command. */
#ifndef TESTS_REFMODEL_POOL_H
#define TESTS_REFMODEL_POOL_H

#include <pthread.h>

#include "check.h"
#include "weir/ctx.h"

#define POOL_SIZE 12

typedef enum pool_kind {
	POOL_ACQUIRE,	/* weir_sem_acquire */
	POOL_UNTIL,	/* weir_sem_acquire_until, WEIR_FOREVER */
	POOL_UPTO,	/* weir_sem_acquire_upto */
	POOL_PERMIT,	/* weir_permit_acquire */
	POOL_FOR,	/* weir_sem_acquire_for, a short time */
	POOL_IDLE,	/* weir_sem_wait_idle */
	POOL_END	/* weir_ctx_wait */
} pool_kind;

typedef struct pool_worker {
	/* The call; set by the driver before pool_run. */
	weir_sem *sem;
	pool_kind kind;
	int64_t min, max;
	weir_ctx *ctx;
	int ctx_number;
	/* The results; valid after pool_done. */
	weir_err err;
	int64_t got;

	bool busy;		/* used by the driver only */
	int done;		/* atomic */
	int command;		/* under lock: 1 run, 2 exit */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	check_thread thread;
} pool_worker;

void pool_start(pool_worker pool[POOL_SIZE]);
void pool_finish(pool_worker pool[POOL_SIZE]);

void pool_run(pool_worker *w);
bool pool_done(pool_worker *w);

#endif /* TESTS_REFMODEL_POOL_H */
