/* SPDX-License-Identifier: MIT */
/* The engine for etcd: transactions on one state key, leases and watches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/clock.h"
#include "cluster/etcd/etcd.h"

static struct engine *etcd_open(const struct session *session)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->session = *session;
	e->epoll_fd = e->nudge_fd = -1;
	pthread_mutex_init(&e->lock, NULL);
	for (int i = 0; i < LANES; i++)
		weir_cl_http_init_(&e->lanes[i], &e->session);
	return e;
}

/* Revoke the lease of the handle: etcd then removes all keys of the handle. */
static void revoke(struct engine *e)
{
	json_t *answer;
	struct fault fault;
	int code;

	if (!e->lease)
		return;
	(void)weir_cl_http_post_(&e->lanes[LANE_CALL], "lease/revoke",
				 json_pack("{s:I}", "ID", (json_int_t)e->lease),
				 &answer, &code, boot_now() + SECOND_NS,
				 &fault);
	json_decref(answer);
}

static void etcd_close(struct engine *e)
{
	revoke(e);
	weir_cl_etcd_unwatch_(e);
	for (int i = 0; i < LANES; i++)
		weir_cl_http_close_(&e->lanes[i]);
	pthread_mutex_destroy(&e->lock);
	explicit_bzero(&e->session, sizeof(e->session));
	free(e);
}

static enum result create(struct engine *e, int64_t capacity, bool *made,
			  int64_t deadline, struct fault *fault)
{
	struct timespec now;
	struct model model = { .cap = capacity };

	/*
	 * A new semaphore has greater fencing tokens than one that was removed.
	 */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	model.fence = (uint64_t)now.tv_sec * 1000000 +
		      (uint64_t)now.tv_nsec / 1000;
	struct txn txn;

	weir_cl_txn_begin_(&txn);
	return weir_cl_etcd_commit_(e, LANE_CALL, &model, &txn, made, deadline,
				    fault);
}

static enum result etcd_prepare(struct engine *e, int64_t capacity, bool *made,
				int64_t deadline, struct fault *fault)
{
	struct model model;
	enum result result = weir_cl_etcd_read_(e, LANE_CALL, NULL, &model,
						deadline, fault);

	*made = false;
	if (result == RES_REFUSED && fault->errnum == ENOENT && capacity >= 0)
		result = create(e, capacity, made, deadline, fault);
	return result;
}

const struct engine_ops weir_cl_etcd_ = {
	.open = etcd_open,
	.close = etcd_close,
	.prepare = etcd_prepare,
	.acquire = weir_cl_etcd_acquire_,
	.release = weir_cl_etcd_release_,
	.cancel = weir_cl_etcd_cancel_,
	.renew = weir_cl_etcd_renew_,
	.admin = weir_cl_etcd_admin_,
	.stat = weir_cl_etcd_stat_,
	.list = weir_cl_etcd_list_,
	.doctor = weir_cl_etcd_doctor_,
	.arm = weir_cl_etcd_arm_,
	.read = weir_cl_etcd_wake_,
	.renews_all = true,
};
