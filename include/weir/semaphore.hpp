/* SPDX-License-Identifier: MIT */
#ifndef WEIR_SEMAPHORE_HPP
#define WEIR_SEMAPHORE_HPP

/*
 * weir for C++17 and later: semaphores, contexts, a reader-writer lock, pools
 * and task groups as classes.  Everything is defined in this header, on top of
 * the C interface; the program links with libweir.
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
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__GLIBCXX__) && defined(__GLIBC__)
#include <cxxabi.h>
#define WEIR_FORCED_UNWIND_ 1
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif
#if defined(__cpp_impl_coroutine) && defined(__cpp_lib_coroutine)
#include <coroutine>
#define WEIR_COROUTINES_ 1
#endif

#include "weir/async.h"
#include "weir/base.h"
#include "weir/ctx.h"
#include "weir/group.h"
#include "weir/loop.h"
#include "weir/permit.h"
#include "weir/pool.h"
#include "weir/rwlock.h"
#include "weir/sem.h"

namespace weir {

/*
 * Errors
 */

class error_category_ final : public std::error_category {
public:
	const char *name() const noexcept override { return "weir"; }
	std::string message(int value) const override
	{
		return weir_err_text(static_cast<weir_err>(value));
	}
	std::error_condition
	default_error_condition(int value) const noexcept override
	{
		switch (value) {
		case WEIR_ECANCELED:
			return std::errc::operation_canceled;
		case WEIR_ETIMEDOUT:
			return std::errc::timed_out;
		case WEIR_EAGAIN:
			return std::errc::resource_unavailable_try_again;
		case WEIR_EBUSY:
			return std::errc::device_or_resource_busy;
		case WEIR_EINVAL:
			return std::errc::invalid_argument;
		case WEIR_EOVERFLOW:
			return std::errc::value_too_large;
		case WEIR_EINTR:
			return std::errc::interrupted;
		case WEIR_ENOMEM:
			return std::errc::not_enough_memory;
		default:
			return std::error_condition(value, *this);
		}
	}
};

/* The category of error codes whose value is a weir_err. */
inline const std::error_category &category() noexcept
{
	static const error_category_ instance;

	return instance;
}

/* Thrown by the classes of this header; code().value() is the weir_err. */
class error : public std::system_error {
public:
	explicit error(weir_err err)
		: std::system_error(static_cast<int>(err), category()) {}
	weir_err err() const noexcept
	{
		return static_cast<weir_err>(code().value());
	}
};

namespace detail {

inline void check(weir_err err)
{
	if (err != WEIR_OK)
		throw error(err);
}

/* Returns false for the expected outcome `no`. */
inline bool check_unless(weir_err err, weir_err no)
{
	if (err == no)
		return false;
	check(err);
	return true;
}

inline void check_destroyed(weir_err err) noexcept
{
	if (err != WEIR_OK)
		std::terminate();
}

/* Round up to nanoseconds; saturates at the limits of int64_t. */
template <class Rep, class Period>
int64_t to_ns(const std::chrono::duration<Rep, Period> &time)
{
	using seconds = std::chrono::duration<double>;
	using ns = std::chrono::duration<int64_t, std::nano>;
	const double about = std::chrono::duration_cast<seconds>(time).count();

	if (about >= 9.2e9)
		return WEIR_FOREVER;
	if (about <= -9.2e9)
		return std::numeric_limits<int64_t>::min();
	ns rounded = std::chrono::duration_cast<ns>(time);
	if (rounded < time)
		rounded += ns(1);
	return rounded.count();
}

/* Returns end - now, or 0 if that is negative; saturates at WEIR_FOREVER. */
inline int64_t time_left(int64_t end, int64_t now) noexcept
{
	if (end <= now)
		return 0;
	if (now < 0 && end > WEIR_FOREVER + now)
		return WEIR_FOREVER;
	return end - now;
}

/*
 * Call wait(deadline_ns), which returns a weir_err, until it returns something
 * else than WEIR_ETIMEDOUT or `until` has been reached.  The times are compared
 * in nanoseconds that saturate: the difference of two time points can overflow.
 */
template <class Clock, class Duration, class Wait>
weir_err wait_until(const std::chrono::time_point<Clock, Duration> &until,
		    Wait wait)
{
	const int64_t end = to_ns(until.time_since_epoch());

	if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
		return wait(end);
	} else {
		const auto now = [] {
			return to_ns(Clock::now().time_since_epoch());
		};

		for (;;) {
			weir_err err = wait(
				weir_deadline_after(time_left(end, now())));

			if (err != WEIR_ETIMEDOUT || now() >= end)
				return err;
		}
	}
}

