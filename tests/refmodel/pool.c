/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include "weir/permit.h"

static void call(pool_worker *w)
{
	weir_permit permit = WEIR_PERMIT_INIT;

	w->got = 0;
	switch (w->kind) {
	case POOL_ACQUIRE:
		w->err = weir_sem_acquire(w->sem, w->min, w->ctx);
		break;
	case POOL_UNTIL:
		w->err = weir_sem_acquire_until(w->sem, w->min, WEIR_FOREVER);
		break;
	case POOL_FOR:
		w->err = weir_sem_acquire_for(w->sem, w->min, 200000);
		break;
	case POOL_UPTO:
		w->err = weir_sem_acquire_upto(w->sem, w->min, w->max,
					       w->ctx, &w->got);
		return;
	case POOL_PERMIT:
		w->err = weir_permit_acquire(&permit, w->sem, w->min, w->ctx);
		/* C34: the driver takes over the permits. */
		w->got = weir_permit_disown(&permit);
		return;
	case POOL_IDLE:
		w->err = weir_sem_wait_idle(w->sem, w->ctx);
		return;
	case POOL_END:
		w->err = weir_ctx_wait(w->ctx, WEIR_FOREVER);
		return;
	}
	if (!w->err)
		w->got = w->min;
}

static void *serve(void *arg)
{
	pool_worker *w = arg;

	for (;;) {
		int command;

		pthread_mutex_lock(&w->lock);
		while (!w->command)
			pthread_cond_wait(&w->wake, &w->lock);
		command = w->command;
		w->command = 0;
		pthread_mutex_unlock(&w->lock);
		if (command == 2)
			return NULL;
		call(w);
		__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	}
}

static void give_command(pool_worker *w, int command)
{
	pthread_mutex_lock(&w->lock);
	w->command = command;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void pool_start(pool_worker pool[POOL_SIZE])
{
	for (int i = 0; i < POOL_SIZE; i++) {
		pool_worker *w = &pool[i];

		memset(w, 0, sizeof(*w));
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->wake, NULL);
		w->thread = start(serve, w);
	}
}

void pool_finish(pool_worker pool[POOL_SIZE])
{
	for (int i = 0; i < POOL_SIZE; i++) {
		give_command(&pool[i], 2);
		finish(pool[i].thread);
		pthread_cond_destroy(&pool[i].wake);
		pthread_mutex_destroy(&pool[i].lock);
	}
}

void pool_run(pool_worker *w)
{
	__atomic_store_n(&w->done, 0, __ATOMIC_RELAXED);
	w->busy = true;
	give_command(w, 1);
}

bool pool_done(pool_worker *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
}
