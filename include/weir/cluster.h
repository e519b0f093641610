/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_H
#define WEIR_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/async.h"
#include "weir/base.h"
#include "weir/ctx.h"
#include "weir/loop.h"
#include "weir/sem.h"

WEIR_DECLS_BEGIN

/*
 * weir_cluster: a counting semaphore between machines, in an engine that
 * already runs: Redis, Valkey, etcd or PostgreSQL.  The library is
 * libweir-cluster (pkg-config weir-cluster).
 *
 *     weir_cluster_opts opts = { .capacity = 3, .flags = WEIR_CLUSTER_CREATE };
 *     weir_cluster *builds;
 *     weir_lease *lease;
 *     err = weir_cluster_open("redis://host/builds", &opts, &builds);
 *     err = weir_cluster_acquire(builds, 1, NULL, &lease);
 *     if (!err) {
 *             write_to_storage(weir_lease_fence(lease), ...);
 *             err = weir_lease_release(lease);
 *     }
 *     err = weir_cluster_close_handle(builds);
 *
 * A grant is a lease: the permits belong to the caller until it releases them
 * or until it cannot renew them in time.  A thread of the handle renews all
 * leases.  If a lease cannot be renewed, then it is lost for its holder before
 * the engine grants its permits again, by the holder's own clock
 * (CLOCK_BOOTTIME).  The engine does not know whether a program runs: a program
 * that was suspended may still run when its lease is lost.  The fencing token
 * of a lease is greater than that of every earlier lease.  If a resource
 * refuses smaller tokens than it has seen, then it is safe even in this case.
 * weir(7) has a table of the promises that each engine keeps.
 *
 * URLs
 *
 *     redis://[USER@]HOST[:PORT][,HOST[:PORT]...]/NAME[?OPTION=VALUE&...]
 *     rediss://...    the same with TLS
 *     etcd://HOST[:PORT][,HOST[:PORT]...]/NAME, etcds:// with TLS
 *     postgresql://[USER@]HOST[:PORT][,HOST[:PORT]...][/DATABASE]/NAME,
 *             postgres://; a host may be the folder of a socket ("%2Frun")
 *
 * Options of all engines: ttl (a time such as 30s), timeout (of one request).
 * The request of an operation takes at most half of the TTL, so that it delays
 * no renewal.  If the URL has several hosts, then an attempt takes at most half
 * of `timeout`; the next attempt goes to the next host.
 * Redis: db, replicas, ca (a file).  etcd: ca.  PostgreSQL: db, ca, sslmode.
 * A password is taken from the URL, or from the variable WEIR_PASSWORD, or from
 * the file that WEIR_PASSWORD_FILE names.
 *
 * With Redis and PostgreSQL, the name of a host is resolved by getaddrinfo(3)
 * at each connect.  Neither `timeout` nor the deadline of a call limits that
 * time: if the name server does not answer, then a call that connects returns
 * when the resolver gives up (resolv.conf(5): timeout, attempts).  A numeric
 * address needs no name server.
 *
 * The following holds for every function below unless its comment differs.
 *
 *   Threads   The threads of a process may share one handle.
 *   Memory    Calls allocate.  WEIR_ENOMEM: memory is exhausted.
 *   Orders    As in weir/sem.h, for holders that communicate through the engine
 *             or through the resource that checks fencing tokens.
 *   Signals   No function is async-signal-safe.  If a signal handler runs
 *             during a wait, then the wait continues.  No function is a
 *             thread-cancellation point.
 *   Fork      The child must not use a handle of the parent.
 *   Counts    If a count is not in 0 .. WEIR_CLUSTER_MAX, then the result is
 *             WEIR_EINVAL.
 *   Engine    WEIR_ESYSTEM: errno has the reason, and weir_cluster_why has it
 *             in words:
 *                 ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT and others of
 *                          connect(2): the engine cannot be reached;
 *                 EACCES   the engine refuses the user or the password, or the
 *                          file of the password or of the option ca cannot be
 *                          read;
 *                 EBADMSG  the stored data is damaged or foreign;
 *                 EPROTO   the engine's answer is not understood, or another
 *                          version of weir made the data;
 *                 ENOENT   the semaphore does not exist;
 *                 EIO      the engine refuses the operation.
 *             WEIR_EINDETERMINATE: no answer came, so the outcome is unknown.
 *             The library repeats a request with the same id, which the engine
 *             applies at most once.  Permits of a request whose outcome stays
 *             unknown return to the semaphore when its lease ends.
 *   Misuse    As in weir/sem.h.
 *
 * Unbounded semaphores, WEIR_BARGING, forget, and a release by another handle
 * than the holder's are not available between machines.
 */