template <class Rep, class Period>
int64_t deadline_after(const std::chrono::duration<Rep, Period> &time)
{
	return weir_deadline_after(to_ns(time));
}

} /* namespace detail */

/*
 * counting_semaphore
 *
 * The interface of std::counting_semaphore (C++20), for C++17 and later.  The
 * differences: waiters are granted in order of arrival; try_acquire never fails
 * spuriously; a release beyond max() panics.  The constructor is constexpr: an
 * object of static storage duration needs no code at start-up, and may be
 * constinit.  The destructor is trivial.
 */
template <std::ptrdiff_t LeastMaxValue = static_cast<std::ptrdiff_t>(
		  sizeof(std::ptrdiff_t) < 8 ? PTRDIFF_MAX : WEIR_SEM_MAX)>
class counting_semaphore {
	static_assert(LeastMaxValue >= 0 && LeastMaxValue <= WEIR_SEM_MAX,
		      "the maximum must be in 0 .. WEIR_SEM_MAX");

public:
	static constexpr std::ptrdiff_t max() noexcept
	{
		return LeastMaxValue;
	}

	constexpr explicit counting_semaphore(std::ptrdiff_t desired)
		: sem_ WEIR_SEM_INIT_(desired, LeastMaxValue, 0) {}
	~counting_semaphore() = default;
	counting_semaphore(const counting_semaphore &) = delete;
	counting_semaphore &operator=(const counting_semaphore &) = delete;

	void release(std::ptrdiff_t update = 1)
	{
		weir_sem_release(&sem_, update);
	}
	void acquire()
	{
		detail::check(weir_sem_acquire(&sem_, 1, nullptr));
	}
	bool try_acquire() noexcept
	{
		return weir_sem_try_acquire(&sem_, 1) == WEIR_OK;
	}
	template <class Rep, class Period>
	bool try_acquire_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::check_unless(
			weir_sem_acquire_for(&sem_, 1, detail::to_ns(time)),
			WEIR_ETIMEDOUT);
	}
	template <class Clock, class Duration>
	bool try_acquire_until(
		const std::chrono::time_point<Clock, Duration> &until)
	{
		return detail::check_unless(
			detail::wait_until(until, [this](int64_t at_ns) {
				return weir_sem_acquire_until(&sem_, 1, at_ns);
			}), WEIR_ETIMEDOUT);
	}

	/* For the functions of weir/sem.h. */
	weir_sem *native_handle() noexcept { return &sem_; }

private:
	weir_sem sem_;
};

using binary_semaphore = counting_semaphore<1>;

/*
 * context: a weir_ctx that is cancelled and retired by the destructor.
 */
class context {
public:
	/* A context without parent or deadline. */
	context() noexcept : ctx_ WEIR_CTX_INIT {}
	/* Below parent (may be null), with a deadline in ns (weir/ctx.h). */
	explicit context(weir_ctx *parent, int64_t deadline_ns = WEIR_FOREVER)
		: ctx_ WEIR_CTX_INIT
	{
		detail::check(weir_ctx_init(&ctx_, parent, deadline_ns));
	}
	explicit context(context &parent)
		: context(&parent.ctx_, WEIR_FOREVER) {}
	template <class Rep, class Period>
	context(weir_ctx *parent,
		const std::chrono::duration<Rep, Period> &timeout)
		: context(parent, detail::deadline_after(timeout)) {}
	template <class Rep, class Period>
	explicit context(const std::chrono::duration<Rep, Period> &timeout)
		: context(nullptr, detail::deadline_after(timeout)) {}
	~context() { weir_ctx_end(&ctx_); }
	context(const context &) = delete;
	context &operator=(const context &) = delete;

