/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_SEMAPHORE_HPP
#define WEIR_CPP_SEMAPHORE_HPP

/*
 * Part of weir/semaphore.hpp: the class semaphore.  coroutine.hpp defines
 * async_acquire.
 */
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/base.h"
#include "weir/cpp/context.hpp"
#include "weir/cpp/deadline.hpp"
#include "weir/cpp/error.hpp"
#include "weir/cpp/features.hpp"
#include "weir/ctx.h"
#include "weir/permit.h"
#include "weir/sem.h"

namespace weir {

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
	/*
	 * Returns false if a stop was requested or the time is over.  The time
	 * limits the wait only, as without a token: free permits win over it.
	 */
	template <class Rep, class Period>
	bool try_acquire_for(const std::chrono::duration<Rep, Period> &time,
			     int64_t n, const std::stop_token &token)
	{
		detail::stop_context ctx(token, detail::deadline_after(time));

		return is_acquired(weir_sem_acquire(&sem_, n, ctx.get()), n,
				   token);
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

		return is_acquired(err, n, token);
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
#ifdef __cpp_lib_jthread
	/*
	 * The result of a wait that ended with err.  Its deadline was that of a
	 * context, which wins over free permits: try once more.  C13: a stop
	 * that was requested meanwhile wins over these permits.
	 */
	bool is_acquired(weir_err err, int64_t n, const std::stop_token &token)
	{
		if (err != WEIR_ETIMEDOUT)
			return detail::check_unless(err, WEIR_ECANCELED);
		if (!try_acquire(n))
			return false;
		if (!token.stop_requested())
			return true;
		release(n);
		return false;
	}
#endif

	weir_sem sem_;
};

} /* namespace weir */

#endif /* WEIR_CPP_SEMAPHORE_HPP */
