/* SPDX-License-Identifier: MIT */
/*
 * Faults are injected below the library: every call that it makes to libc goes
 * through a __wrap_ function (the linker's --wrap).  The wrapper makes the real
 * call or not, and returns the real result or a false one.
 *
 * A plan is one fault at the Nth call that it applies to: once, or "sticky",
 * from that call on.  Faults affect only the threads of jobs (job.h), so a test
 * can inspect the state without faults.
 */
#ifndef TESTS_FAULT_INJECT_H
#define TESTS_FAULT_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum place {
	AT_WAIT,	/* syscall(SYS_futex), FUTEX_WAIT_BITSET */
	AT_WAKE,	/* syscall(SYS_futex), FUTEX_WAKE */
	AT_FUTEX,	/* both: a sandbox without futexes */
	AT_PPOLL,	/* syscall(SYS_ppoll) */
	AT_CLOSE,	/* syscall(SYS_close) */
	AT_WRITE,	/* syscall(SYS_write) */
	AT_TIMER,	/* timerfd_create */
	AT_SETTIME,	/* timerfd_settime */
	AT_MEMORY,	/* posix_memalign */
	AT_GETCPU,	/* sched_getcpu */
	AT_YIELD,	/* sched_yield */
	AT_CLOCK	/* clock_gettime */
};

/* The fault of the clock (AT_CLOCK): vclock.c. */
enum clock_fault {
	CLOCK_HOURS,	/* jumps ahead by hours */
	CLOCK_BACK,	/* goes back by seconds */
	CLOCK_BOOT,	/* goes back to its start */
	CLOCK_STILL,	/* stops for a while */
	CLOCK_LATE,	/* 10 s before the maximum */
	CLOCK_END,	/* 1 us before the maximum */
	CLOCK_LAST	/* at the maximum, INT64_MAX ns */
};

struct fault {
	const char *name;
	enum place place;
	long result;		/* result of the call ... */
	int error;		/* ... and errno, unless 0 */
	bool done;		/* make the real call first */
	enum clock_fault clock;
};

/*
 * Returns true if the plan's fault applies to this call; counts the calls that
 * it could apply to.
 */
bool fault_due(enum place place);

/* The result of a faulty call; sets errno. */
long fault_result(void);

/* The active fault; null: none. */
const struct fault *fault_now(void);
bool fault_is_sticky(void);

/* A description of the plan, for messages. */
const char *fault_plan(void);

/*
 * fault_begin() starts a plan; fault_end() ends it and returns the number of
 * faulty calls.
 */
void fault_begin(const struct fault *fault, bool sticky, int nth,
		 const char *work);
int fault_end(void);

/*
 * Count the faulty calls in *counter, which a child may share with its parent.
 */
void fault_counts_in(int *counter);

/*
 * Repeat the wakes that a fault has suppressed.  A lost wake leaves its sleeper
 * asleep, and no library can prevent that.  The promise is that the sleeper has
 * its permits when another event wakes it; this function is that event.
 */
void fault_repeat_lost_wakes(void);

/* Memory blocks and descriptors that the library has not released yet. */
int fault_live_blocks(void);
int fault_live_descriptors(void);
void fault_descriptor_is_gone(void);

/* Returns true if a poll was interrupted and has not been repeated. */
bool fault_poll_is_owed(void);

/*
 * The number of CPUs that the library sees when it is loaded; 0: the real one.
 */
extern const int fault_cpus;

/*
 * The clock that the library reads: the real one until a plan changes it.  Then
 * sleeps use the changed clock too, and a sleep that only its deadline ends
 * makes that clock jump to the deadline, so that no test waits for hours.
 */
int64_t clock_real(void);
int64_t clock_now(void);

/* The latest time that the library has read. */
int64_t clock_latest(void);
void clock_reset(void);
bool clock_is_changed(void);

/* One futex wait, by the changed clock. */
long clock_wait(uint32_t *word, int op, uint32_t value, int64_t until_ns);

#endif /* TESTS_FAULT_INJECT_H */
