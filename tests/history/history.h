/* SPDX-License-Identifier: MIT */
/*
 * A recorded history: the calls of each thread on one semaphore, their results,
 * and when each call began and ended.
 *
 * A stamp is drawn from one counter by a read-modify-write with acquire and
 * release semantics.  The calling thread draws the first stamp before the call
 * and the second after it.  If the second stamp of A is less than the first
 * stamp of B, then everything A did happens before everything B did: the draws
 * are totally ordered, call A precedes its second draw, and call B follows its
 * first.  The draws can only make a call appear longer than it was; they can
 * hide an order but never invent one.  (A clock is not enough: it may be read
 * before the last access of the call is visible, and two reads may be equal.)
 *
 * The price: the draws order all threads, so this test does not detect memory
 * orders that are too weak in the semaphore itself.
 */
#ifndef TESTS_HISTORY_HISTORY_H
#define TESTS_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/sem.h"

/* 64 workers, and one thread that closes and cancels at the end. */
#define HISTORY_THREADS 65
#define HISTORY_GROUPS 8

typedef enum op_kind {
	OP_ACQUIRE,	/* also with a deadline, a context, or for min..max */
	OP_TRY,
	OP_DRAIN,
	OP_RELEASE,
	OP_RESIZE,
	OP_CLOSE,
	OP_CANCEL,
	OP_STAT,
	OP_KINDS
} op_kind;

#define NO_CTX (-1)
#define NO_GROUP (-1)

typedef struct op {
	uint64_t begun, ended;	/* stamps */
	uint64_t queued;	/* stamp at which it waited; 0: never */
	op_kind kind;
	int thread;
	weir_err err;
	int min, max;		/* ACQUIRE; else min: permits, new capacity */
	int got;		/* permits taken; RESIZE: the debt reported */
	int ctx, group;		/* of the ACQUIRE; target of the CANCEL */
	bool deadline;		/* a plain deadline, or one of its ctx */
	weir_close how;		/* CLOSE */
	/* Results of STAT: */
	int free, debt, capacity, waiters, granted;
	bool closed;
} op;

typedef struct history {
	op *ops;
	int count;
	int permits;		/* free at the start, and the capacity */
	weir_policy policy;
	bool overdue;		/* BARGING: a waiter can pass its bound */
} history;

typedef enum judgement { GOOD, BAD, UNDECIDED } judgement;

typedef struct verdict {
	judgement judgement;
	uint64_t steps;		/* number of search steps */
	char why[16384];		/* explanation; empty if GOOD */
} verdict;

/* Describe o in one line. */
void op_show(const op *o, char *text, size_t size);
const char *op_kind_name(op_kind kind);

/* Returns true if o is an acquire that timed out or was cancelled. */
static inline bool op_gave_up(const op *o)
{
	return o->kind == OP_ACQUIRE &&
	       (o->err == WEIR_ETIMEDOUT || o->err == WEIR_ECANCELED);
}

/* C13: an acquire whose ctx ends may have held permits for a moment. */
static inline bool op_hands_back(const op *o)
{
	return op_gave_up(o) && o->ctx != NO_CTX;
}

/*
 * When the context of each acquire may have ended: not before the first cancel
 * that reaches it began, and certainly when the first such cancel has returned.
 */
typedef struct ctx_end {
	uint64_t from, by;	/* UINT64_MAX: never */
} ctx_end;
void history_ctx_ends(const history *h, ctx_end *ends);

#endif /* TESTS_HISTORY_HISTORY_H */
