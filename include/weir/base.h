/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_H
#define WEIR_BASE_H

/*
 * Definitions that every weir header uses: errors, time, and the handling of
 * misuse.
 */
#include <stdint.h>

#ifdef __cplusplus
#define WEIR_DECLS_BEGIN extern "C" {
#define WEIR_DECLS_END }
#else
#define WEIR_DECLS_BEGIN
#define WEIR_DECLS_END
#endif

#define WEIR_API __attribute__((visibility("default")))
#define WEIR_MUST_USE __attribute__((warn_unused_result))

/*
 * Null pointers and casts in macros that programs expand, in the form of the
 * language: a program in C++ may be compiled with -Wold-style-cast and
 * -Wzero-as-null-pointer-constant.
 */
#ifdef __cplusplus
#define WEIR_NULL_ nullptr
#define WEIR_CAST_(type, value) static_cast<type>(value)
#else
#define WEIR_NULL_ 0
#define WEIR_CAST_(type, value) ((type)(value))
#endif

/* Names that are unique in a file, for the macros of scoped objects. */
#define WEIR_AT_LINE_(name, line) WEIR_PASTE_(name, line)
#define WEIR_PASTE_(a, b) a##b
#define WEIR_CLEANUP_(fn) __attribute__((cleanup(fn)))

WEIR_DECLS_BEGIN

/* The version of these headers; weir_version() returns the library's. */
#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

/* Returns a string such as "0.1.0", in static storage. */
WEIR_API const char *weir_version(void);

/*
 * Errors.  WEIR_OK is 0; the errors are negative.  If a call returns an error,
 * then it has changed nothing, unless its comment differs.
 *
 * WEIR_EBUSY has one meaning for each kind of call: a destroy finds the object
 * in use; a call that would wait finds max_waiters calls waiting; a cancel comes
 * too late.
 *
 * The enum, weir_err_name() and weir_err_text() are generated from this list.
 */
#define WEIR_ERR_LIST_(X)                                                      \
	X(WEIR_OK, 0, "success")                                               \
	X(WEIR_ECANCELED, -1, "the context was cancelled")                     \
	X(WEIR_ETIMEDOUT, -2, "the deadline passed")                           \
	X(WEIR_ECLOSED, -3, "the object is closed")                            \
	X(WEIR_ETOOBIG, -4, "more permits than the capacity")                  \
	X(WEIR_EAGAIN, -5, "too few permits are free, or others wait first")   \
	X(WEIR_EBUSY, -6, "in use, too many waiters, or too late to cancel")   \
	X(WEIR_EINVAL, -7, "invalid argument")                                 \
	X(WEIR_EOVERFLOW, -8, "more permits than are held")                    \
	X(WEIR_EINTR, -9, "interrupted by a signal")                           \
	X(WEIR_ENOMEM, -10, "out of memory")                                   \
	X(WEIR_ESYSTEM, -11, "system error; see errno")                        \
	X(WEIR_EQUEUED, -12, "queued; the callback reports the outcome")       \
	X(WEIR_EOPEN, -13, "the circuit breaker is open")                      \
	X(WEIR_EFULL, -14, "the table has no room for another key")            \
	X(WEIR_ELOST, -15, "the lease was lost")                               \
	X(WEIR_EINDETERMINATE, -16, "no answer: the outcome is unknown")

typedef enum weir_err {
#define WEIR_ERR_ENUM_(name, value, text) name = (value),
	WEIR_ERR_LIST_(WEIR_ERR_ENUM_)
#undef WEIR_ERR_ENUM_
	WEIR_ERR_LAST_ = INT32_MIN /* fixes the type's size; never returned */
} weir_err;

/* Return "WEIR_ECLOSED" and "the object is closed".  Never null. */
WEIR_API const char *weir_err_name(weir_err err);
WEIR_API const char *weir_err_text(weir_err err);

/*
 * Time is CLOCK_MONOTONIC in nanoseconds: setting the wall clock changes
 * nothing.  A deadline is an absolute time.
 */
#define WEIR_FOREVER INT64_MAX

WEIR_API int64_t weir_now_ns(void);

/*
 * Returns the deadline timeout_ns from now.  If the sum exceeds the range, then
 * the result is WEIR_FOREVER.  If timeout_ns is negative, then the deadline is
 * the current time.
 */
WEIR_API int64_t weir_deadline_after(int64_t timeout_ns);

/*
 * Programming errors, such as an over-release or the use of a destroyed object,
 * are reported to the panic hook with a one-line message: the call panics.  The
 * default hook writes the line to standard error and aborts.  If the hook
 * returns, then the call has no effect, and returns WEIR_EINVAL if it returns a
 * weir_err.
 *
 * The hook runs on the thread of the call, possibly in a signal handler, and
 * never while weir holds a lock, except that of a weir_all: see
 * weir_diag_set_hook.  It must return or end the process: if it leaves in another
 * way (exception, longjmp, pthread_exit), then the call may be half done.
 *
 * One exception to "no effect": if a resize or a forget detects an earlier
 * over-release, then it panics after it has taken effect, and it returns
 * WEIR_OK.
 */
typedef void weir_panic_fn(const char *message);

/*
 * Set the panic hook; null restores the default.  Returns the previous hook, or
 * null if that was the default.
 */
WEIR_API weir_panic_fn *weir_set_panic_hook(weir_panic_fn *hook);

/* A link of a doubly linked list; private to the library. */
struct weir_ring_ {
	struct weir_ring_ *prev_, *next_;
};

WEIR_DECLS_END

#endif /* WEIR_BASE_H */
