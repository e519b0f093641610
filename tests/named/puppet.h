/* SPDX-License-Identifier: MIT */
/*
 * Processes for tests of named semaphores.
 *
 * A puppet is a child that does what it is told, one thing at a time, and says
 * what came of it.  Telling does not wait, so a puppet can be left waiting for
 * permits; what the semaphore shows tells when it does.
 *
 * Whatever kills does so in a PID namespace of its own: in_namespace runs a
 * function as a child of the namespace's first process.
 */
#ifndef TESTS_NAMED_PUPPET_H
#define TESTS_NAMED_PUPPET_H

#include <sys/types.h>

#include "check.h"
#include "weir/named.h"

struct puppet {
	pid_t pid;
	pid_t child;		/* whom to wait for: itself, or its parent */
	int fd;
};

enum puppet_verb {
	PUPPET_OPEN,		/* name, n: capacity, m: policy */
	PUPPET_ACQUIRE,		/* n */
	PUPPET_ACQUIRE_CTX,	/* n, with a context: aside, if need be */
	PUPPET_TRY,		/* n */
	PUPPET_UNTIL,		/* n, m: deadline */
	PUPPET_RELEASE,		/* n */
	PUPPET_IDLE,		/* wait_idle */
	PUPPET_RESIZE,		/* n */
	PUPPET_CLOSE,		/* n: how */
	PUPPET_CLOSE_HANDLE,
	PUPPET_EAT,		/* n bytes of memory, touched */
	PUPPET_THREAD,		/* acquire on a thread that ends */
	PUPPET_FORK,		/* a child that stays; its pid is the answer */
	PUPPET_EXEC		/* sleep(1) */
};

/* Start one; it opens nothing yet. */
struct puppet puppet_start(void);

/* As the first process of a PID namespace of its own; pid is ours of it. */
struct puppet puppet_start_apart(void);

/* Tell it; hear what came of it (a weir_err, or a pid); both. */
void puppet_tell(struct puppet *puppet, enum puppet_verb verb, int64_t n,
		 int64_t m, const char *name);
int64_t puppet_hear(struct puppet *puppet);
int64_t puppet_do(struct puppet *puppet, enum puppet_verb verb, int64_t n);

/* Let it open a semaphore, which must work. */
void puppet_open(struct puppet *puppet, const char *name, int64_t capacity);
void puppet_open_as(struct puppet *puppet, const char *name, int64_t capacity,
		    weir_named_policy policy);

/* Start one that has opened it. */
struct puppet puppet_at(const char *name, int64_t capacity);

/* SIGKILL, and reap.  Or let it end by itself. */
void puppet_kill(struct puppet *puppet);
void puppet_end(struct puppet *puppet);

/* SIGKILL to pid, which must be a child and above 1. */
void kill_hard(pid_t pid);

/* Run fn in a PID namespace of its own; its checks count as ours. */
void in_namespace(void (*fn)(void));
#define NAMESPACE_TEST(name)                                                   \
	static void inner_##name(void);                                        \
	TEST(name)                                                             \
	{                                                                      \
		in_namespace(inner_##name);                                    \
	}                                                                      \
	static void inner_##name(void)

/* A name that no other test uses, of a semaphore that does not exist. */
const char *fresh_name(void);

/* Open or make a semaphore, which must work. */
weir_named *open_named(const char *name, int64_t capacity);
void close_named(weir_named *sem);

weir_named_info look_at(weir_named *sem);
#define CHECK_NAMED(sem) check_named(__FILE__, __LINE__, sem)
void check_named(const char *file, int line, weir_named *sem);

#endif /* TESTS_NAMED_PUPPET_H */
