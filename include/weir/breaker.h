/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BREAKER_H
#define WEIR_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/base.h"

WEIR_DECLS_BEGIN

/*
 * weir_breaker: a circuit breaker, to stand around a limit or a pool.  It counts how
 * calls to something end; when too many fail it is opened, and for a while calls
 * are refused at once instead of waiting for what does not work.  Then a few are let
 * through as probes, and their results close it or open it again.
 *
 *     err = weir_breaker_enter(&backend, &pass);
 *     if (err)
 *             return err;             // WEIR_EAGAIN: not now
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
 * The result of a call that entered before the state changed last is ignored.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   Callable from any thread between init and the last use.
 *   Memory    Allocates nothing, waits for nobody, needs no destroy.
 *   Signals   Not async-signal-safe.
 *   Time      weir_now_ns(); the _at forms take the time from their caller.
 *   Fork      The child has a copy.
 *   Misuse    As in weir/sem.h: a null or zeroed breaker is WEIR_EINVAL, or a
 *             panic where no error can be returned.
 */
typedef enum weir_breaker_state {
	WEIR_BREAKER_CLOSED = 0,
	WEIR_BREAKER_OPEN = 1,
	WEIR_BREAKER_HALF_OPEN = 2
} weir_breaker_state;

typedef struct weir_breaker {
	uint64_t results_;	/* of the last calls: 1 failed; newest lowest */
	uint64_t term_;		/* counts changes of state */
	int64_t since_ns_;	/* of the state */
	int64_t open_ns_;
	int64_t passed_, refused_, opened_;
	uint32_t lock_;
	uint32_t state_;
	uint32_t counted_;	/* results, at most window */
	uint32_t window_, failures_, probes_;
	uint32_t out_, good_;	/* probes let through; that succeeded */
	int64_t probed_ns_;	/* when the last of them was let through */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_breaker;

#define WEIR_BREAKER_WINDOW_MAX 64

/* Zero means the default throughout. */
typedef struct weir_breaker_opts {
	uint32_t window;	/* calls looked back at, up to 64; 0: 20 */
	uint32_t failures;	/* among them that open it; 0: half the window */
	uint32_t probes;	/* that close it; 0: 1 */
	uint32_t flags;		/* 0 */
	int64_t open_ns;	/* 0: a second */
	uint64_t reserved_[3];	/* zero, for later versions */
} weir_breaker_opts;

/* What enter gives and leave takes. */
typedef struct weir_breaker_pass {
	uint64_t term_;
} weir_breaker_pass;

/* Set up *breaker, closed; null options are the defaults. */
WEIR_API WEIR_MUST_USE weir_err
weir_breaker_init(weir_breaker *breaker, const weir_breaker_opts *opts);

/*
 * May a call be made?  WEIR_OK: yes, and leave has to tell how it ended.
 * WEIR_EAGAIN: no; it is open, or enough probes are under way.  (Probes of which
 * some are not back open_ns after the last went in are given up, and others let
 * through.)
 */
WEIR_API WEIR_MUST_USE weir_err
weir_breaker_enter(weir_breaker *breaker, weir_breaker_pass *pass);
WEIR_API WEIR_MUST_USE weir_err
weir_breaker_enter_at(weir_breaker *breaker, int64_t now_ns,
		      weir_breaker_pass *pass);

/* How the call ended. */
WEIR_API void weir_breaker_leave(weir_breaker *breaker, weir_breaker_pass pass,
				 bool good);
WEIR_API void weir_breaker_leave_at(weir_breaker *breaker, int64_t now_ns,
				    weir_breaker_pass pass, bool good);

typedef struct weir_breaker_info {
	weir_breaker_state state;
	uint32_t counted;	/* results that are looked at while closed */
	uint32_t failed;	/* of these */
	int64_t passed, refused, opened;	/* since init */
	int64_t since_ns;	/* when the state began; 0: at init */
	uint64_t reserved_[4];
} weir_breaker_info;

WEIR_API WEIR_MUST_USE weir_err
weir_breaker_stat(weir_breaker *breaker, weir_breaker_info *info);

WEIR_DECLS_END

#endif /* WEIR_BREAKER_H */