	void cancel(const void *cause = nullptr) noexcept
	{
		weir_ctx_cancel_with(&ctx_, cause);
	}
	const void *cause() const noexcept { return weir_ctx_cause(&ctx_); }
	/* WEIR_OK while the context has not ended, then the reason. */
	weir_err err() noexcept { return weir_ctx_err(&ctx_); }
	bool ended() noexcept { return err() != WEIR_OK; }
	void throw_if_ended() { detail::check(err()); }
	/* Sleep until the context ends (true) or the time is over (false). */
	template <class Rep, class Period>
	bool wait_for(const std::chrono::duration<Rep, Period> &time)
	{
		return weir_ctx_wait(&ctx_, detail::deadline_after(time)) !=
		       WEIR_EAGAIN;
	}
	void wait() { (void)!weir_ctx_wait(&ctx_, WEIR_FOREVER); }

	weir_ctx *native_handle() noexcept { return &ctx_; }

private:
	weir_ctx ctx_;
};

#ifdef __cpp_lib_jthread
namespace detail {

/* A context that ends when a stop is requested. */
class stop_context {
public:
	stop_context(const std::stop_token &token, int64_t deadline_ns)
		: ctx_(nullptr, deadline_ns), stop_(token, cancel{ &ctx_ }) {}
	weir_ctx *get() noexcept { return ctx_.native_handle(); }

private:
	struct cancel {
		context *ctx;
		void operator()() const noexcept { ctx->cancel(); }
	};
	context ctx_;
	/* Destroyed first: its destructor waits for a running cancel. */
	std::stop_callback<cancel> stop_;
};

} /* namespace detail */
#endif

class loop;
#ifdef WEIR_COROUTINES_
class acquire_awaiter;
#endif

/* Options of a semaphore: those of weir_sem_opts. */
using semaphore_options = weir_sem_opts;

/*
 * semaphore: a weir_sem.  The constructor from a number is constexpr.  The
 * destructor calls weir_sem_destroy.
 */
class semaphore {
public:
	constexpr explicit semaphore(int64_t permits) noexcept
		: sem_ WEIR_SEM_INIT_(permits, permits, 0) {}
	explicit semaphore(const semaphore_options &options)
		: sem_ WEIR_SEM_INIT_(0, 0, 0)
	{
		detail::check(weir_sem_init_opts(&sem_, &options));
	}
	~semaphore() { detail::check_destroyed(weir_sem_destroy(&sem_)); }
	semaphore(const semaphore &) = delete;
	semaphore &operator=(const semaphore &) = delete;

