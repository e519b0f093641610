/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_HANDLE_H
#define WEIR_CLUSTER_HANDLE_H

/*
 * A handle and its requests.
 *
 * A request is a struct weir_lease from the call of acquire to the end of the
 * lease.  Its phases:
 *
 *     ASKING   a call sends it for the first time
 *     QUEUED   the handle's thread has to send it: an operation, or a request
 *              that the engine has lost
 *     WAITING  it is in the engine's queue
 *     HELD     it has a lease
 *     LOST     its lease was lost; the owner has not released it yet
 *     LEAVING  its owner gives it up, or releases it
 *     DECIDED  it has ended without a lease; `err` is the reason
 *
 * The lock protects the lists and the fields marked (l).  It is not held while
 * the engine is called.  A thread that calls the engine in LANE_CALL holds the
 * permit of `calls`.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/engine.h"
#include "weir/cluster.h"
#include "weir/sem.h"

enum phase { ASKING, QUEUED, WAITING, HELD, LOST, LEAVING, DECIDED };

#define BUCKETS 256

struct weir_lease {
	weir_cluster *cluster;
	uint64_t number;		/* the id is session.number */
	char id[ID_SIZE];
	int64_t min, max;
	unsigned flags;			/* enum ask_flags */
	enum phase phase;		/* l */
	weir_err err;			/* l: if DECIDED */
	int64_t weight;			/* l */
	uint64_t fence;
	uint64_t ticket;
	uint32_t place;			/* l */
	int64_t confirmed;		/* l: sending time of the last request
					   that the engine has answered */
	int64_t renew_at;		/* l */
	weir_sem decided;		/* a permit when it is HELD or DECIDED */
	int lost_fd;			/* l: -1: none */
	weir_lease_lost_fn *lost_fn;	/* l */
	void *lost_user;		/* l */
	bool in_callback;		/* l */
	bool woken;			/* l: a wake-up came before the answer
					   and has to be confirmed */
	bool stray;			/* l: the thread has sent it although its
					   owner was giving it up */
	uint32_t changes;		/* l: number of changes of the phase */
	int64_t asked_at;		/* l: when it was first sent or QUEUED;
					   NEVER: it is QUEUED again */
	weir_lease *next_in_bucket;	/* l */
	weir_lease *prev_queued, *next_queued;	/* l: if QUEUED */
	weir_lease *prev, *next;	/* l: list of all requests */
};

/* A request that has been given up, but whose withdrawal is not confirmed. */
struct withdrawal {
	struct withdrawal *next;
	char id[ID_SIZE];
	int64_t until;		/* the engine has forgotten it then;
				   NEVER: other requests keep it */
};

struct weir_cluster {
	struct session session;
	const struct engine_ops *ops;
	struct engine *engine;
	weir_sem calls;			/* 1 permit: LANE_CALL of the engine */
	pthread_mutex_t lock;
	pthread_cond_t callback_done;
	uint64_t last_number;		/* l */
	weir_lease *buckets[BUCKETS];	/* l */
	weir_lease *first;		/* l */
	/* l: QUEUED requests, in the order in which they are sent */
	weir_lease *first_queued, *last_queued;
	uint32_t waiting;		/* l: number of WAITING requests */
	struct withdrawal *withdrawals;	/* l */
	struct fault fault;		/* l: the last failure */
	uint64_t answers;		/* l: calls that were answered */
	int kick_fd;			/* eventfd: the thread has new work */
	int timer_fd;			/* CLOCK_BOOTTIME */
	int64_t timer_at;		/* l: time of the timer; NEVER: off */
	bool stops;			/* l */
	bool interruptible;
	bool armed;			/* l: wake-ups arrive */
	bool stopped_early;		/* the engine failed in close_handle */
	pthread_t thread;
	/* Used by the thread alone. */
	int wake_fd;			/* -1: wake-ups are not armed */
	int64_t retry_at;		/* no attempt before this time;
					   0: the engine answers */
	int64_t retry_ns;		/* the current pause */
	int64_t free_until;		/* see weir_cl_work_deadline_; not after
					   now: to be found again */
};

/* Returns the time until which the lease is valid unless it is renewed. */
static inline int64_t valid_until(const weir_lease *l)
{
	int64_t ttl = l->cluster->session.ttl_ns;

	return l->confirmed + ttl - ttl / 10;
}

