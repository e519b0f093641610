/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_DEADLINE_HPP
#define WEIR_CPP_DEADLINE_HPP

/* Part of weir/semaphore.hpp: times of std::chrono as nanoseconds. */
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include "weir/base.h"

namespace weir {

namespace detail {

/*
 * Round up to nanoseconds; saturates at the limits of int64_t.  Whole seconds
 * and the rest are converted apart: duration_cast multiplies first, and with a
 * period such as 1/44100 s, the product overflows after a few months.
 */
template <class Rep, class Period>
int64_t to_ns(const std::chrono::duration<Rep, Period> &time)
{
	using seconds = std::chrono::duration<int64_t>;
	using ns = std::chrono::duration<int64_t, std::nano>;
	const double about = std::chrono::duration_cast<
		std::chrono::duration<double>>(time).count();

	if (about >= 9.2e9)
		return WEIR_FOREVER;
	if (about <= -9.2e9)
		return std::numeric_limits<int64_t>::min();
	const auto whole = std::chrono::duration_cast<seconds>(time);
	const auto rest = time - whole;
	ns rounded = std::chrono::duration_cast<ns>(rest);
	if (rounded < rest)
		rounded += ns(1);
	return (whole + rounded).count();
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

} /* namespace weir */

#endif /* WEIR_CPP_DEADLINE_HPP */
