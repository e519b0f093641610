/* SPDX-License-Identifier: MIT */
/* Leases: release, validity, notification of loss. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/handle.h"

/*
 * Begin a call that gives permits back.  Returns WEIR_ELOST if the lease has
 * been lost.  A lease whose time has passed is lost, also if the thread has not
 * noticed it yet.
 */
static weir_err begin_release(weir_lease *l, enum phase phase)
{
	weir_cluster *c = l->cluster;
	weir_err err = WEIR_OK;

	pthread_mutex_lock(&c->lock);
	if (l->phase != HELD || boot_now() >= valid_until(l))
		err = WEIR_ELOST;
	else
		weir_cl_request_phase_(l, phase);
	pthread_mutex_unlock(&c->lock);
	return err;
}

static void withdraw_later(weir_lease *l)
{
	weir_cluster *c = l->cluster;

	pthread_mutex_lock(&c->lock);
	weir_cl_request_withdraw_(l);
	pthread_mutex_unlock(&c->lock);
}

weir_err weir_lease_release(weir_lease *l)
{
	struct answer answer;
	struct fault fault;
	enum result result;
	bool repeated;
	weir_err err;

	if (!l)
		return WEIR_OK;
	err = begin_release(l, LEAVING);
	if (err) {
		/* The engine may still have it: its expiry need not be awaited. */
		withdraw_later(l);
		weir_cl_request_free_(l);
		return err;
	}
	result = weir_cl_call_release_(l, 0, false, &answer, &repeated, &fault);
	if (result) {
		err = weir_cl_call_failed_(l->cluster, result, &fault);
		withdraw_later(l);
		if (result == RES_UNSENT)
			err = WEIR_EINDETERMINATE;
	} else if (answer.state == S_GONE && !repeated) {
		err = WEIR_ELOST;
	}
	weir_cl_request_free_(l);
	return err;
}

weir_err weir_lease_reduce(weir_lease *l, int64_t keep)
{
	weir_cluster *c;
	struct answer answer;
	struct fault fault;
	enum result result;
	bool repeated;
	weir_err err;

	if (!l || keep < 1 || keep > l->weight)
		return WEIR_EINVAL;
	c = l->cluster;
	err = begin_release(l, HELD);
	if (err)
		return err;
	result = weir_cl_call_release_(l, keep, false, &answer, &repeated,
				       &fault);
	if (result)
		return weir_cl_call_failed_(c, result, &fault);
	pthread_mutex_lock(&c->lock);
	if (answer.state == S_GONE)
		err = WEIR_ELOST;
	else
		l->weight = keep;
	pthread_mutex_unlock(&c->lock);
	return err;
}

uint64_t weir_lease_fence(const weir_lease *l)
{
	return l->fence;
}

int64_t weir_lease_weight(const weir_lease *l)
{
	return l->weight;
}

const char *weir_lease_id(const weir_lease *l)
{
	return l->id;
}

int64_t weir_lease_deadline(const weir_lease *l)
{
	int64_t deadline = 0;

	pthread_mutex_lock(&l->cluster->lock);
	if (l->phase == HELD)
		deadline = valid_until(l);
	pthread_mutex_unlock(&l->cluster->lock);
	return deadline;
}

weir_err weir_lease_check(const weir_lease *l)
{
	return boot_now() < weir_lease_deadline(l) ? WEIR_OK : WEIR_ELOST;
}

weir_err weir_lease_lost_fd(weir_lease *l, int *fd)
{
	weir_cluster *c = l->cluster;
	weir_err err = WEIR_OK;

	pthread_mutex_lock(&c->lock);
	if (l->lost_fd < 0) {
		l->lost_fd = eventfd(l->phase == LOST, EFD_CLOEXEC |
				     EFD_NONBLOCK);
		if (l->lost_fd < 0)
			err = WEIR_ESYSTEM;
	}
	*fd = l->lost_fd;
	pthread_mutex_unlock(&c->lock);
	return err;
}

void weir_lease_on_lost(weir_lease *l, weir_lease_lost_fn *fn, void *user)
{
	weir_cluster *c = l->cluster;
	bool lost;

	pthread_mutex_lock(&c->lock);
	lost = l->phase == LOST;
	l->lost_fn = lost ? NULL : fn;
	l->lost_user = user;
	pthread_mutex_unlock(&c->lock);
	if (lost && fn)
		fn(l, user);
}
