/* SPDX-License-Identifier: MIT */
/*
 * A recorded history: what each thread asked of one semaphore, what it was
 * answered, and when each call began and ended.
 *
 * A stamp is a number drawn from one counter by a read-modify-write that is
 * acquire and release.  The first is drawn before the call and the second after
 * it, on the thread that calls.  So if the second stamp of A is less than the
 * first of B, everything A did happens before everything B did: the draws are
 * in one order, the call A is before its second draw, and the call B after its
 * first.  The draws can only make a call look longer than it was, and so hide
 * an order, never forge one.  (A clock would not do: it may be read before the
 * call's last access is visible, and two reads may be equal.)
 *
 * The price: the draws order all threads among each other, so this says nothing
 * about memory orders that are too weak in the semaphore itself.
 */
#ifndef TESTS_HISTORY_HISTORY_H
#define TESTS_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/sem.h"

/* 64 that work, and one that closes and cancels in the end. */
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
	uint64_t queued;	/* stamp: it was waiting by then.  0: never */
	op_kind kind;
	int thread;
	weir_err err;
	int min, max;		/* ACQUIRE.  Others: min permits; RESIZE: to */
	int got;		/* permits taken; RESIZE: the debt reported */
	int ctx, group;		/* ACQUIRE: its own.  CANCEL: what it ends */
	bool deadline;		/* a plain one, or that of its ctx */
	weir_close how;		/* CLOSE */
	/* STAT: */
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
	uint64_t steps;		/* of the search */
	char why[16384];		/* for people; empty if GOOD */
} verdict;

/* One line about o. */
void op_show(const op *o, char *text, size_t size);
const char *op_kind_name(op_kind kind);

/* Whether o is an acquire that ended its wait by itself or by its ctx. */
static inline bool op_gave_up(const op *o)
{
	return o->kind == OP_ACQUIRE &&
	       (o->err == WEIR_ETIMEDOUT || o->err == WEIR_ECANCELED);
}

/* C13: an acquire whose ctx ends may have had permits for a moment. */
static inline bool op_hands_back(const op *o)
{
	return op_gave_up(o) && o->ctx != NO_CTX;
}

/*
 * When the context of each acquire can have ended: not before the first cancel
 * that reaches it began, and surely when the first of them has returned.
 */
typedef struct ctx_end {
	uint64_t from, by;	/* UINT64_MAX: never */
} ctx_end;
void history_ctx_ends(const history *h, ctx_end *ends);

#endif /* TESTS_HISTORY_HISTORY_H */