	void acquire(int64_t n = 1, weir_ctx *ctx = nullptr)
	{
		detail::check(weir_sem_acquire(&sem_, n, ctx));
	}
	void acquire(int64_t n, context &ctx)
	{
		acquire(n, ctx.native_handle());
	}
	bool try_acquire(int64_t n = 1)
	{
		return detail::check_unless(weir_sem_try_acquire(&sem_, n),
					    WEIR_EAGAIN);
	}
	/* May overtake the queue: weir_sem_try_acquire_barging. */
	bool try_acquire_barging(int64_t n = 1)
	{
		return detail::check_unless(
			weir_sem_try_acquire_barging(&sem_, n), WEIR_EAGAIN);
	}
	template <class Rep, class Period>
	bool try_acquire_for(const std::chrono::duration<Rep, Period> &time,
			     int64_t n = 1)
	{
		return detail::check_unless(
			weir_sem_acquire_for(&sem_, n, detail::to_ns(time)),
			WEIR_ETIMEDOUT);
	}
	template <class Clock, class Duration>
	bool try_acquire_until(
		const std::chrono::time_point<Clock, Duration> &until,
		int64_t n = 1)
	{
		return detail::check_unless(
			detail::wait_until(until, [this, n](int64_t at_ns) {
				return weir_sem_acquire_until(&sem_, n, at_ns);
			}), WEIR_ETIMEDOUT);
	}
#ifdef __cpp_lib_jthread
	/*
	 * Returns false if a stop was requested, also if permits are free.  When
	 * request_stop has returned, no acquire with its token succeeds (C13).
	 */
	bool acquire(int64_t n, const std::stop_token &token)
	{
		if (!token.stop_possible()) {
			acquire(n);
			return true;
		}
		detail::stop_context ctx(token, WEIR_FOREVER);
		return detail::check_unless(
			weir_sem_acquire(&sem_, n, ctx.get()), WEIR_ECANCELED);
	}
	/* Returns false if a stop was requested or the time is over. */
	template <class Rep, class Period>
	bool try_acquire_for(const std::chrono::duration<Rep, Period> &time,
			     int64_t n, const std::stop_token &token)
	{
		detail::stop_context ctx(token, detail::deadline_after(time));
		weir_err err = weir_sem_acquire(&sem_, n, ctx.get());

		return err != WEIR_ETIMEDOUT &&
		       detail::check_unless(err, WEIR_ECANCELED);
	}
	template <class Clock, class Duration>
	bool try_acquire_until(
		const std::chrono::time_point<Clock, Duration> &until,
		int64_t n, const std::stop_token &token)
	{
		weir_err err = detail::wait_until(until, [&](int64_t at_ns) {
			detail::stop_context ctx(token, at_ns);

			return weir_sem_acquire(&sem_, n, ctx.get());
		});

		return err != WEIR_ETIMEDOUT &&
		       detail::check_unless(err, WEIR_ECANCELED);
	}
#endif
	/* Returns the number taken, min .. max. */
	int64_t acquire_upto(int64_t min, int64_t max, weir_ctx *ctx = nullptr)
	{
		int64_t got = 0;

		detail::check(weir_sem_acquire_upto(&sem_, min, max, ctx,
						    &got));
		return got;
	}
	int64_t drain()
	{
		int64_t got = 0;

		detail::check(weir_sem_drain(&sem_, &got));
		return got;
	}

	/* The permits are released when the permit object is destroyed. */
	permit hold(int64_t n = 1, weir_ctx *ctx = nullptr)
	{
		permit held(sem_, n, ctx);

		detail::check(held.error());
		return held;
	}
	permit hold(int64_t n, context &ctx)
	{
		return hold(n, ctx.native_handle());
	}
	/* Returns an empty permit if that would need waiting. */
	permit try_hold(int64_t n = 1)
	{
		permit held = permit::try_acquire(sem_, n);

		(void)detail::check_unless(held.error(), WEIR_EAGAIN);
		return held;
	}

	void release(int64_t n = 1) noexcept { weir_sem_release(&sem_, n); }
	bool try_release(int64_t n = 1)
	{
		return detail::check_unless(weir_sem_try_release(&sem_, n),
					    WEIR_EOVERFLOW);
	}
	void close(weir_close how = WEIR_CLOSE_NOW) noexcept
	{
		weir_sem_close(&sem_, how);
	}
	bool closed() const noexcept { return weir_sem_is_closed(&sem_); }
	/* Both return the debt that is left. */
	int64_t resize(int64_t n)
	{
		int64_t debt = 0;

		detail::check(weir_sem_resize(&sem_, n, &debt));
		return debt;
	}
	int64_t resize_by(int64_t change)
	{
		int64_t debt = 0;

		detail::check(weir_sem_resize_by(&sem_, change, &debt));
		return debt;
	}
	void forget(int64_t n)
	{
		detail::check(weir_sem_forget(&sem_, n));
	}
	/* Unbounded: returns the number of free permits that were removed. */
	int64_t remove(int64_t max = WEIR_SEM_MAX)
	{
		int64_t removed = 0;

		detail::check(weir_sem_remove(&sem_, max, &removed));
		return removed;
	}
	void wait_idle(weir_ctx *ctx = nullptr)
	{
		detail::check(weir_sem_wait_idle(&sem_, ctx));
	}
	int64_t available() const noexcept
	{
		return weir_sem_available(&sem_);
	}
	weir_sem_info stat()
	{
		weir_sem_info info;

		detail::check(weir_sem_stat(&sem_, &info));
		return info;
	}
	std::vector<weir_sem_waiter> waiters()
	{
		std::vector<weir_sem_waiter> list;
		std::size_t n = 8;

		do {
			list.resize(n);
			detail::check(weir_sem_waiters(&sem_, list.data(),
						       list.size(), &n));
		} while (n > list.size());
		list.resize(n);
		return list;
	}

#ifdef WEIR_COROUTINES_
	/*
	 * In a coroutine, `permit p = co_await sem.async_acquire(loop, n, ctx)`
	 * waits without blocking a thread.  The coroutine is resumed by a
	 * dispatch of the loop.
	 */
	acquire_awaiter async_acquire(loop &on, int64_t n = 1,
				      weir_ctx *ctx = nullptr);
	/*
	 * Without a loop the coroutine is resumed on the thread that grants, in
	 * its release.  A ctx with a deadline is WEIR_EINVAL.  An exception must
	 * not leave the coroutine.
	 */
	acquire_awaiter async_acquire(int64_t n = 1, weir_ctx *ctx = nullptr);
#endif

