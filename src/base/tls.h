/* SPDX-License-Identifier: MIT */
#ifndef WEIR_BASE_TLS_H
#define WEIR_BASE_TLS_H

/*
 * C26: a wait must not allocate memory.  If the library is loaded by dlopen,
 * glibc allocates a thread's instance of a thread-local variable at the first
 * access, unless the variable has the initial-exec model.  musl allocates at
 * dlopen, and rejects that model.
 *
 *     static _Thread_local int mine WEIR_TLS_READY_;
 */
#include <limits.h>	/* defines __GLIBC__ on glibc */

#ifdef __GLIBC__
#define WEIR_TLS_READY_ __attribute__((tls_model("initial-exec")))
#else
#define WEIR_TLS_READY_
#endif

#endif /* WEIR_BASE_TLS_H */