/* request.c */
weir_lease *weir_cl_request_new_(weir_cluster *c, int64_t min, int64_t max,
				 unsigned flags);
/* Remove the request from the lists and free it.  Takes the lock. */
void weir_cl_request_free_(weir_lease *l);
/* Requires: the lock is held. */
weir_lease *weir_cl_request_find_(weir_cluster *c, const char *id);
/* Decide a request that is not decided yet.  Requires: the lock is held. */
void weir_cl_request_decide_(weir_lease *l, const struct answer *answer,
			     int64_t sent);
void weir_cl_request_fail_(weir_lease *l, weir_err err);
/*
 * Record that the engine has queued the request.  Requires: the lock is held.
 */
void weir_cl_request_waits_(weir_lease *l, const struct answer *answer,
			    int64_t sent);
/* Requires: the lock is held. */
void weir_cl_request_phase_(weir_lease *l, enum phase phase);
struct ask weir_cl_request_ask_(const weir_lease *l);
/* Let the thread withdraw a request later.  Requires: the lock is held. */
void weir_cl_request_withdraw_(weir_cluster *c, const char id[ID_SIZE]);

/* thread.c */
int weir_cl_thread_start_(weir_cluster *c);
void weir_cl_thread_stop_(weir_cluster *c);
/* Make the thread run at `at` or earlier.  Requires: the lock is held. */
void weir_cl_thread_at_(weir_cluster *c, int64_t at);
void weir_cl_thread_kick_(weir_cluster *c);

/* work.c: called by the thread alone */
/* Do the work that is due.  Returns the time of the next work. */
int64_t weir_cl_work_(weir_cluster *c);
/* Mark the leases whose time has passed as lost.  Runs callbacks. */
void weir_cl_work_expire_(weir_cluster *c);
/*
 * Returns the deadline of a request of the thread that is not a renewal: its
 * time limit, but early enough for the next renewals of all requests.
 */
int64_t weir_cl_work_deadline_(weir_cluster *c);
void weir_cl_work_failed_(weir_cluster *c, const struct fault *fault);
/*
 * Record the engine's answer to a request that the thread has sent, unless the
 * phase has changed since: `changes` is the number at the time of sending.
 * Requires: the lock is held; it is dropped while a callback runs.
 */
void weir_cl_work_record_(weir_cluster *c, const char *id, uint32_t changes,
			  const struct answer *answer, int64_t sent);

/* renew.c */
/* Renew one batch.  Returns false if none is due or if the engine fails. */
bool weir_cl_renew_(weir_cluster *c);

/* enqueue.c */
/*
 * Send one request that is QUEUED.  Returns false if there is none or if the
 * engine fails.
 */
bool weir_cl_enqueue_(weir_cluster *c);

/* wake.c */
/* Handle the wake-ups that have arrived. */
void weir_cl_wake_read_(weir_cluster *c);
/* If a request waits, then make sure that its wake-up arrives. */
void weir_cl_wake_arm_(weir_cluster *c);

/* call.c */
/*
 * Take the permit of `calls`.  RES_UNSENT: ctx (may be null) has ended, or no
 * other call was answered within the timeout of a request.
 */
enum result weir_cl_call_begin_(weir_cluster *c, weir_ctx *ctx,
				struct fault *fault);
void weir_cl_call_end_(weir_cluster *c, enum result result);
/* Remember the failure; returns the error of the public function. */
weir_err weir_cl_call_failed_(weir_cluster *c, enum result result,
			      const struct fault *fault);
/*
 * Pause between two attempts.  Returns false if ctx (may be null) has ended or
 * the time `until` (CLOCK_BOOTTIME) has come.
 */
bool weir_cl_call_pause_(int attempt, weir_ctx *ctx, int64_t until);
/*
 * Returns true if a request of weir_cluster_open should be repeated: the server
 * ends the connection or loads its data, or another host may answer in the rest
 * of the time.  A server that cannot be reached is reported at once.
 */
bool weir_cl_call_repeats_(enum result result, const struct fault *fault);
/*
 * Release all but `keep` permits, or withdraw a request that waits, with
 * retries.  With `cancel`, a request that has been granted stays.  *repeated:
 * an earlier attempt may have been executed.
 */
enum result weir_cl_call_release_(weir_lease *l, int64_t keep, bool cancel,
				  struct answer *answer, bool *repeated,
				  struct fault *fault);

#endif /* WEIR_CLUSTER_HANDLE_H */
