/* SPDX-License-Identifier: MIT */
/*
 * The etcd lease of a handle.  All keys of the handle are attached to it, so
 * one renewal renews every request, and all keys of a dead handle vanish.
 */
#include <errno.h>
#include <stdio.h>

#include "cluster/clock.h"
#include "cluster/etcd/etcd.h"

/* The longest TTL of etcd, in seconds. */
#define LEASE_SECONDS_MAX INT64_C(9000000000)

static json_t *lease_id(int64_t lease)
{
	char number[24];

	(void)snprintf(number, sizeof(number), "%lld", (long long)lease);
	return json_pack("{s:s}", "ID", number);
}

static enum result grant(struct engine *e, enum lane lane, int64_t deadline,
			 struct fault *fault)
{
	/* etcd counts seconds: round up, so that no lease expires early. */
	int64_t seconds = (e->session.ttl_ns + SECOND_NS - 1) / SECOND_NS;
	int64_t sent = boot_now(), lease;
	json_t *answer;
	int code;
	enum result result = weir_cl_http_post_(&e->lanes[lane], "lease/grant",
			json_pack("{s:I}", "TTL", (json_int_t)seconds), &answer,
			&code, deadline, fault);

	if (result)
		return result == RES_UNKNOWN ? RES_UNSENT : result;
	lease = code ? -1 : weir_cl_etcd_number_(answer, "ID");
	json_decref(answer);
	if (lease <= 0)
		return weir_cl_fault_(fault, RES_REFUSED, EPROTO,
				      "etcd grants no lease");
	/*
	 * The other lane may have got a lease meanwhile, and may have attached
	 * keys to it.  Only one lease is renewed, so keep that one; the new one
	 * has no keys and expires.
	 */
	pthread_mutex_lock(&e->lock);
	if (!e->lease) {
		e->lease = lease;
		e->lease_sent = sent;
	}
	pthread_mutex_unlock(&e->lock);
	return RES_OK;
}

void weir_cl_etcd_forget_lease_(struct engine *e, int64_t lease)
{
	pthread_mutex_lock(&e->lock);
	if (e->lease == lease)
		e->lease = 0;
	pthread_mutex_unlock(&e->lock);
}

int64_t weir_cl_etcd_left_ms_(struct engine *e, int64_t lease, int64_t deadline)
{
	struct fault fault;
	json_t *answer;
	int64_t ttl;
	int code;

	if (weir_cl_http_post_(&e->lanes[LANE_CALL], "lease/timetolive",
			       lease_id(lease), &answer, &code, deadline,
			       &fault))
		return 0;
	ttl = code ? 0 : weir_cl_etcd_number_(answer, "TTL");
	json_decref(answer);
	/* -1: the lease has ended.  The server is not trusted. */
	return ttl > 0 && ttl <= LEASE_SECONDS_MAX ? ttl * 1000 : 0;
}

enum result weir_cl_etcd_keep_alive_(struct engine *e, enum lane lane,
				     bool *lost, int64_t deadline,
				     struct fault *fault)
{
	int64_t sent = boot_now(), lease, ttl;
	enum result result;
	json_t *answer;
	int code;

	pthread_mutex_lock(&e->lock);
	lease = e->lease;
	pthread_mutex_unlock(&e->lock);
	*lost = !lease;
	if (!lease)
		return RES_OK;
	result = weir_cl_http_post_(&e->lanes[lane], "lease/keepalive",
				    lease_id(lease), &answer, &code, deadline,
				    fault);
	if (result)
		return result;
	/* A lease that does not exist is answered without a TTL. */
	ttl = code ? 0 : weir_cl_etcd_number_(json_object_get(answer, "result"),
					      "TTL");
	json_decref(answer);
	*lost = ttl <= 0;
	if (*lost) {
		weir_cl_etcd_forget_lease_(e, lease);
		return RES_OK;
	}
	pthread_mutex_lock(&e->lock);
	if (e->lease == lease && e->lease_sent < sent)
		e->lease_sent = sent;
	pthread_mutex_unlock(&e->lock);
	return RES_OK;
}

enum result weir_cl_etcd_lease_(struct engine *e, enum lane lane,
				int64_t *lease, int64_t *sent,
				int64_t deadline, struct fault *fault)
{
	enum result result = RES_OK;
	bool lost, fresh;

	pthread_mutex_lock(&e->lock);
	lost = !e->lease;
	fresh = boot_now() - e->lease_sent < e->session.ttl_ns / 4;
	pthread_mutex_unlock(&e->lock);
	if (!lost && !fresh)
		result = weir_cl_etcd_keep_alive_(e, lane, &lost, deadline,
						  fault);
	if (!result && lost)
		result = grant(e, lane, deadline, fault);
	pthread_mutex_lock(&e->lock);
	*lease = e->lease;
	*sent = e->lease_sent;
	pthread_mutex_unlock(&e->lock);
	/* A key without a lease would never expire. */
	if (!result && !*lease)
		return weir_cl_fault_(fault, RES_UNSENT, EAGAIN,
				      "etcd: the lease has ended");
	return result;
}