	weir_sem *native_handle() noexcept { return &sem_; }

private:
	weir_sem sem_;
};

/*
 * loop: a weir_loop.  An exception that leaves a callback or a coroutine leaves
 * dispatch; operations that are ready stay ready.
 */
class loop {
public:
	loop() { detail::check(weir_loop_init(&loop_)); }
	~loop() { detail::check_destroyed(weir_loop_destroy(&loop_)); }
	loop(const loop &) = delete;
	loop &operator=(const loop &) = delete;

	int fd() const noexcept { return weir_loop_fd(&loop_); }
	int timeout_ms() noexcept { return weir_loop_timeout_ms(&loop_); }
	uint64_t dispatch() { return weir_loop_dispatch(&loop_); }
	weir_loop *native_handle() noexcept { return &loop_; }

private:
	weir_loop loop_;
};

#ifdef WEIR_COROUTINES_
/*
 * The awaitable of semaphore::async_acquire.  If the coroutine is destroyed
 * while it waits, then the request is cancelled, and permits that had been
 * granted go to the next waiter.
 */
class [[nodiscard]] acquire_awaiter {
public:
	acquire_awaiter(weir_sem &sem, weir_loop *on, int64_t n, weir_ctx *ctx)
		: sem_(sem), n_(n), ctx_(ctx)
	{
		weir_op_init(&op_, on, done, this);
	}
	~acquire_awaiter()
	{
		if (waits_)
			(void)!weir_op_cancel(&op_);
	}
	acquire_awaiter(const acquire_awaiter &) = delete;
	acquire_awaiter &operator=(const acquire_awaiter &) = delete;

	bool await_ready() const noexcept { return false; }
	bool await_suspend(std::coroutine_handle<> handle) noexcept
	{
		weir_err err;

		handle_ = handle;
		/*
		 * Set waits_ before the submit: as soon as the operation is
		 * queued, another thread may resume the coroutine and destroy
		 * *this.
		 */
		waits_ = true;
		err = weir_op_submit(&op_, &sem_, n_, ctx_);
		if (err == WEIR_EQUEUED)
			return true;
		waits_ = false;
		err_ = err;
		return false;
	}
	permit await_resume()
	{
		permit held;

		detail::check(err_);
		detail::check(weir_permit_adopt(held.get(), &sem_, n_));
		return held;
	}

private:
	static void done(weir_op *, weir_err err, void *user)
	{
		acquire_awaiter *self = static_cast<acquire_awaiter *>(user);

		self->waits_ = false;
		self->err_ = err;
		self->handle_.resume();
	}

	weir_op op_;
	weir_sem &sem_;
	int64_t n_;
	weir_ctx *ctx_;
	std::coroutine_handle<> handle_;
	weir_err err_ = WEIR_OK;
	bool waits_ = false;
};

inline acquire_awaiter semaphore::async_acquire(loop &on, int64_t n,
						weir_ctx *ctx)
{
	return acquire_awaiter(sem_, on.native_handle(), n, ctx);
}

