/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_CONTEXT_HPP
#define WEIR_CPP_CONTEXT_HPP

/* Part of weir/semaphore.hpp: contexts, and stop tokens as contexts. */
#include <chrono>
#include <cstdint>

#include "weir/base.h"
#include "weir/cpp/deadline.hpp"
#include "weir/cpp/error.hpp"
#include "weir/cpp/features.hpp"
#include "weir/ctx.h"

namespace weir {

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

} /* namespace weir */

#endif /* WEIR_CPP_CONTEXT_HPP */
