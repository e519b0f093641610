/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SEMAPHORE_HPP
#define WEIR_SEMAPHORE_HPP

/*
 * weir for C++17 and later: semaphores, contexts, a reader-writer lock, pools
 * and task groups as classes.  Everything is defined in headers, on top of
 * the C interface; the program links with libweir.  A program includes this
 * header, and not its parts in weir/cpp, whose names may change.
 *
 *   counting_semaphore<Max>, binary_semaphore
 *                 The interface of std::counting_semaphore, as a replacement by
 *                 alias: `using weir::counting_semaphore;`.
 *   semaphore     weir_sem with weights, deadlines of any clock, stop tokens,
 *                 contexts, close and resize.
 *   permit        weir/permit.h; semaphore::hold makes one.
 *   context       weir_ctx.
 *   rwlock        weir_rwlock, for std::unique_lock and std::shared_lock.
 *   pool<T>       weir_pool; a loan gives its resource back.
 *   group         weir_group; its tasks are callable objects.
 *   loop          weir_loop; `co_await sem.async_acquire(loop)` in C++20.
 *
 * The following holds for every class unless its comment differs.
 *
 *   Threads   As the C object.  A constructor and a destructor must not run
 *             concurrently with another call on the object.
 *   Memory    semaphore, context and rwlock allocate nothing.  No object can be
 *             copied or moved, except permit and loan, which can be moved.
 *   Errors    A call that cannot succeed throws weir::error, a std::system_error
 *             whose code is the weir_err.  A try_ call, and a call with a stop
 *             token, returns false for the expected outcome (no permits are
 *             free, the deadline passed, a stop was requested) and throws for
 *             every other error.
 *   Deadlines A deadline of std::chrono::steady_clock is passed on as it is.  A
 *             deadline of another clock is converted when the wait begins.  If
 *             the wait ends and that clock has not reached the deadline, because
 *             it was set back, then the wait is repeated from the tail of the
 *             queue.  If that clock is set forward, then this does not end the
 *             wait earlier.
 *   Orders    As the C object.
 *   Signals   As the C object: a signal handler may call release of a
 *             semaphore, and nothing else.
 *   Fork      As the C object.
 *   Misuse    As the C object: the panic hook is called.  If an object is
 *             destroyed while it is in use, then std::terminate is called.
 */
#include "weir/cpp/error.hpp"
#include "weir/cpp/deadline.hpp"
#include "weir/cpp/counting_semaphore.hpp"
#include "weir/cpp/context.hpp"
#include "weir/cpp/semaphore.hpp"
#include "weir/cpp/loop.hpp"
#include "weir/cpp/coroutine.hpp"
#include "weir/cpp/rwlock.hpp"
#include "weir/cpp/pool.hpp"
#include "weir/cpp/group.hpp"

#endif /* WEIR_SEMAPHORE_HPP */
