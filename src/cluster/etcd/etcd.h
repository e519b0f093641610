/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_ETCD_ETCD_H
#define WEIR_CLUSTER_ETCD_ETCD_H

/* The state of the etcd engine. */
#include <pthread.h>

#include "cluster/etcd/http.h"
#include "cluster/etcd/model.h"

/* A watch: an HTTP request whose answer does not end. */
struct watch {
	struct http http;
	CURL *curl;		/* null: not open */
	int fd;			/* its socket; -1: none */
	struct text text;	/* bytes of an incomplete line */
	bool created;
	bool broken;
	int64_t revision;	/* of the last event */
};

struct engine {
	struct session session;
	struct http lanes[LANES];
	pthread_mutex_t lock;	/* protects the fields marked l */
	int64_t lease;		/* l: of etcd; 0: none */
	int64_t lease_sent;	/* l: when its last renewal was sent */
	int64_t known_revision;	/* l: watches begin after it */
	bool frontier;		/* l: a request has been among the first */
	/* Used by the handle's thread alone. */
	CURLM *multi;
	struct watch own;	/* outcomes of this handle */
	struct watch deaths;	/* deletions of leases of any handle */
	int epoll_fd;		/* -1: none */
	int nudge_fd;		/* readable: libcurl has read a message */
};

/* lease.c: the etcd lease of the handle. */
/*
 * Make sure that the handle has a lease that was renewed lately.  Sets *lease
 * and the time of its last renewal.
 */
enum result weir_cl_etcd_lease_(struct engine *e, enum lane lane,
				int64_t *lease, int64_t *sent,
				int64_t deadline, struct fault *fault);
/* Renew the lease.  *lost: it does not exist any more. */
enum result weir_cl_etcd_keep_alive_(struct engine *e, enum lane lane,
				     bool *lost, int64_t deadline,
				     struct fault *fault);
/*
 * Returns the time until a lease of any handle ends if it is not renewed, to the
 * second; 0 if that is not known.
 */
int64_t weir_cl_etcd_left_ms_(struct engine *e, int64_t lease,
			      int64_t deadline);
void weir_cl_etcd_forget_lease_(struct engine *e, int64_t lease);

/* change.c: reading and changing the semaphore. */
enum result weir_cl_etcd_read_(struct engine *e, enum lane lane,
			       const char *id, struct model *model,
			       int64_t deadline, struct fault *fault);
/*
 * Commit the transaction.  *done is set to false if another client has changed
 * the state since it was read; then nothing has been committed.
 */
enum result weir_cl_etcd_commit_(struct engine *e, enum lane lane,
				 const struct model *model, struct txn *txn,
				 bool *done, int64_t deadline,
				 struct fault *fault);
/* Grant to the requests at the head of the queue that fit. */
enum result weir_cl_etcd_settle_(struct engine *e, enum lane lane,
				 int64_t deadline, struct fault *fault);

/* request.c, renew.c, admin.c, list.c, watch.c, doctor.c: functions of the table. */
enum result weir_cl_etcd_acquire_(struct engine *e, enum lane lane,
				  const struct ask *ask, struct answer *answer,
				  int64_t deadline, struct fault *fault);
enum result weir_cl_etcd_release_(struct engine *e, enum lane lane,
				  const char *id, int64_t weight, int64_t keep,
				  struct answer *answer, int64_t deadline,
				  struct fault *fault);
enum result weir_cl_etcd_cancel_(struct engine *e, enum lane lane,
				 const char *id, struct answer *answer,
				 int64_t deadline, struct fault *fault);
enum result weir_cl_etcd_renew_(struct engine *e, struct renewal *list,
				int count, int64_t deadline,
				struct fault *fault);
enum result weir_cl_etcd_admin_(struct engine *e, enum admin what,
				int64_t value, weir_cluster_info *info,
				weir_err *err, int64_t deadline,
				struct fault *fault);
enum result weir_cl_etcd_stat_(struct engine *e, weir_cluster_info *info,
			       weir_cluster_entry *entries, uint32_t max,
			       int64_t deadline, struct fault *fault);
enum result weir_cl_etcd_list_(struct engine *e, struct names *names,
			       int64_t deadline, struct fault *fault);
enum result weir_cl_etcd_doctor_(struct engine *e, weir_cluster_finding_fn *fn,
				 void *user, int64_t deadline,
				 struct fault *fault);
enum result weir_cl_etcd_arm_(struct engine *e, int *fd, int64_t deadline,
			      struct fault *fault);
enum result weir_cl_etcd_wake_(struct engine *e, wake_fn *fn, void *user,
			       struct fault *fault);
void weir_cl_etcd_unwatch_(struct engine *e);
/* Set *answer from an outcome. */
void weir_cl_etcd_answer_(const struct entry *entry, struct answer *answer);

#endif /* WEIR_CLUSTER_ETCD_ETCD_H */
