/* SPDX-License-Identifier: MIT */
/*
 * Small programs of a few threads that together make every call of the library.
 * Apart from the faults each is deterministic.  It checks the result of every
 * call, that all permits are free afterwards, and that the same objects still
 * work when the fault has ended.
 */
#ifndef TESTS_FAULT_WORK_H
#define TESTS_FAULT_WORK_H

#include "inject.h"
#include "job.h"

struct work {
	const char *name;
	void (*run)(void);
	bool by_time;	/* some wait ends only by its deadline */
};

extern const struct work works[];
extern const size_t work_count;

/* work_sem.c */
void work_handoff(void);
void work_fifo(void);
void work_timed_grant(void);
void work_timed_out(void);
void work_upto(void);
void work_barging(void);
void work_interruptible(void);
void work_max_waiters(void);
void work_locked(void);

/* work_admin.c */
void work_close(void);
void work_close_drain(void);
void work_resize(void);
void work_idle(void);
void work_destroy(void);
void work_panic(void);
void work_fork(void);
void work_heap(void);

/* work_ctx.c */
void work_cancel(void);
void work_ctx_deadline(void);
void work_ctx_wait(void);
void work_ctx_wait_late(void);
void work_ctx_tree(void);
void work_ctx_lock(void);

/*
 * Check that sem is at rest: all permits free, no waiters.  Ends the plan's
 * fault, if it is still active, and checks that sem still works.
 */
#define check_rest(sem, capacity)                                              \
	check_rest_at(__FILE__, __LINE__, sem, capacity)
void check_rest_at(const char *file, int line, weir_sem *sem, int64_t capacity);

/*
 * Run each work with each fault at its 1st, 2nd, ... call, until the fault is
 * not reached any more; once and sticky.  Prints the number of points reached.
 * `skip` (may be null) returns true for combinations to omit.
 */
typedef bool skip_fn(const struct fault *fault, const struct work *work);
void sweep(const struct fault *faults, size_t count, skip_fn *skip);

/* Print the total of all sweeps so far. */
void sweep_total(const char *what);

#endif /* TESTS_FAULT_WORK_H */
