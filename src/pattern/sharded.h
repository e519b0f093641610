/* SPDX-License-Identifier: MIT */
#ifndef WEIR_PATTERN_SHARDED_H
#define WEIR_PATTERN_SHARDED_H

/*
 * Internals shared by the files of the sharded semaphore.  The head of
 * sharded.c explains the algorithm.  The head of sharded_central.c explains why
 * no waiter is forgotten.
 *
 * state, one word:
 *
 *    63                 32 31                      2     1       0
 *   +---------------------+-------------------------+------+--------+
 *   | number of resizes   | calls that wait         | DEBT | CLOSED |
 *   +---------------------+-------------------------+------+--------+
 *
 *   The lower half is the mode: 0 is SHARDED, everything else CENTRAL.
 *
 *   CLOSED   Set by the first close, never cleared.
 *   DEBT     Must be set while rest has a debt and no resize is counted as
 *            waiting.  May be set spuriously.
 *   waiting  A call is counted before it gathers, and until its request has
 *            been decided.
 *   resizes  Grows with each resize, after rest has its new capacity: a thread
 *            that found no debt clears DEBT only if no resize came in between.
 */
#include <stdint.h>

#include "base/atomic.h"
#include "pattern/ready.h"
#include "record/record.h"
#include "weir/sharded.h"

#define WEIR_SHARDED_CLOSED_ UINT64_C(1)
#define WEIR_SHARDED_DEBT_ UINT64_C(2)
#define WEIR_SHARDED_WAITING_ UINT64_C(4)
#define WEIR_SHARDED_RESIZE_ (UINT64_C(1) << 32)

/* The permits of rest that a CPU keeps, on a cache line of its own. */
struct weir_shard_ {
	int64_t credit __attribute__((aligned(64)));
};

struct weir_sharded_body_ {
	/* One cache line, which is rarely written: */
	uint64_t state __attribute__((aligned(64)));
	int64_t batch;		/* atomic; a resize changes it */
	uint32_t given_batch;	/* 0: batch follows the capacity */
	uint32_t mask;		/* number of shards - 1 */
	/* The central semaphore: */
	weir_sem rest __attribute__((aligned(64)));
	struct weir_shard_ shards[];
};

weir_err weir_sharded_unready_(weir_sharded *s, const char *call,
			       enum weir_refusal_ refusal);

/* The check at the beginning of every call: ready.h. */
static inline weir_err weir_sharded_check_(weir_sharded *s, const char *call,
					   enum weir_refusal_ refusal)
{
	return weir_is_ready_(s) ?
		       WEIR_OK : weir_sharded_unready_(s, call, refusal);
}

/* Returns the object of *s in the registry; 0: *s is not watched. */
static inline uint64_t weir_sharded_object_(const weir_sharded *s)
{
	return weir_record_numbered_(s->watched_, s);
}

/* Take the whole credit of the shard; returns it. */
static inline int64_t weir_sharded_empty_(struct weir_shard_ *from)
{
	/* [SH1] acquire */
	return at_swap_acquire(&from->credit, 0);
}

/* Release n permits to rest. */
void weir_sharded_put_rest_(weir_sharded *s, int64_t n, const char *call);

/* Move the credit of all shards to rest.  Requires: the mode is CENTRAL. */
void weir_sharded_gather_(weir_sharded *s, const char *call);

/* Count a call that waits, and gather; end that count. */
static inline void weir_sharded_begin_wait_(weir_sharded *s, const char *call)
{
	/* [SH2] release */
	(void)at_add_seq_cst(&s->body_->state, WEIR_SHARDED_WAITING_);
	weir_sharded_gather_(s, call);
}

static inline void weir_sharded_end_wait_(weir_sharded *s)
{
	/* relaxed: a thread that still finds CENTRAL releases to rest. */
	(void)at_sub_relaxed(&s->body_->state, WEIR_SHARDED_WAITING_);
}

/* Clear DEBT if rest has no debt and no resize has come in between. */
void weir_sharded_settle_(struct weir_sharded_body_ *b);

#endif /* WEIR_PATTERN_SHARDED_H */
