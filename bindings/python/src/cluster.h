/* SPDX-License-Identifier: MIT */
#ifndef WEIRPY_CLUSTER_H
#define WEIRPY_CLUSTER_H

/*
 * Cluster and Lease: a semaphore between machines.
 *
 *     cluster.c        the type Cluster, and the operations of tasks
 *     lease.c          the type Lease
 *     cluster_load.c   libweir-cluster, which is loaded at its first use
 */
#include "weirpy.h"

#include <sys/types.h>

#include "weir/cluster.h"

/* The functions of libweir-cluster that the module uses. */
#define WEIRPY_CLUSTER_FUNCTIONS(X)                                            \
	X(weir_cluster_open)                                                   \
	X(weir_cluster_close_handle)                                           \
	X(weir_cluster_why)                                                    \
	X(weir_cluster_acquire_until)                                          \
	X(weir_cluster_try_acquire)                                            \
	X(weir_cluster_resize)                                                 \
	X(weir_cluster_unlink)                                                 \
	X(weir_cluster_op_init)                                                \
	X(weir_cluster_op_submit)                                              \
	X(weir_cluster_op_cancel)                                              \
	X(weir_lease_release)                                                  \
	X(weir_lease_check)                                                    \
	X(weir_lease_fence)                                                    \
	X(weir_lease_weight)

struct weirpy_api {
	bool loaded;
#define FIELD(name) __typeof__(name) *name;
	WEIRPY_CLUSTER_FUNCTIONS(FIELD)
#undef FIELD
};

/* Null pointers until weirpy_cluster_load has returned true. */
extern struct weirpy_api weirpy_api;

struct weirpy_cluster {
	PyObject_HEAD
	weir_cluster *sem;	/* null: not open */
	pid_t pid;		/* of the process that opened it */
	Py_ssize_t calls;	/* in progress, operations and leases;
				   under the GIL */
};

/* Load libweir-cluster.  Returns false with an exception set. */
bool weirpy_cluster_load(void);

/*
 * Returns true in the child of a fork.  The child has no thread of the handle and
 * shares the connections of the parent, so it must not use or close the handle.
 */
bool weirpy_cluster_is_stale(const struct weirpy_cluster *self);

/*
 * Raise err.  WEIR_ESYSTEM becomes an OSError with the engine's words: `why`, or
 * those of the handle.  Both return null.
 */
PyObject *weirpy_cluster_raise_why(weir_err err, int errnum, const char *why);
PyObject *weirpy_cluster_raise(weir_cluster *sem, weir_err err, int errnum);

/* Returns a Lease, which counts as a call of *self. */
PyObject *weirpy_lease_new(struct weirpy_cluster *self, weir_lease *lease);

#endif /* WEIRPY_CLUSTER_H */
