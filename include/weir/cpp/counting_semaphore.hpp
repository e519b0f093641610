/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_COUNTING_SEMAPHORE_HPP
#define WEIR_CPP_COUNTING_SEMAPHORE_HPP

/* Part of weir/semaphore.hpp: the semaphore of the standard library. */
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "weir/base.h"
#include "weir/cpp/deadline.hpp"
#include "weir/cpp/error.hpp"
#include "weir/sem.h"

namespace weir {

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

} /* namespace weir */

#endif /* WEIR_CPP_COUNTING_SEMAPHORE_HPP */