typedef struct weir_cluster weir_cluster;
typedef struct weir_lease weir_lease;

/* The greatest count; the longest name and label, in bytes. */
#define WEIR_CLUSTER_MAX (INT64_C(1) << 50)
#define WEIR_CLUSTER_NAME_MAX 128
#define WEIR_CLUSTER_LABEL_MAX 63
#define WEIR_CLUSTER_HOST_MAX 63
/* The greatest number of entries that weir_cluster_stat returns. */
#define WEIR_CLUSTER_ENTRIES_MAX 7000

/* Flags of weir_cluster_opts. */
#define WEIR_CLUSTER_CREATE 1u		/* create it if it does not exist */
#define WEIR_CLUSTER_EXCLUSIVE 2u	/* ... and fail (EEXIST) if it does */
#define WEIR_CLUSTER_INTERRUPTIBLE 4u	/* as WEIR_SEM_INTERRUPTIBLE */

/* Options for weir_cluster_open; zero means the default in every field. */
typedef struct weir_cluster_opts {
	int64_t capacity;	/* used if it is created */
	int64_t ttl_ns;		/* of leases; default 10 s; 100 ms to a day */
	int64_t timeout_ns;	/* of one request; default 3 s; at most a day */
	uint32_t flags;
	uint32_t replicas;	/* Redis: replicas that must confirm a grant */
	const char *label;	/* name of this process; copied */
	const char *password;	/* instead of the variables; copied */
	char *why;		/* buffer for a one-line error message */
	size_t why_size;	/* size of the buffer */
	uint64_t reserved_[4];	/* zero, for later versions */
} weir_cluster_opts;

/*
 * Open or create the semaphore that the URL names.  Null opts have the same
 * meaning as options that are all zero.  The values of opts win over those of
 * the URL.  The call starts the thread of the handle.
 *
 *   WEIR_ESYSTEM  as above; also EEXIST; ENOTSUP: this library was built
 *                 without the engine.
 *   WEIR_EINVAL   The URL or an option is invalid.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_open(const char *url, const weir_cluster_opts *opts,
		  weir_cluster **out);

/*
 * Close the handle.  WEIR_EBUSY: a lease has not been released, or a call
 * waits; nothing has changed.
 * Requires: no other call on the handle is running or follows.
 */
WEIR_API WEIR_MUST_USE weir_err weir_cluster_close_handle(weir_cluster *c);

/*
 * Copy the description of the last failure of an engine call to text, a buffer
 * of size bytes.  The text never contains a password.
 */
WEIR_API void weir_cluster_why(weir_cluster *c, char *text, size_t size);

/*
 * Take n permits.  acquire waits until ctx ends, acquire_until and acquire_for
 * wait until the deadline, and try_acquire does not wait.  The rules are those
 * of the function of the same name in weir/sem.h; the order of arrival is that
 * at the engine.  If n is 0, then *out is null.  If the result is not WEIR_OK,
 * then *out is null.
 *
 * A call that waits survives a restart of the engine.  If the engine has lost
 * its data, then the call joins the queue again.  If a call ends while the
 * engine does not answer, then the result is WEIR_EINDETERMINATE, and the
 * handle's thread withdraws the request as soon as it can.
 *
 * acquire_upto takes at least min and at most max permits;
 * weir_lease_weight returns their number.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_acquire(weir_cluster *c, int64_t n, weir_ctx *ctx,
		     weir_lease **out);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_acquire_until(weir_cluster *c, int64_t n, int64_t deadline_ns,
			   weir_lease **out);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_acquire_for(weir_cluster *c, int64_t n, int64_t timeout_ns,
			 weir_lease **out);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_try_acquire(weir_cluster *c, int64_t n, weir_lease **out);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_acquire_upto(weir_cluster *c, int64_t min, int64_t max,
			  weir_ctx *ctx, weir_lease **out);

/*
 * Release the permits and free the lease, whatever the result is.  If the lease
 * is null, then the call does nothing.
 *
 *   WEIR_ELOST          The lease was lost before this call.
 *   WEIR_EINDETERMINATE No answer came.  The handle's thread repeats the
 *                       release; at the latest the lease ends by itself.
 */
