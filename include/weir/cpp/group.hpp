/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_GROUP_HPP
#define WEIR_CPP_GROUP_HPP

/* Part of weir/semaphore.hpp: the task group. */
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#if defined(__GLIBCXX__) && defined(__GLIBC__)
#include <cxxabi.h>
#define WEIR_FORCED_UNWIND_ 1
#endif

#include "weir/base.h"
#include "weir/cpp/error.hpp"
#include "weir/ctx.h"
#include "weir/group.h"

namespace weir {

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
	/*
	 * Returns false if the backlog is full.  fn has been moved or copied
	 * then, and that object is destroyed: to try again, pass an lvalue.
	 */
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

		if (err == threw && first())
			std::rethrow_exception(first());
		detail::check(err);
	}
	void cancel() noexcept { weir_group_cancel(&group_); }
	void close() noexcept { weir_group_close(&group_); }
	weir_group *native_handle() noexcept { return &group_; }

private:
	/*
	 * The result of a task that threw.  No function of weir returns it, and
	 * the errors of a program are positive.
	 */
	static constexpr weir_err threw = WEIR_ERR_LAST_;

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
			using type = std::decay_t<decltype(call())>;

			/* The error of a task must not be lost in silence. */
			static_assert(std::is_void_v<type> ||
					      std::is_same_v<type, weir_err>,
				      "a task returns nothing, or a weir_err");
			if constexpr (std::is_void_v<type>) {
				call();
				return WEIR_OK;
			} else {
				return call();
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

#endif /* WEIR_CPP_GROUP_HPP */
