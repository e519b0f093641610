/* SPDX-License-Identifier: MIT */
/* Renewals of requests, in batches, by the handle's thread. */
#include <string.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

struct batch {
	struct renewal list[RENEW_MAX];
	uint32_t changes[RENEW_MAX];
	int count;
	int64_t deadline;	/* no lease of the handle ends earlier */
};

/* Collect requests whose renewal is due, and some that are due soon. */
static void collect(weir_cluster *c, struct batch *batch)
{
	int64_t now = boot_now(), soon = now;
	bool due = false;

	batch->count = 0;
	batch->deadline = now + c->session.timeout_ns;
	pthread_mutex_lock(&c->lock);
	for (weir_lease *l = c->first; l && !due; l = l->next)
		due = l->renew_at <= now;
	if (due)
		soon = now + c->session.ttl_ns / 20;
	for (weir_lease *l = c->first; l; l = l->next) {
		if (l->phase == HELD && valid_until(l) < batch->deadline)
			batch->deadline = valid_until(l);
		if (!due || l->renew_at > soon || batch->count == RENEW_MAX ||
		    (l->phase != HELD && l->phase != WAITING))
			continue;
		memcpy(batch->list[batch->count].id, l->id, ID_SIZE);
		batch->list[batch->count].ask = weir_cl_request_ask_(l);
		batch->list[batch->count].ask.id =
			batch->list[batch->count].id;
		batch->changes[batch->count++] = l->changes;
	}
	pthread_mutex_unlock(&c->lock);
}

bool weir_cl_renew_(weir_cluster *c)
{
	struct batch batch;
	struct fault fault;
	int64_t sent;

	collect(c, &batch);
	if (!batch.count)
		return false;
	sent = boot_now();
	if (c->ops->renew(c->engine, batch.list, batch.count, batch.deadline,
			  &fault)) {
		weir_cl_work_failed_(c, &fault);
		return false;
	}
	pthread_mutex_lock(&c->lock);
	for (int i = 0; i < batch.count; i++)
		weir_cl_work_record_(c, batch.list[i].id, batch.changes[i],
				     &batch.list[i].answer, sent);
	pthread_mutex_unlock(&c->lock);
	c->retry_at = 0;
	c->retry_ns = 0;
	return true;
}
