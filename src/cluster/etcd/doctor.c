/* SPDX-License-Identifier: MIT */
/* Properties of an etcd cluster on which the promises depend. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/etcd/etcd.h"

enum result weir_cl_etcd_doctor_(struct engine *e, weir_cluster_finding_fn *fn,
				 void *user, int64_t deadline,
				 struct fault *fault)
{
	json_t *answer;
	size_t members;
	int code;
	enum result result = weir_cl_http_post_(&e->lanes[LANE_CALL],
			"cluster/member/list", json_object(), &answer, &code,
			deadline, fault);

	if (result)
		return result;
	members = json_array_size(json_object_get(answer, "members"));
	json_decref(answer);
	if (members == 1)
		fn("members", "the cluster has one member: while it is down, "
		   "every holder loses its lease", user);
	else if (members % 2 == 0)
		fn("members", "the number of members is even: one more member "
		   "would let one more fail", user);
	if (members > 1 && e->session.url.host_count == 1)
		fn("endpoints", "the URL names one endpoint of several: while "
		   "it is down, this client cannot reach the cluster", user);
	if (e->session.ttl_ns < 2 * SECOND_NS)
		fn("ttl", "is shorter than 2 s: etcd keeps the permits of a "
		   "dead client for at least 2 s", user);
	return RES_OK;
}
