/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_NAMED_AUDIT_H
#define TESTS_MODEL_NAMED_AUDIT_H

/*
 * The audit of the semaphore, and calls that it books.
 *
 * After each write that unlocks the file: the permits add up.  When a record is
 * granted: no older record waits (C4).  When a call returns: the processes that
 * live hold at most the capacity.  When no thread can go on: no waiter of a
 * running process sleeps while its request fits (ex_quiet).
 *
 * Each process has one handle; `sem` is that of the calling process.
 */
#include "weir/ctx.h"
#include "weir/named.h"

void audit_begin(void);
void audit_sleeps(int t);		/* the thread goes to sleep */

/* Calls of the current process on its handle. */
void join(int64_t capacity);
void join_as(int64_t capacity, weir_named_policy policy, uint32_t flags);
weir_err try_join(int64_t capacity);	/* WEIR_EBUSY: all slots are in use */
void leave_handle(void);
weir_err take(int64_t n);
weir_err take_in(int64_t n, struct weir_ctx *ctx);
weir_err take_until(int64_t n, int64_t deadline_ns);
weir_err take_upto(int64_t min, int64_t max, struct weir_ctx *ctx, int64_t *got);
weir_err try_take(int64_t n);
void give(int64_t n);
void give_back(int64_t n);		/* as a cancelled call does */
weir_err resize(int64_t n);
void close_sem(weir_close how);
weir_err pause_sem(void);
weir_err resume_sem(void);
void cancel(struct weir_ctx *ctx);
weir_err idle(struct weir_ctx *ctx);
weir_err stat_sem(weir_named_info *info);
weir_err lend(int *fd);

/* The permits that the process holds; its handle. */
int64_t holds(int proc);
weir_named *handle_of(int proc);

/* The number of calls that returned, by process; calls that still wait. */
int calls_done(int proc);
bool is_waiting(int proc);

#endif /* TESTS_MODEL_NAMED_AUDIT_H */
