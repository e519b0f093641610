/* SPDX-License-Identifier: MIT */
/*
 * Tests that kill processes, without danger to other processes.
 *
 * run_contained runs a function in a PID namespace if the system allows one.
 * Otherwise (in a container, in a chroot) the function runs in a child of a process
 * that adopts orphans, and kills them when the function has returned.  In both
 * cases process_signal signals only processes of the test: it uses a pidfd, which
 * refers to one process also if its PID is used again.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Send a signal to a child or another descendant.  Returns false, with errno set, if
 * the process has been reaped or is not of this test.  Requires: pid > 1.
 */
bool process_signal(pid_t pid, int signal);

/*
 * Run fn in a contained child process.  Returns its exit status: 0 if fn returned,
 * CHECK_SKIPPED if fn skipped the test.
 */
int run_contained(void (*fn)(void));

/* Returns true if this process is in a PID namespace made by run_contained. */
bool in_own_namespace(void);

#endif /* TESTS_SUPPORT_PROCESS_H */
