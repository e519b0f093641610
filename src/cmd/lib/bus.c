/* SPDX-License-Identifier: MIT */
/* SIGBUS: the file of a semaphore was truncated. */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cmd/lib/bus.h"
#include "cmd/lib/fail.h"

static _Atomic int *to_set;

/* Any thread can get SIGBUS, even a thread of the library. */
static void on_bus(int sig)
{
	static const char text[] = "weir: the file of the semaphore was "
				   "truncated while it was in use\n";

	(void)sig;
	if (to_set)
		atomic_store(to_set, 1);
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_DAMAGED);
}

void bus_install(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_bus;
	sigfillset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, NULL);
}

void bus_set(_Atomic int *flag)
{
	to_set = flag;
}
