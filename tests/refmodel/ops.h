/* SPDX-License-Identifier: MIT */
/* The operations.  Each one is applied to the library and to the model. */
#ifndef TESTS_REFMODEL_OPS_H
#define TESTS_REFMODEL_OPS_H

#include "world.h"

static inline int64_t draw(world *w, int64_t limit)
{
	return source_draw(&w->scene->from, limit);
}

/* Every operation and its weight in the random choice. */
typedef void ops_fn(world *w);
typedef struct ops_entry {
	ops_fn *fn;
	int weight;
} ops_entry;
extern const ops_entry ops_table[];
extern const int ops_table_size;

/* Run one operation, chosen by weight. */
void ops_step(world *w);

/*
 * A random count: usually one that fits, sometimes too large, rarely invalid.
 */
int64_t ops_count(world *w);

/* Run a call that has to wait on a thread of the pool. */
void ops_block(world *w, pool_worker *p, pool_kind kind, model_call call);

/* Returns true if the call would wait, given the state of its context. */
bool ops_would_wait(world *w, model_call call);

/* On the semaphore: ops.c, ops_take.c. */
void ops_acquire(world *w);
void ops_timed_wait(world *w);
void ops_late_head(world *w);
void ops_ended_ctx(world *w);
void ops_try(world *w);
void ops_drain(world *w);
void ops_idle(world *w);
void ops_release(world *w, int64_t n);
void ops_close(world *w, weir_close how);

/* On contexts: ops_ctx.c. */
int ops_pick_ctx(world *w);		/* the number of a live context, or 0 */
void ops_ctx_make(world *w);
void ops_ctx_drop(world *w);
void ops_ctx_look(world *w);
void ops_ctx_wait(world *w);
void ops_ctx_cancel(world *w);
void ops_ctx_clear(world *w);		/* cancel and destroy all */

/* On permits: ops_permit.c. */
void ops_permit_acquire(world *w);
void ops_permit_adopt(world *w);
void ops_permit_own(world *w);
void ops_permit_release(world *w);
void ops_permit_split(world *w);
void ops_permit_merge(world *w);
void ops_permit_move(world *w);
void ops_permit_forget(world *w);
void ops_permit_disown(world *w);
void ops_hold_release(world *w, hold *h);

/* Invalid calls: ops_misuse.c. */
void ops_misuse(world *w);

/* Life cycle: ops_life.c.  The threads exist from open to shut. */
void ops_open(scene *s);
void ops_begin(world *w, weir_policy policy, bool overdue, bool unbounded);
void ops_end(world *w);
void ops_shut(scene *s);

#endif /* TESTS_REFMODEL_OPS_H */
