/* SPDX-License-Identifier: MIT */
/* The operations, each done to the semaphore and to the model. */
#ifndef TESTS_REFMODEL_OPS_H
#define TESTS_REFMODEL_OPS_H

#include "world.h"

static inline int64_t draw(world *w, int64_t limit)
{
	return random_below(&w->random, limit);
}

/* One random operation. */
void ops_step(world *w);

/* A count: mostly one that fits, sometimes not, now and then nonsense. */
int64_t ops_count(world *w);

void ops_acquire(world *w);
void ops_timed_wait(world *w);
void ops_ended_ctx(world *w);
void ops_try(world *w);
void ops_drain(world *w);
void ops_idle(world *w);

/* Also used where a sequence ends. */
void ops_cancel_all(world *w);
void ops_close(world *w, weir_close how);
void ops_release(world *w, int64_t n);

/* The panic hook of the whole test: no panic is expected. */
void ops_no_panic(const char *message);

#endif /* TESTS_REFMODEL_OPS_H */
