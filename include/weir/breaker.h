/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BREAKER_H
#define WEIR_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * weir_breaker: a circuit breaker, used around a limit or a pool.  It counts
 * the results of calls to a service.  If too many calls fail, then the breaker
 * opens, and for some time calls are refused at once.  Then a few calls pass as
 * probes; their results close the breaker or open it again.
 *
 *     err = weir_breaker_enter(&backend, &pass);
 *     if (err)
 *             return err;             // WEIR_EOPEN: not now
 *     err = call(...);
 *     weir_breaker_leave(&backend, pass, err == WEIR_OK);
 *
 *      +--------+  failures of the last window calls   +------+
 *      | CLOSED | -----------------------------------> | OPEN | <--+
 *      +--------+                                      +------+    |
 *          ^                                    after open_ns |    | one fails
 *          |  all probes succeed                              v    |
 *          +-------------------------------------------- +-----------+
 *                                                        | HALF OPEN |
 *                                                        +-----------+
 *
 * If the state has changed since a call entered, then its result is ignored.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Every function may be called from any thread after init.
 *   Memory    No function allocates, and there is no destroy.
 *   Waiting   No function waits, except for a short internal lock.
 *   Signals   No function is async-signal-safe.
 *   Time      Times are weir_now_ns(); the _at forms get the time as an
 *             argument.
 *   Fork      The child has its own copy.  If another thread was inside a call
 *             at the fork, then a call in the child panics.
 *   Misuse    As in weir/sem.h.  If a breaker is null or zeroed, then the
 *             result is WEIR_EINVAL, or a panic where no error can be returned.
 */
typedef enum weir_breaker_state {
	WEIR_BREAKER_CLOSED = 0,
	WEIR_BREAKER_OPEN = 1,
	WEIR_BREAKER_HALF_OPEN = 2
} weir_breaker_state;

typedef struct weir_breaker {
	uint64_t results_;	/* last results; 1: failed; newest lowest */
	uint64_t term_;		/* number of changes of state */
	int64_t since_ns_;	/* start of the state */
	int64_t open_ns_;
	int64_t passed_, refused_, opened_;
	uint32_t lock_;
	uint32_t state_;
	uint32_t counted_;	/* results, at most window_ */
	uint32_t window_, failures_, probes_;
	uint32_t out_, good_;	/* probes that entered; that succeeded */
	int64_t probed_ns_;	/* when the last probe entered */
	uint32_t ready_;	/* src/pattern/ready.h */
	uint32_t unused_;
	uint64_t inside_;	/* calls of this term that have not left */
	uint64_t reserved_[1];	/* zero, for later versions */
} weir_breaker;

#define WEIR_BREAKER_WINDOW_MAX 64

/* Options for weir_breaker_init; zero means the default in every field. */
typedef struct weir_breaker_opts {
	uint32_t window;	/* last results counted, up to 64; 0: 20 */
	uint32_t failures;	/* failures that open it; 0: half the window */
	uint32_t probes;	/* successes that close it; 0: 1 */
	uint32_t flags;		/* 0 */
	int64_t open_ns;	/* 0: one second */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_breaker_opts;

/* weir_breaker_enter sets a pass, and weir_breaker_leave takes it. */
typedef struct weir_breaker_pass {
	uint64_t term_;
} weir_breaker_pass;

/* Set up *breaker as closed; null options are the defaults. */
WEIR_API WEIR_MUST_USE weir_err
weir_breaker_init(weir_breaker *breaker, const weir_breaker_opts *opts);

/*
 * Ask for permission to make a call.
 *
 *   WEIR_OK      Make the call, then pass its result to leave.
 *   WEIR_EOPEN   The breaker is open, or enough probes are in progress.
 *
 * If some probes have not returned open_ns after the last probe entered, then
 * they are abandoned and new probes are admitted.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_breaker_enter(weir_breaker *breaker, weir_breaker_pass *pass);
WEIR_API WEIR_MUST_USE weir_err
weir_breaker_enter_at(weir_breaker *breaker, int64_t now_ns,
		      weir_breaker_pass *pass);

/*
 * Report whether the call succeeded.  Each pass is used once.  If more calls
 * leave than have entered since the last change of state, then the call panics.
 * A second leave with one pass is not detected while other calls are inside:
 * its result is counted instead of theirs.
 */
WEIR_API void weir_breaker_leave(weir_breaker *breaker, weir_breaker_pass pass,
				 bool good);
WEIR_API void weir_breaker_leave_at(weir_breaker *breaker, int64_t now_ns,
				    weir_breaker_pass pass, bool good);

typedef struct weir_breaker_info {
	weir_breaker_state state;
	uint32_t counted;	/* results that are counted while closed */
	uint32_t failed;	/* of these, failures */
	int64_t passed, refused, opened;	/* since init */
	int64_t since_ns;	/* start of the state; 0: at init */
	uint64_t reserved_[4];
} weir_breaker_info;

WEIR_API WEIR_MUST_USE weir_err
weir_breaker_stat(weir_breaker *breaker, weir_breaker_info *info);

WEIR_DECLS_END

#endif /* WEIR_BREAKER_H */
