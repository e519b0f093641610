/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_RWLOCK_HPP
#define WEIR_CPP_RWLOCK_HPP

/* Part of weir/semaphore.hpp: the reader-writer lock. */
#include <chrono>
#include <cstdint>

#include "weir/base.h"
#include "weir/cpp/deadline.hpp"
#include "weir/cpp/error.hpp"
#include "weir/rwlock.h"

namespace weir {

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

} /* namespace weir */

#endif /* WEIR_CPP_RWLOCK_HPP */
