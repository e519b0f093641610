/* SPDX-License-Identifier: MIT */
/*
 * Faults, injected below the library: every call that it makes to libc goes
 * through a __wrap_ function (the linker's --wrap), which does the real thing,
 * or not, and tells the library the truth, or not.
 *
 * A plan is one fault, at the Nth call that it can befall: once, or "sticky",
 * from that call on.  It befalls the threads of jobs (job.h) and no others, so
 * a test can look at things meanwhile.
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

/* What happens to the clock (AT_CLOCK): vclock.c. */
enum clock_fault {
	CLOCK_HOURS,	/* leaps ahead */
	CLOCK_BACK,	/* goes back by seconds */
	CLOCK_BOOT,	/* goes back to its start */
	CLOCK_STILL,	/* stands still */
	CLOCK_LATE,	/* ten seconds before the end of time */
	CLOCK_END,	/* a microsecond before it */
	CLOCK_LAST	/* at its very end */
};

struct fault {
	const char *name;
	enum place place;
	long result;		/* what the call returns ... */
	int error;		/* ... with this in errno, unless it is 0 */
	bool done;		/* the real call is made first */
	enum clock_fault clock;
};

/*
 * Whether the plan's fault befalls this call.  Counts the calls that it could
 * befall.
 */
bool fault_due(enum place place);

/* What that call then returns; errno is set. */
long fault_lie(void);

/* The fault under way; null: none. */
const struct fault *fault_now(void);
bool fault_is_sticky(void);

/* What the plan says, for messages. */
const char *fault_plan(void);

/* Begin a plan; end it, and tell how often it has befallen a call. */
void fault_begin(const struct fault *fault, bool sticky, int nth,
		 const char *work);
int fault_end(void);

/* Count that elsewhere: in memory that a child shares with its parent. */
void fault_counts_in(int *counter);

/*
 * A wake that failed leaves its sleeper asleep: no library can help that.  What
 * is promised is that the sleeper has its permits when something else wakes it.
 * This is the something else.
 */
void fault_wake_the_forgotten(void);

/* Memory and descriptors that the library has and has not given back. */
int fault_live_blocks(void);
int fault_live_descriptors(void);
void fault_descriptor_is_gone(void);

/* A poll was interrupted and has not been made again. */
bool fault_poll_is_owed(void);

/* How many CPUs the library is told of when it is loaded; 0: the truth. */
extern const int fault_cpus;

/*
 * The clock that the library reads.  It is the real one, until a plan changes
 * it.  Then sleeps follow it too, and one that nothing ends but its deadline
 * makes it leap there, so that no test waits for hours.
 */
int64_t clock_real(void);
int64_t clock_now(void);

/* The latest time that the library has been told. */
int64_t clock_latest(void);
void clock_reset(void);
bool clock_is_changed(void);

/* One sleep on a futex, by that clock. */
long clock_wait(uint32_t *word, int op, uint32_t value, int64_t until_ns);

#endif /* TESTS_FAULT_INJECT_H */
