/* SPDX-License-Identifier: MIT */
/*
 * Processes for tests of named semaphores.
 *
 * A puppet is a child process that executes one command at a time and returns
 * its result.  Sending a command does not wait, so a puppet can be left waiting
 * for permits; the semaphore's stat shows when it waits.
 *
 * Tests that kill run contained: in_namespace runs a function in a PID namespace,
 * or, if the system allows none, in the child of a process that adopts orphans
 * (process.h).
 */
#ifndef TESTS_NAMED_PUPPET_H
#define TESTS_NAMED_PUPPET_H

#include <sys/types.h>

#include "check.h"
#include "weir/named.h"

struct puppet {
	pid_t pid;
	pid_t child;		/* to wait for: itself, or its parent */
	int fd;
};

enum puppet_verb {
	PUPPET_OPEN,		/* name, n: capacity, m: policy */
	PUPPET_ACQUIRE,		/* n */
	PUPPET_ACQUIRE_CTX,	/* n, with a context: may be oversized */
	PUPPET_TRY,		/* n */
	PUPPET_UNTIL,		/* n, m: deadline */
	PUPPET_RELEASE,		/* n */
	PUPPET_IDLE,		/* wait_idle */
	PUPPET_RESIZE,		/* n */
	PUPPET_CLOSE,		/* n: how */
	PUPPET_CLOSE_HANDLE,
	PUPPET_EAT,		/* n bytes of memory, touched */
	PUPPET_THREAD,		/* acquire on a thread that ends */
	PUPPET_FORK,		/* a child that stays; returns its pid */
	PUPPET_EXEC		/* sleep(1) */
};

/* Start a puppet without a semaphore. */
struct puppet puppet_start(void);

/* The same as the first process of a new PID namespace; pid is in ours. */
struct puppet puppet_start_apart(void);

/* Send a command; wait for its result (a weir_err or a pid); both. */
void puppet_tell(struct puppet *puppet, enum puppet_verb verb, int64_t n,
		 int64_t m, const char *name);
int64_t puppet_hear(struct puppet *puppet);
int64_t puppet_do(struct puppet *puppet, enum puppet_verb verb, int64_t n);

/* Make it open a semaphore; fails the test on error. */
void puppet_open(struct puppet *puppet, const char *name, int64_t capacity);
void puppet_open_as(struct puppet *puppet, const char *name, int64_t capacity,
		    weir_named_policy policy);

/* Start a puppet and make it open a semaphore. */
struct puppet puppet_at(const char *name, int64_t capacity);

/* Kill it with SIGKILL and reap it; let it exit by itself and reap it. */
void puppet_kill(struct puppet *puppet);
void puppet_end(struct puppet *puppet);

/* Send SIGKILL to pid, which must be a child and above 1. */
void kill_hard(pid_t pid);

/* Run fn contained; a failed check there fails this test. */
void in_namespace(void (*fn)(void));
#define NAMESPACE_TEST(name)                                                   \
	static void inner_##name(void);                                        \
	TEST(name)                                                             \
	{                                                                      \
		in_namespace(inner_##name);                                    \
	}                                                                      \
	static void inner_##name(void)

/* A name that no other test uses; no semaphore of that name exists. */
const char *fresh_name(void);

/* Open or create a semaphore; fails the test on error. */
weir_named *open_named(const char *name, int64_t capacity);
void close_named(weir_named *sem);

weir_named_info look_at(weir_named *sem);
#define CHECK_NAMED(sem) check_named(__FILE__, __LINE__, sem)
void check_named(const char *file, int line, weir_named *sem);

#endif /* TESTS_NAMED_PUPPET_H */
