/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_PROBE_H
#define WEIR_BASE_PROBE_H

/*
 * A USDT probe: a static tracepoint of the provider "weir" with four arguments.
 * It is a no-op instruction and a note in the file of the library.  A tracer
 * (bpftrace, perf, SystemTap, gdb) replaces the instruction by a trap.  The
 * probes have no semaphore, a word that a tracer would have to count up in the
 * memory of the process.
 *
 * Without WEIR_PROBES, which needs sys/sdt.h, there are no probes.
 */
#ifdef WEIR_PROBES
#include <sys/sdt.h>
#ifdef __clang__
/*
 * The macros of sys/sdt.h omit the variadic argument, which C11 does not allow.
 */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#if __clang_major__ >= 19
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif
#endif
#define probe4(name, a, b, c, d) DTRACE_PROBE4(weir, name, a, b, c, d)
#else
#define probe4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif /* WEIR_BASE_PROBE_H */
