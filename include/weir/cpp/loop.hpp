/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_LOOP_HPP
#define WEIR_CPP_LOOP_HPP

/* Part of weir/semaphore.hpp: the loop that resumes coroutines. */
#include <cstdint>

#include "weir/cpp/error.hpp"
#include "weir/loop.h"

namespace weir {

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

} /* namespace weir */

#endif /* WEIR_CPP_LOOP_HPP */