WEIR_API WEIR_MUST_USE weir_err weir_lease_release(weir_lease *lease);

/*
 * Release all but `keep` permits of the lease, 1 .. weight.  If the result is
 * WEIR_EINDETERMINATE, then the call may be repeated.  WEIR_ELOST: as above.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_lease_reduce(weir_lease *lease, int64_t keep);

/* Return the fencing token, the number of permits and the id of the request. */
WEIR_API uint64_t weir_lease_fence(const weir_lease *lease);
WEIR_API int64_t weir_lease_weight(const weir_lease *lease);
WEIR_API const char *weir_lease_id(const weir_lease *lease);

/*
 * Returns WEIR_OK if the lease is valid now, WEIR_ELOST otherwise.  The call
 * reads the clock: it notices a loss before the handle's thread does.
 */
WEIR_API WEIR_MUST_USE weir_err weir_lease_check(const weir_lease *lease);

/*
 * Returns the time until which the lease is valid if it is not renewed again,
 * on CLOCK_BOOTTIME in nanoseconds.  A lost lease has 0.
 */
WEIR_API int64_t weir_lease_deadline(const weir_lease *lease);

/*
 * Set *fd to a descriptor that polls readable once the lease is lost.  The
 * release closes the descriptor.  WEIR_ESYSTEM: no descriptor is available.
 */
WEIR_API WEIR_MUST_USE weir_err weir_lease_lost_fd(weir_lease *lease, int *fd);

/*
 * Call fn once when the lease is lost, on the handle's thread, or in this call
 * if it is lost already.  A null fn removes the callback.  When
 * weir_lease_release has returned, the callback has returned or will not run.
 * The callback must not release the lease or close the handle.
 */
typedef void weir_lease_lost_fn(weir_lease *lease, void *user);
WEIR_API void weir_lease_on_lost(weir_lease *lease, weir_lease_lost_fn *fn,
				 void *user);

/*
 * An asynchronous acquire: see weir/async.h.  Every submission goes through the
 * handle's thread, so that the loop never waits for the network; the callback
 * always reports the outcome.
 */
typedef struct weir_cluster_op weir_cluster_op;
typedef void weir_cluster_op_fn(weir_cluster_op *op, weir_err err,
				weir_lease *lease, void *user);
struct weir_cluster_op {
	weir_op op_;
	weir_cluster *cluster_;
	weir_lease *lease_;
	weir_cluster_op_fn *fn_;
	void *user_;
	uint64_t reserved_[4];
};

/* Set up *op.  Requires: *op is not submitted; loop and fn are not null. */
WEIR_API void weir_cluster_op_init(weir_cluster_op *op, weir_cluster *c,
				   weir_loop *loop, weir_cluster_op_fn *fn,
				   void *user);
/*
 * Request n permits, until deadline_ns (WEIR_FOREVER: none).  WEIR_EQUEUED: the
 * callback runs exactly once, unless weir_cluster_op_cancel prevents it.  A
 * deadline ends the wait with WEIR_ETIMEDOUT.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_op_submit(weir_cluster_op *op, int64_t n, int64_t deadline_ns);
/*
 * Cancel the operation.  WEIR_OK: the callback will not run; the handle's
 * thread withdraws the request.  WEIR_EBUSY: the callback has begun or has run.
 */
