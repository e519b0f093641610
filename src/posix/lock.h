/* SPDX-License-Identifier: MIT */
#ifndef WEIR_POSIX_LOCK_H
#define WEIR_POSIX_LOCK_H

#include <signal.h>

/*
 * The lock of the tables of libweir-posix.  A signal handler may take it: all
 * signals are blocked while it is held.  `before` keeps the signal mask.
 */
void weir_posix_lock_(sigset_t *before);
void weir_posix_unlock_(const sigset_t *before);

/* Called in the child of a fork; the lock was taken before the fork. */
void weir_posix_lock_reset_(const sigset_t *before);

#endif /* WEIR_POSIX_LOCK_H */
