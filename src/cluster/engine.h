/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_ENGINE_H
#define WEIR_CLUSTER_ENGINE_H

/*
 * The interface between a handle and its engine.
 *
 * Every function of an engine that talks to the server takes a deadline on
 * CLOCK_BOOTTIME and a struct fault for the reason of a failure.  Two threads
 * may call an engine at the same time, each with its own lane: the callers of
 * the handle share LANE_CALL, in turn; the handle's thread uses LANE_THREAD and
 * the wake-up functions alone.  An engine keeps a connection for each lane.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/url.h"
#include "weir/cluster.h"

#define ID_SIZE 48
#define RENEW_MAX 100

enum lane { LANE_CALL, LANE_THREAD, LANES };

/* The result of a request to the server. */
enum result {
	RES_OK,
	RES_UNSENT,	/* the server has not got the request */
	RES_UNKNOWN,	/* no answer came: it may have been executed */
	RES_REFUSED	/* the server or its data is wrong; a retry is useless */
};

struct fault {
	int errnum;
	char why[256];
};

enum state {
	S_GONE,		/* unknown to the server */
	S_RELEASED,	/* released or withdrawn now */
	S_WAITS,
	S_HELD,
	S_IDLE,		/* the wait for idle has ended */
	S_CLOSED,
	S_TOOBIG,
	S_BUSY
};

/* The server's answer about one request. */
struct answer {
	enum state state;
	int64_t weight;
	uint64_t fence;
	uint64_t ticket;
	uint32_t place;		/* S_WAITS: in the queue, from 1; 0: not in it */
	int64_t next_us;	/* S_WAITS: time to the next expiry; 0: none */
	int64_t since;		/* start of the lease; 0: the time at which
				   the request was sent */
};

enum ask_flags {
	ASK_TRY = 1,		/* S_BUSY instead of S_WAITS */
	ASK_OUTSIDE = 2,	/* wait outside the queue instead of S_TOOBIG */
	ASK_IDLE = 4,		/* wait until no permit is held */
	ASK_FRESH = 8		/* the id was never sent before */
};

struct ask {
	const char *id;
	int64_t min, max;
	unsigned flags;
};

/* One request of a renewal. */
struct renewal {
	char id[ID_SIZE];
	struct ask ask;		/* to enqueue it again */
	struct answer answer;
};

enum admin {
	ADMIN_RESIZE,	/* value: the capacity */
	ADMIN_CLOSE,	/* value: weir_close */
	ADMIN_PAUSE,	/* value: 1 pause, 0 resume */
	ADMIN_UNLINK
};

/* The properties of the handle that the engine uses. */
struct session {
	struct url url;
	char id[17];		/* of the handle: random, hexadecimal */
	char text[160];		/* host, pid and label, separated by spaces */
	int64_t ttl_ns;
	int64_t timeout_ns;
	uint32_t replicas;
};

/* Names of semaphores. */
struct names {
	char **list;
	size_t count;
};

/*
 * Add a copy of the name; a name that is not valid is left out.  Returns false
 * if memory is exhausted.
 */
bool weir_cl_names_add_(struct names *names, const char *name);

struct engine;

/* A wake-up: the answer about a request that waited. */
typedef void wake_fn(void *user, const char *id, const struct answer *answer);

struct engine_ops {
	/* Returns null if memory is exhausted. */
	struct engine *(*open)(const struct session *session);
	void (*close)(struct engine *e);

	/* Create the semaphore if capacity >= 0.  *made: it did not exist. */
	enum result (*prepare)(struct engine *e, int64_t capacity, bool *made,
			       int64_t deadline, struct fault *fault);
	enum result (*acquire)(struct engine *e, enum lane lane,
			       const struct ask *ask, struct answer *answer,
			       int64_t deadline, struct fault *fault);
	/*
	 * Release all but `keep` permits; withdraw a request that waits.
	 * weight: of the lease; 0: not known.
	 */
	enum result (*release)(struct engine *e, enum lane lane, const char *id,
			       int64_t weight, int64_t keep,
			       struct answer *answer, int64_t deadline,
			       struct fault *fault);
	/* Withdraw a request that waits; S_HELD: it was granted and stays. */
	enum result (*cancel)(struct engine *e, enum lane lane, const char *id,
			      struct answer *answer, int64_t deadline,
			      struct fault *fault);
	/* At most RENEW_MAX requests, in LANE_THREAD. */
	enum result (*renew)(struct engine *e, struct renewal *list, int count,
			     int64_t deadline, struct fault *fault);
	/* Stores WEIR_OK, WEIR_ECLOSED or WEIR_EBUSY in *err. */
	enum result (*admin)(struct engine *e, enum admin what, int64_t value,
			     weir_cluster_info *info, weir_err *err,
			     int64_t deadline, struct fault *fault);
	enum result (*stat)(struct engine *e, weir_cluster_info *info,
			    weir_cluster_entry *entries, uint32_t max,
			    int64_t deadline, struct fault *fault);
	/* Add the names of all semaphores; url.name is not used. */
	enum result (*list)(struct engine *e, struct names *names,
			    int64_t deadline, struct fault *fault);
	enum result (*doctor)(struct engine *e, weir_cluster_finding_fn *fn,
			      void *user, int64_t deadline,
			      struct fault *fault);

	/*
	 * Wake-ups, called by the handle's thread.  arm makes sure that
	 * wake-ups of waiting requests arrive, and sets *fd to a descriptor to
	 * poll for reading.  read calls fn for each wake-up that has arrived.
	 * If read fails, then the thread arms again and renews.
	 */
	enum result (*arm)(struct engine *e, int *fd, int64_t deadline,
			   struct fault *fault);
	enum result (*read)(struct engine *e, wake_fn *fn, void *user,
			    struct fault *fault);
	/*
	 * May be null.  Called if no request waits.  Returns true if wake-ups
	 * have been switched off, so that arm has to be called before the next
	 * wait.
	 */
	bool (*rest)(struct engine *e);

	/* A renewal of one request renews all requests of the handle. */
	bool renews_all;
};

extern const struct engine_ops weir_cl_redis_, weir_cl_etcd_, weir_cl_postgres_;

/* Set *fault.  Returns result. */
enum result weir_cl_fault_(struct fault *fault, enum result result, int errnum,
			   const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* WEIR_CLUSTER_ENGINE_H */