inline acquire_awaiter semaphore::async_acquire(int64_t n, weir_ctx *ctx)
{
	return acquire_awaiter(sem_, nullptr, n, ctx);
}
#endif /* WEIR_COROUTINES_ */

/*
 * rwlock: a weir_rwlock with the interface of std::shared_timed_mutex.  The
 * default constructor is constexpr.
 */
class rwlock {
public:
	constexpr rwlock() noexcept : rw_ WEIR_RWLOCK_INIT {}
	explicit rwlock(const weir_rwlock_opts &options)
		: rw_ WEIR_RWLOCK_INIT
	{
		detail::check(weir_rwlock_init(&rw_, &options));
	}
	~rwlock() { detail::check_destroyed(weir_rwlock_destroy(&rw_)); }
	rwlock(const rwlock &) = delete;
	rwlock &operator=(const rwlock &) = delete;

	void lock() { detail::check(weir_rwlock_write(&rw_, nullptr)); }
	bool try_lock()
	{
		return detail::check_unless(weir_rwlock_try_write(&rw_),
					    WEIR_EAGAIN);
	}
	void unlock() noexcept { weir_rwlock_write_done(&rw_); }
	void lock_shared() { detail::check(weir_rwlock_read(&rw_, nullptr)); }
	bool try_lock_shared()
	{
		return detail::check_unless(weir_rwlock_try_read(&rw_),
					    WEIR_EAGAIN);
	}
	void unlock_shared() noexcept { weir_rwlock_read_done(&rw_); }

	template <class Rep, class Period>
	bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::check_unless(
			weir_rwlock_write_until(&rw_,
						detail::deadline_after(time)),
			WEIR_ETIMEDOUT);
	}
	template <class Clock, class Duration>
	bool try_lock_until(
		const std::chrono::time_point<Clock, Duration> &until)
	{
		return detail::check_unless(
			detail::wait_until(until, [this](int64_t at_ns) {
				return weir_rwlock_write_until(&rw_, at_ns);
			}), WEIR_ETIMEDOUT);
	}
	template <class Rep, class Period>
	bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
	{
		return detail::check_unless(
			weir_rwlock_read_until(&rw_,
					       detail::deadline_after(time)),
			WEIR_ETIMEDOUT);
	}
	template <class Clock, class Duration>
	bool try_lock_shared_until(
		const std::chrono::time_point<Clock, Duration> &until)
	{
		return detail::check_unless(
			detail::wait_until(until, [this](int64_t at_ns) {
				return weir_rwlock_read_until(&rw_, at_ns);
			}), WEIR_ETIMEDOUT);
	}

	/* weir_rwlock_try_upgrade, weir_rwlock_downgrade */
	bool try_upgrade()
	{
		return detail::check_unless(weir_rwlock_try_upgrade(&rw_),
					    WEIR_EAGAIN);
	}
	void downgrade() noexcept { weir_rwlock_downgrade(&rw_); }
	void close() noexcept { weir_rwlock_close(&rw_); }
	weir_rwlock *native_handle() noexcept { return &rw_; }

private:
	weir_rwlock rw_;
};

/*
 * pool<T>: resources that are lent to one borrower at a time.  `create` makes a
 * resource; if it throws, then the borrow throws the exception, and the pool
 * loses no place.  `validate` says whether a resource is still usable; it may
 * throw as well.  Both run with no lock held, concurrently on different
 * resources.
 */
template <class T>
class pool {
public:
	using create_fn = std::function<std::unique_ptr<T>()>;
	using validate_fn = std::function<bool(T &)>;

	/* Options; times of 0 mean no limit. */
	struct options {
		validate_fn validate = {};
		std::chrono::nanoseconds idle{ 0 };
		std::chrono::nanoseconds lifetime{ 0 };
		uint32_t max_waiters = 0;
		const char *name = nullptr;
	};

