/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_ERROR_HPP
#define WEIR_CPP_ERROR_HPP

/* Part of weir/semaphore.hpp: weir::error, and the checks that throw it. */
#include <exception>
#include <string>
#include <system_error>

#include "weir/base.h"

namespace weir {

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

/* Thrown by the classes of weir for C++; code().value() is the weir_err. */
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

} /* namespace detail */

} /* namespace weir */

#endif /* WEIR_CPP_ERROR_HPP */
