/* SPDX-License-Identifier: MIT */
/*
 * Small programs of a few threads that together make every call of the library.
 * Each is deterministic but for the faults: it checks what every call returned,
 * that everything is back afterwards, and that the same objects go on working
 * when the fault is over.
 */
#ifndef TESTS_FAULT_WORK_H
#define TESTS_FAULT_WORK_H

#include "inject.h"
#include "job.h"

struct work {
	const char *name;
	void (*run)(void);
	bool by_time;	/* something in it ends by its deadline alone */
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
 * sem is at rest with this capacity: all free, nobody waits.  Ends the plan's
 * fault, if it is still on, and shows that sem goes on working.
 */
#define check_rest(sem, capacity)                                              \
	check_rest_at(__FILE__, __LINE__, sem, capacity)
void check_rest_at(const char *file, int line, weir_sem *sem, int64_t capacity);

/*
 * Run the works, each with each of the faults at its 1st, 2nd, ... call, until
 * the fault is not reached any more; once and sticky.  Prints how many points
 * were reached.  `skip` (may be null) tells which pairs make no sense.
 */
typedef bool skip_fn(const struct fault *fault, const struct work *work);
void sweep(const struct fault *faults, size_t count, skip_fn *skip);

/* Print what all sweeps so far come to. */
void sweep_total(const char *what);

#endif /* TESTS_FAULT_WORK_H */
