/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CPP_FEATURES_HPP
#define WEIR_CPP_FEATURES_HPP

/*
 * Part of weir/semaphore.hpp: the optional parts of the standard library.
 * If __cpp_lib_jthread is defined, then stop tokens are declared.  If
 * WEIR_COROUTINES_ is defined, then coroutines are.
 */
#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif
#if defined(__cpp_impl_coroutine) && defined(__cpp_lib_coroutine)
#include <coroutine>
#define WEIR_COROUTINES_ 1
#endif

#endif /* WEIR_CPP_FEATURES_HPP */
