/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_COROUTINE_HPP
#define WEIR_CPP_COROUTINE_HPP

/* Part of weir/semaphore.hpp: semaphore::async_acquire, for C++20. */
#include <cstdint>

#include "weir/async.h"
#include "weir/base.h"
#include "weir/cpp/error.hpp"
#include "weir/cpp/features.hpp"
#include "weir/cpp/loop.hpp"
#include "weir/cpp/semaphore.hpp"
#include "weir/ctx.h"
#include "weir/loop.h"
#include "weir/permit.h"
#include "weir/sem.h"

namespace weir {

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

} /* namespace weir */

#endif /* WEIR_CPP_COROUTINE_HPP */