	/* A borrowed resource.  The destructor gives it back. */
	class loan {
	public:
		loan() noexcept = default;
		loan(loan &&other) noexcept
			: pool_(other.pool_),
			  item_(std::exchange(other.item_, nullptr)) {}
		loan &operator=(loan &&other) noexcept
		{
			if (this != &other) {
				give_back();
				pool_ = other.pool_;
				item_ = std::exchange(other.item_, nullptr);
			}
			return *this;
		}
		~loan() { give_back(); }

		explicit operator bool() const noexcept { return item_; }
		T *get() const noexcept
		{
			return static_cast<T *>(item_->resource);
		}
		T &operator*() const noexcept { return *get(); }
		T *operator->() const noexcept { return get(); }
		void give_back() noexcept
		{
			if (item_)
				weir_pool_give_back(
					pool_, std::exchange(item_, nullptr));
		}
		/* The resource is broken: destroy it. */
		void discard() noexcept
		{
			if (item_)
				weir_pool_discard(
					pool_, std::exchange(item_, nullptr));
		}

	private:
		friend class pool;
		loan(weir_pool *pool, weir_pool_item *item) noexcept
			: pool_(pool), item_(item) {}
		weir_pool *pool_ = nullptr;
		weir_pool_item *item_ = nullptr;
	};

	pool(int64_t max, create_fn create) : pool(max, std::move(create),
						   options()) {}
	pool(int64_t max, create_fn create, options opts)
		: create_(std::move(create)),
		  validate_(std::move(opts.validate))
	{
		weir_pool_opts o = {};

		o.max = max;
		o.create = do_create;
		o.destroy = do_destroy;
		o.validate = validate_ ? do_validate : nullptr;
		o.user = this;
		o.idle_ns = opts.idle.count();
		o.lifetime_ns = opts.lifetime.count();
		o.max_waiters = opts.max_waiters;
		o.name = opts.name;
		detail::check(weir_pool_init(&pool_, nullptr, &o));
	}
	~pool() { detail::check_destroyed(weir_pool_destroy(&pool_)); }
	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;

	/* `who` names the borrower in weir_pool_loans; it is not copied. */
	loan borrow(weir_ctx *ctx = nullptr, const char *who = nullptr)
	{
		weir_pool_item *item = nullptr;

		detail::check(weir_pool_borrow(&pool_, who, ctx, &item));
		return loan(&pool_, item);
	}
	/* Returns an empty loan if all resources are lent. */
	loan try_borrow(const char *who = nullptr)
	{
		weir_pool_item *item = nullptr;

		if (!detail::check_unless(
			    weir_pool_try_borrow(&pool_, who, &item),
			    WEIR_EAGAIN))
			return loan();
		return loan(&pool_, item);
	}
	int64_t trim() { return weir_pool_trim(&pool_); }
	void close() noexcept { weir_pool_close(&pool_); }
	void wait_idle(weir_ctx *ctx = nullptr)
	{
		detail::check(weir_pool_wait_idle(&pool_, ctx));
	}
	weir_pool_info stat()
	{
		weir_pool_info info;

		detail::check(weir_pool_stat(&pool_, &info));
		return info;
	}
	weir_pool *native_handle() noexcept { return &pool_; }

private:
	static weir_err do_create(void *user, weir_ctx *, void **resource)
	{
		*resource = static_cast<pool *>(user)->create_().release();
		return *resource ? WEIR_OK : WEIR_ESYSTEM;
	}
	static void do_destroy(void *, void *resource)
	{
		delete static_cast<T *>(resource);
	}
	static bool do_validate(void *user, void *resource)
	{
		return static_cast<pool *>(user)->validate_(
			*static_cast<T *>(resource));
	}

	create_fn create_;
	validate_fn validate_;
	weir_pool pool_;
};

/*
 * group: tasks on a bounded number of threads.  A task is a callable object,
 * with or without a parameter of type weir_ctx &, which is the context of the
 * group.  It returns nothing, or a weir_err.  It may throw: the exception counts
 * as an error of the task, and wait rethrows it if that was the first error.
 * The destructor cancels the group and waits for its tasks.
 */
