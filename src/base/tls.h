/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_TLS_H
#define WEIR_BASE_TLS_H

/*
 * C26: if the library comes by dlopen, glibc allocates a thread's share at the
 * thread's first access, unless told to keep it ready.  musl allocates at dlopen
 * and refuses to be told.
 *
 *     static _Thread_local int mine WEIR_TLS_READY_;
 */
#include <limits.h>	/* tells which libc */

#ifdef __GLIBC__
#define WEIR_TLS_READY_ __attribute__((tls_model("initial-exec")))
#else
#define WEIR_TLS_READY_
#endif

#endif /* WEIR_BASE_TLS_H */
