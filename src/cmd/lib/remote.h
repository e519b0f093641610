/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_LIB_REMOTE_H
#define WEIR_CMD_LIB_REMOTE_H

/*
 * Semaphores between machines: a name with "://" is a URL.  libweir-cluster is
 * loaded when the first URL is opened.
 */
#include <stdbool.h>
#include <stdint.h>

#include "weir/cluster.h"

/* The functions of libweir-cluster. */
#define REMOTE_FUNCTIONS(X)                                                    \
	X(weir_cluster_open)                                                   \
	X(weir_cluster_close_handle)                                           \
	X(weir_cluster_why)                                                    \
	X(weir_cluster_acquire_until)                                          \
	X(weir_cluster_try_acquire)                                            \
	X(weir_cluster_resize)                                                 \
	X(weir_cluster_close)                                                  \
	X(weir_cluster_pause)                                                  \
	X(weir_cluster_resume)                                                 \
	X(weir_cluster_wait_idle)                                              \
	X(weir_cluster_unlink)                                                 \
	X(weir_cluster_stat)                                                   \
	X(weir_cluster_doctor)                                                 \
	X(weir_cluster_list)                                                   \
	X(weir_lease_release)                                                  \
	X(weir_lease_fence)                                                    \
	X(weir_lease_check)                                                    \
	X(weir_lease_deadline)

struct remote_api {
#define REMOTE_MEMBER_(name) __typeof__(name) *name;
	REMOTE_FUNCTIONS(REMOTE_MEMBER_)
#undef REMOTE_MEMBER_
};

extern struct remote_api remote_api;

/*
 * Returns the URL that the name stands for: the name itself, or $WEIR_URL and
 * the name, escaped as by remote_join.  Returns null if the name is that of a
 * local semaphore.  The text lives until the exit.
 */
const char *remote_url(const char *name);
/* Returns the URL without a password, for messages.  Lives until the exit. */
const char *remote_display(const char *url);
/*
 * Exit if the argument of the command line has a password: other users could
 * read it in the process list.
 */
void remote_refuse_password(const char *argument);
/*
 * Returns true if the URL is that of a semaphore: its path is not empty, and does
 * not end with "/".  Otherwise it is that of a server.
 */
bool remote_has_name(const char *url);
/* Load libweir-cluster, or exit with a message. */
void remote_load(const char *url);
/* Open the semaphore, or exit with a message. */
weir_cluster *remote_open(const char *url, const weir_cluster_opts *opts);
/* The same, but returns null if the semaphore is missing. */
weir_cluster *remote_open_existing(const char *url,
				   const weir_cluster_opts *opts);
/* As remote_open, for a subcommand that creates the semaphore if -n is given. */
weir_cluster *remote_open_or_create(const char *url,
				    const weir_cluster_opts *opts);
/* Returns false if the semaphore is missing; exits if that is not known. */
bool remote_exists(const char *url);
/* Print a message if the capacity is not `wanted`, the value of -n. */
void remote_warn_capacity(const char *url, weir_cluster *c, int64_t wanted);
/* List the semaphores below the URL of a server, or exit with a message. */
void remote_list(const char *url, weir_cluster_name_fn *fn, void *user);
/*
 * Returns the URL of the semaphore `name` below the URL of a server.  Characters
 * of the name that have a meaning in a URL are escaped.  Lives until the exit.
 */
const char *remote_join(const char *url, const char *name);
/* Returns the exit status for err. */
int remote_status(weir_err err, int errnum);
/* Exit because a call failed.  Uses errno. */
_Noreturn void remote_fail(const char *url, weir_cluster *c, weir_err err);

#endif /* WEIR_CMD_LIB_REMOTE_H */