WEIR_API WEIR_MUST_USE weir_err weir_cluster_op_cancel(weir_cluster_op *op);
/*
 * An operation on the heap, as in weir/heap.h.  If the operation is submitted,
 * then the free cancels it: its callback does not run, unless it has begun.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_op_new(weir_cluster *c, weir_loop *loop, weir_cluster_op_fn *fn,
		    void *user, weir_cluster_op **out);
WEIR_API WEIR_MUST_USE weir_err weir_cluster_op_free(weir_cluster_op *op);

/* As in weir/sem.h and weir/named.h, with effect for all clients. */
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_resize(weir_cluster *c, int64_t n, int64_t *debt);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_close(weir_cluster *c, weir_close how);
WEIR_API WEIR_MUST_USE weir_err weir_cluster_pause(weir_cluster *c);
WEIR_API WEIR_MUST_USE weir_err weir_cluster_resume(weir_cluster *c);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_wait_idle(weir_cluster *c, weir_ctx *ctx);

/*
 * Remove the semaphore from the engine.  WEIR_EBUSY: leases or waiters exist;
 * nothing has changed.
 */
WEIR_API WEIR_MUST_USE weir_err weir_cluster_unlink(weir_cluster *c);

typedef enum weir_cluster_role {
	WEIR_CLUSTER_HOLDS = 0,		/* a lease */
	WEIR_CLUSTER_WAITS = 1,		/* in the queue */
	WEIR_CLUSTER_OVERSIZED = 2,	/* a call outside the queue */
	WEIR_CLUSTER_IDLE = 3		/* a call of weir_cluster_wait_idle */
} weir_cluster_role;

/* A lease or a waiter. */
typedef struct weir_cluster_entry {
	weir_cluster_role role;
	int32_t pid;		/* on its host */
	int64_t weight;		/* permits held or requested */
	uint64_t fence;		/* of a lease; 0: a waiter */
	int64_t since_ms;	/* of the engine's clock, since 1970 */
	int64_t lease_ms;	/* time until it expires if it is not renewed;
				   0: not known.  etcd: in whole seconds, and
				   known of 32 handles at most */
	uint32_t place;		/* in the queue, from 1; 0: not in it */
	bool mine;		/* belongs to this handle */
	char id[48];
	char host[WEIR_CLUSTER_HOST_MAX + 1];
	char label[WEIR_CLUSTER_LABEL_MAX + 1];
} weir_cluster_entry;

/* A consistent snapshot: capacity == free + held - debt. */
typedef struct weir_cluster_info {
	int64_t capacity;
	int64_t free;
	int64_t held;
	int64_t debt;
	int64_t waiting_permits;	/* sum of the queued weights */
	uint32_t waiters;		/* in the queue */
	uint32_t oversized;		/* outside the queue, also for idle */
	uint64_t fence;			/* the last fencing token */
	bool closed;
	bool paused;
	uint32_t entries;		/* number of existing entries */
	int64_t now_ms;			/* the engine's clock, since 1970 */
	uint64_t reserved_[4];
} weir_cluster_info;

/*
 * Fill in *info, and up to max entries (entries may be null), but no more than
 * WEIR_CLUSTER_ENTRIES_MAX: first the leases by fencing token, then the queue in
 * order, then the rest.
 */
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_stat(weir_cluster *c, weir_cluster_info *info,
		  weir_cluster_entry *entries, uint32_t max);

/*
 * Call fn for the name of each semaphore in a server, in the order of strcmp.
 * The URL is that of a semaphore without its name, with or without "/" at the
 * end.  Options: as for weir_cluster_open; capacity and flags are ignored.  No
 * handle is needed.
 *
 *   WEIR_ESYSTEM  as above; ENOTSUP: the server is a Redis Cluster, or this
 *                 library was built without the engine.
 *   WEIR_EINVAL   The URL or an option is invalid.
 */
typedef void weir_cluster_name_fn(const char *name, void *user);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_list(const char *url, const weir_cluster_opts *opts,
		  weir_cluster_name_fn *fn, void *user);

/*
 * Compare the settings of the engine with the promises.  fn is called for each
 * deviation, with a word that names the setting and a sentence that explains
 * the consequence.
 */
typedef void weir_cluster_finding_fn(const char *setting, const char *text,
				     void *user);
WEIR_API WEIR_MUST_USE weir_err
weir_cluster_doctor(weir_cluster *c, weir_cluster_finding_fn *fn, void *user);

WEIR_DECLS_END

#endif /* WEIR_CLUSTER_H */
