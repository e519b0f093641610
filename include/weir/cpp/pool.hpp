/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_POOL_HPP
#define WEIR_CPP_POOL_HPP

/* Part of weir/semaphore.hpp: the pool of resources. */
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "weir/base.h"
#include "weir/cpp/error.hpp"
#include "weir/ctx.h"
#include "weir/pool.h"

namespace weir {

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
		/* Null if the loan is empty. */
		T *get() const noexcept
		{
			return item_ ? static_cast<T *>(item_->resource) :
				       nullptr;
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

} /* namespace weir */

#endif /* WEIR_CPP_POOL_HPP */