class group {
public:
	explicit group(int64_t workers, uint32_t flags = 0)
	{
		weir_group_opts options = {};

		options.workers = workers;
		options.flags = flags;
		init(options);
	}
	/* `done` and `user` of the options must be null. */
	explicit group(const weir_group_opts &options)
	{
		if (options.done || options.user)
			throw error(WEIR_EINVAL);
		init(options);
	}
	~group() { weir_group_end(&group_); }
	group(const group &) = delete;
	group &operator=(const group &) = delete;

	template <class F>
	void spawn(F &&fn, int64_t weight = 1, weir_ctx *ctx = nullptr)
	{
		auto task = make(std::forward<F>(fn));

		detail::check(weir_group_spawn(&group_, run, task.get(),
					       weight, ctx));
		(void)task.release();
	}
	/* Returns false if the backlog is full. */
	template <class F>
	bool try_spawn(F &&fn, int64_t weight = 1)
	{
		auto task = make(std::forward<F>(fn));

		if (!detail::check_unless(
			    weir_group_try_spawn(&group_, run, task.get(),
						 weight),
			    WEIR_EAGAIN))
			return false;
		(void)task.release();
		return true;
	}
	/*
	 * Wait until every task is complete.  If a task has failed, then the
	 * exception of the first such task is thrown, or its weir_err as
	 * weir::error.  If ctx ends first, then its error is thrown.
	 */
	void wait(weir_ctx *ctx = nullptr)
	{
		weir_err err = weir_group_wait(&group_, ctx, nullptr);

		if (err == threw)
			std::rethrow_exception(first());
		detail::check(err);
	}
	void cancel() noexcept { weir_group_cancel(&group_); }
	void close() noexcept { weir_group_close(&group_); }
	weir_group *native_handle() noexcept { return &group_; }

private:
	/* The result of a task that threw. */
	static constexpr weir_err threw = static_cast<weir_err>(INT32_MAX);

	struct task_base {
		explicit task_base(group &owner) : in(owner) {}
		virtual ~task_base() = default;
		virtual weir_err call(weir_ctx &ctx) = 0;
		group &in;
	};

	template <class F>
	struct task_of final : task_base {
		template <class G>
		task_of(group &owner, G &&g)
			: task_base(owner), fn(std::forward<G>(g)) {}
		weir_err call(weir_ctx &ctx) override
		{
			if constexpr (std::is_invocable_v<F &, weir_ctx &>)
				return result([&]() -> decltype(auto) {
					return fn(ctx);
				});
			else
				return result([&]() -> decltype(auto) {
					return fn();
				});
		}
		template <class Call>
		static weir_err result(Call call)
		{
			if constexpr (std::is_same_v<decltype(call()),
						     weir_err>) {
				return call();
			} else {
				call();
				return WEIR_OK;
			}
		}
		F fn;
	};

	template <class F>
	std::unique_ptr<task_base> make(F &&fn)
	{
		using task = task_of<std::decay_t<F>>;

		return std::make_unique<task>(*this, std::forward<F>(fn));
	}

	void init(weir_group_opts options)
	{
		options.done = done;
		detail::check(weir_group_init(&group_, &options));
	}

	static weir_err run(void *arg, weir_ctx *ctx)
	{
		task_base *task = static_cast<task_base *>(arg);

		try {
			return task->call(*ctx);
#ifdef WEIR_FORCED_UNWIND_
		} catch (abi::__forced_unwind &) {
			throw;	/* pthread_exit or pthread_cancel */
#endif
		} catch (...) {
			std::lock_guard<std::mutex> guard(task->in.mutex_);

			if (!task->in.first_)
				task->in.first_ = std::current_exception();
			return threw;
		}
	}
	/* Called once for every task, also if it did not run. */
	static void done(void *, void *arg, weir_err)
	{
		delete static_cast<task_base *>(arg);
	}

	std::exception_ptr first()
	{
		std::lock_guard<std::mutex> guard(mutex_);

		return first_;
	}

	weir_group group_;
	std::mutex mutex_;		/* protects first_ */
	std::exception_ptr first_;
};

} /* namespace weir */

#endif /* WEIR_SEMAPHORE_HPP */
